// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// node is the split tree that the log stands for, kept the plain way.
type node struct {
	r    Range
	kids []*node
}

// siblingsIn says whether the boundary is where two childless neighbours of one node meet.
func (n *node) siblingsIn(at uint16) bool {
	for i, k := range n.kids {
		if i > 0 && k.r.Start == at {
			return len(n.kids[i-1].kids) == 0 && len(k.kids) == 0
		}
		if k.siblingsIn(at) {
			return true
		}
	}
	return false
}

func (n *node) leaves() []*node {
	if len(n.kids) == 0 {
		return []*node{n}
	}
	var out []*node
	for _, k := range n.kids {
		out = append(out, k.leaves()...)
	}
	return out
}

// cut gives a leaf children: two where one of the cuts is its midpoint, which are cut
// further then, else as many as there are pieces.
func (n *node) cut(cuts []uint16) {
	if mid, ok := Midpoint(n.r); ok && slices.Contains(cuts, mid) {
		i := slices.Index(cuts, mid)
		n.kids = []*node{{r: Range{n.r.Start, mid - 1}}, {r: Range{mid, n.r.End}}}
		n.kids[0].cut(cuts[:i])
		n.kids[1].cut(cuts[i+1:])
	} else if len(cuts) > 0 {
		starts := append([]uint16{n.r.Start}, cuts...)
		for i, at := range starts {
			end := n.r.End
			if i+1 < len(starts) {
				end = starts[i+1] - 1
			}
			n.kids = append(n.kids, &node{r: Range{at, end}})
		}
	}
}

// merge joins the two neighbours at the boundary; a node left with one child is that range again.
func (n *node) merge(at uint16) {
	for i, k := range n.kids {
		if i > 0 && k.r.Start == at {
			n.kids[i-1].r.End = k.r.End
			n.kids = append(n.kids[:i:i], n.kids[i+1:]...)
			if len(n.kids) == 1 {
				n.kids = nil
			}
			return
		}
		k.merge(at)
	}
}

// TestSiblingsAgainstTree splits and merges at random, and asks for every boundary.
func TestSiblingsAgainstTree(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	legal, refused, merged := 0, 0, 0
	for range 200 {
		l := layoutOf(t, shape([]uint16{0}, nil))
		root := &node{r: Ring}
		var g SplitLog
		for step := range uint64(40) {
			leaf := root.leaves()[r.IntN(len(root.leaves()))]
			cuts := []uint16{}
			if mid, ok := Midpoint(leaf.r); ok && r.IntN(3) > 0 {
				cuts = append(cuts, mid)
			} else {
				for h := int(leaf.r.Start) + 1; h <= int(leaf.r.End) && len(cuts) < 3; h += 1 + r.IntN(width(leaf.r)) {
					cuts = append(cuts, uint16(h))
				}
				if ok && r.IntN(2) == 0 { // what is cut deeper at once
					cuts = slices.Compact(slices.Sorted(slices.Values(append(cuts, mid))))
				}
			}
			if r.IntN(3) == 0 { // merge instead
				s, _ := ShapeOf(l)
				at := s.Starts[r.IntN(s.Len())]
				op, err := MergeOp(l, g, at)
				if err != nil {
					continue
				}
				if l, err = Apply(l, []Op{op}, 1000*step+1000, 0); err != nil {
					t.Fatal(err)
				}
				root.merge(at)
				merged++
				s, _ = ShapeOf(l)
				g = g.Keep(s)
			} else if len(cuts) > 0 {
				s, _ := ShapeOf(l)
				ops, err := Plan(l, mustJoin(t, s, shape(append([]uint16{0}, cuts...), nil)))
				if err != nil {
					t.Fatal(err)
				}
				g = g.Record(l, ops)
				if l, err = Apply(l, ops, 1000*step+1000, 0); err != nil {
					t.Fatal(err)
				}
				leaf.cut(cuts)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			s, _ := ShapeOf(l)
			for _, at := range s.Starts {
				err := g.Siblings(s, at)
				if want := root.siblingsIn(at); want != (err == nil) {
					t.Fatalf("boundary %d of %v: %v, in the tree %v", at, s.Starts, err, want)
				}
				if err == nil {
					legal++
				} else if refused++; !errors.Is(err, ErrMerge) {
					t.Fatal(err)
				}
			}
		}
	}
	if legal < 1000 || refused < 1000 || merged < 100 {
		t.Errorf("%d legal, %d refused, %d merged: too few to tell", legal, refused, merged)
	}
}

func TestSiblingsWithoutRecord(t *testing.T) {
	s := shape([]uint16{0, 0x4000, 0x8000, 0xc000}, nil)
	for at, want := range map[uint16]bool{0: false, 0x4000: true, 0x8000: false, 0xc000: true, 0x1234: false} {
		if got := SplitLog(nil).Siblings(s, at) == nil; got != want {
			t.Errorf("%04x: %v", at, got)
		}
	}
	thirds := shape([]uint16{0, 0x5555, 0xaaaa}, nil)
	for _, at := range thirds.Starts {
		if SplitLog(nil).Siblings(thirds, at) == nil {
			t.Errorf("initial thirds merge at %04x", at)
		}
	}
}

// TestSplitLogJoin: two clusters cut the same range in other orders; joined, they
// agree on which boundaries may go first, and one always may.
func TestSplitLogJoin(t *testing.T) {
	a := SplitLog{{30, Range{0, 59}}, {60, Range{0, 99}}}
	b := SplitLog{{30, Range{0, 99}}, {60, Range{30, 99}}}
	j := a.Join(b)
	if want := (SplitLog{{30, Range{0, 99}}, {60, Range{0, 99}}}); !reflect.DeepEqual(j, want) {
		t.Fatalf("joined %v", j)
	}
	if !reflect.DeepEqual(j, b.Join(a)) || !reflect.DeepEqual(j, j.Join(a)) || !reflect.DeepEqual(j.Join(j), j) {
		t.Error("join breaks a law")
	}
	s := shape([]uint16{0, 30, 60, 100}, nil)
	if j.Siblings(s, 30) != nil || j.Siblings(s, 60) != nil {
		t.Error("cut at the same range, neither may go")
	}
	if a.Siblings(s, 60) == nil || b.Siblings(s, 30) == nil {
		t.Error("the first cut goes before the second")
	}
}

// TestSplitLogJoinLeavesAMerge: whatever two logs say of the same boundaries,
// joined they let at least one go, so that what is cold everywhere goes in time.
func TestSplitLogJoinLeavesAMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	grow := func(bounds []uint16) SplitLog { // cuts the ring at the boundaries in some order
		order := append([]uint16(nil), bounds...)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		l := layoutOf(t, shape([]uint16{0}, nil))
		var g SplitLog
		for k, at := range order {
			s, _ := ShapeOf(l)
			ops, err := Plan(l, mustJoin(t, s, shape([]uint16{0, at}, nil)))
			if err != nil {
				t.Fatal(err)
			}
			g = g.Record(l, ops)
			if l, err = Apply(l, ops, uint64(100*k+100), 0); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}
	for range 300 {
		bounds := randomShape(r).Starts[1:]
		if len(bounds) == 0 {
			continue
		}
		g := grow(bounds).Join(grow(bounds)).Join(grow(bounds))
		left := append([]uint16{0}, bounds...)
		for len(left) > 1 {
			s, gone := shape(left, nil), false
			for i, at := range left {
				if g.Siblings(s, at) == nil {
					left, gone = append(append([]uint16(nil), left[:i]...), left[i+1:]...), true
					break
				}
			}
			if !gone {
				t.Fatalf("nothing of %v may go, log %v", left, g)
			}
		}
	}
}

func TestSplitLogCheck(t *testing.T) {
	for want, g := range map[string]SplitLog{
		"layout: invalid: splits[0]: 0 does not cut 0000-ffff": {{0, Ring}},
		"layout: invalid: splits[0]: 9 does not cut 0000-0008": {{9, Range{0, 8}}},
		"layout: invalid: splits[1]: 5 is not above 5":         {{5, Ring}, {5, Ring}},
	} {
		if err := g.Check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
