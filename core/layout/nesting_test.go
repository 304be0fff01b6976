// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// evolving is a cluster's layout and split log.
type evolving struct {
	t    *testing.T
	r    *rand.Rand
	l    *Layout
	g    SplitLog
	next uint64
}

func (e *evolving) shape() Shape {
	s, err := ShapeOf(e.l)
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

// apply changes the layout as a controller does: the log first, and without what is gone.
func (e *evolving) apply(g SplitLog, ops ...Op) {
	e.t.Helper()
	g = g.Record(e.l, ops)
	var err error
	if e.l, err = Apply(e.l, ops, e.next, 0); err != nil {
		e.t.Fatal(err)
	}
	for _, op := range ops {
		e.next += uint64(len(op.Children))
	}
	e.g = g.Keep(e.shape())
	var active []Segment // history is not asked for
	for _, s := range e.l.Active() {
		active = append(active, *s)
	}
	if e.l, err = New(e.l.Epoch(), active); err != nil {
		e.t.Fatal(err)
	}
}

// step splits a segment at its midpoint or merges two siblings; false: neither can be done here.
func (e *evolving) step() bool {
	active := e.l.Active()
	s := active[e.r.IntN(len(active))]
	if e.r.IntN(2) == 0 || len(active) > 40 {
		op, err := MergeOp(e.l, e.g, s.Range.Start)
		if err != nil {
			return false
		}
		e.apply(e.g, op)
		return true
	}
	mid, ok := Midpoint(s.Range)
	if ok {
		e.apply(e.g, Op{Kind: SplitMidpoint, Parents: []uint64{s.ID}, Children: []Child{
			{Range: Range{s.Range.Start, mid - 1}}, {Range: Range{mid, s.Range.End}}}})
	}
	return ok
}

// nested says whether cuts, rising, are midpoints of r, of its halves, and so on.
func nested(r Range, cuts []uint16) bool {
	if len(cuts) == 0 {
		return true
	}
	mid, ok := Midpoint(r)
	i, found := slices.BinarySearch(cuts, mid)
	return ok && found && nested(Range{r.Start, mid - 1}, cuts[:i]) && nested(Range{mid, r.End}, cuts[i+1:])
}

// fold takes over what the other has, and returns how many cuts it needed.
func (e *evolving) fold(o *evolving) (cuts int) {
	e.t.Helper()
	ops, err := Plan(e.l, mustJoin(e.t, e.shape(), o.shape()))
	if err != nil {
		e.t.Fatal(err)
	}
	for _, op := range ops {
		var at []uint16
		for _, c := range op.Children[1:] {
			at = append(at, c.Range.Start)
		}
		if r := e.l.Get(op.Parents[0]).Range; !nested(r, at) {
			e.t.Fatalf("%s has to be cut at %v, which are no repeated midpoints; %v with %v meets %v with %v", r, at,
				e.shape().Starts, e.g, o.shape().Starts, o.g)
		}
		cuts += len(at)
	}
	e.apply(e.g.Join(o.g), ops...)
	return cuts
}

// TestSiblingsAlwaysNest: two clusters that begin with the same layout, split at
// midpoints, merge siblings only and fold each other in as they please, however far they
// were apart, never need a cut that repeated midpoint splits would not make.
// Source: PIP-495, "Convergence: the finer layout wins".
func TestSiblingsAlwaysNest(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	steps, folds, deep := 0, 0, 0
	for run := range 40 {
		start := shape(append([]uint16{0}, EqualWidth(1+run%5)...), nil)
		a := &evolving{t: t, r: r, l: layoutOf(t, start), next: 100}
		b := &evolving{t: t, r: r, l: layoutOf(t, start), next: 100}
		for range 40 {
			for _, e := range []*evolving{a, b} {
				for range r.IntN(12) {
					if e.step() {
						steps++
					}
				}
			}
			for _, p := range [][2]*evolving{{a, b}, {b, a}} {
				if r.IntN(3) == 0 {
					continue // it does not hear of the other
				}
				if n := p[0].fold(p[1]); n > 0 {
					folds++
					deep = max(deep, n)
				}
			}
		}
	}
	if steps < 5_000 || folds < 1_000 || deep < 10 {
		t.Errorf("%d steps, %d folds of up to %d cuts: too few to tell", steps, folds, deep)
	}
}

// TestDeepCutIsRecordedInSteps: what is cut in several pieces at once is undone in the
// order in which midpoint splits would have made it.
func TestDeepCutIsRecordedInSteps(t *testing.T) {
	half := Range{0, 0x7fff}
	for _, c := range []struct {
		cuts []uint16
		want SplitLog
	}{
		{[]uint16{0x4000, 0x8000}, SplitLog{{0x4000, half}, {0x8000, Ring}}},
		{[]uint16{0x5555, 0xaaaa}, SplitLog{{0x5555, Ring}, {0xaaaa, Ring}}},
		{[]uint16{0x1000, 0x2000, 0x8000}, SplitLog{{0x1000, half}, {0x2000, half}, {0x8000, Ring}}},
		{[]uint16{0x4000, 0xc000}, SplitLog{{0x4000, Ring}, {0xc000, Ring}}},
	} {
		l := layoutOf(t, shape([]uint16{0}, nil))
		ops, err := Plan(l, shape(append([]uint16{0}, c.cuts...), nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := (SplitLog)(nil).Record(l, ops); !slices.Equal(got, c.want) {
			t.Errorf("%04x: %v, want %v", c.cuts, got, c.want)
		}
	}
}
