// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"georep/core/keyhash"
)

// shape builds a shape from segment starts; buckets by index, none else.
func shape(starts []uint16, buckets map[int][]uint16) Shape {
	s := Shape{Profile: keyhash.PIP486, Starts: starts, Buckets: make([][]uint16, len(starts))}
	for i, b := range buckets {
		s.Buckets[i] = b
	}
	return s
}

// randomShape draws from few places, so that shapes share boundaries.
func randomShape(r *rand.Rand) Shape {
	grid := uint16(1) << (8 + r.IntN(5))
	set := map[uint16]bool{0: true}
	for range r.IntN(12) {
		at := uint16(r.IntN(1<<16)) / grid * grid
		if r.IntN(4) == 0 {
			at += uint16(r.IntN(3))
		}
		set[at] = true
	}
	starts := slices.Sorted(maps.Keys(set))
	s := shape(starts, nil)
	for i := range s.Buckets {
		s.Buckets[i] = EqualWidth([]int{1, 1, 2, 3, 4, 8}[r.IntN(6)])
	}
	return s
}

// naiveJoin asks every hash of the coarse grid and its edges for its boundaries.
func naiveJoin(shapes ...Shape) Shape {
	set := map[uint16]bool{}
	for _, s := range shapes {
		for _, at := range s.Starts {
			set[at] = true
		}
	}
	out := shape(slices.Sorted(maps.Keys(set)), nil)
	for i, at := range out.Starts {
		starts := map[uint16]bool{}
		for _, s := range shapes {
			for _, b := range s.Buckets[s.Index(at)] {
				starts[b] = true
			}
		}
		out.Buckets[i] = slices.Sorted(maps.Keys(starts))
	}
	return out
}

func mustJoin(t *testing.T, a, b Shape) Shape {
	t.Helper()
	j, err := Join(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJoinLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b, c := randomShape(r), randomShape(r), randomShape(r)
		ab := mustJoin(t, a, b)
		if !ab.Equal(mustJoin(t, b, a)) {
			t.Fatalf("join is not commutative: %v %v", a, b)
		}
		if !mustJoin(t, ab, c).Equal(mustJoin(t, a, mustJoin(t, b, c))) {
			t.Fatalf("join is not associative: %v %v %v", a, b, c)
		}
		if !mustJoin(t, ab, a).Equal(ab) || !mustJoin(t, a, a).Equal(a) {
			t.Fatalf("join is not idempotent: %v %v", a, b)
		}
		if !ab.Equal(naiveJoin(a, b)) {
			t.Fatalf("join %v, naive %v", ab, naiveJoin(a, b))
		}
		if !ab.Covers(a) || !ab.Covers(b) {
			t.Fatalf("%v does not cover %v and %v", ab, a, b)
		}
	}
}

func TestJoinRefusesProfiles(t *testing.T) {
	a := shape([]uint16{0}, nil)
	b := a
	b.Profile = keyhash.M1
	if _, err := Join(a, b); !errors.Is(err, ErrProfile) {
		t.Errorf("Join: %v", err)
	}
	if _, _, err := Diff(a, b); !errors.Is(err, ErrProfile) {
		t.Errorf("Diff: %v", err)
	}
}

func TestNewShape(t *testing.T) {
	none := [][]uint16{nil, nil}
	for name, c := range map[string]struct {
		profile keyhash.Profile
		starts  []uint16
		buckets [][]uint16
		want    string
	}{
		"empty":         {keyhash.PIP486, nil, nil, "layout: invalid: starts[0]: the first segment has to start at 0"},
		"gap":           {keyhash.PIP486, []uint16{5, 9}, none, "layout: invalid: starts[0]: the first segment has to start at 0"},
		"unsorted":      {keyhash.PIP486, []uint16{0, 0}, none, "layout: invalid: starts[1]: 0 is not above 0"},
		"lists":         {keyhash.PIP486, []uint16{0, 9}, none[:1], "layout: invalid: buckets: 1 lists for 2 segments"},
		"bucket 0":      {keyhash.PIP486, []uint16{0, 9}, [][]uint16{nil, {0}}, "layout: invalid: buckets[1][0]: 0 is not above 0"},
		"bucket order":  {keyhash.PIP486, []uint16{0, 9}, [][]uint16{{7, 6}, nil}, "layout: invalid: buckets[0][1]: 6 is not above 7"},
		"m1 and bucket": {keyhash.M1, []uint16{0, 9}, [][]uint16{{7}, nil}, "layout: invalid: buckets[0]: profile m1 has no buckets"},
		"profile":       {9, []uint16{0, 9}, none, "layout: invalid: profile: 9 is unknown"},
	} {
		if _, err := NewShape(c.profile, c.starts, c.buckets); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if s, err := NewShape(keyhash.PIP486, []uint16{0, 9}, [][]uint16{nil, {1}}); err != nil || s.Range(1) != (Range{9, 0xffff}) {
		t.Errorf("a good shape: %v %v", s, err)
	}
}

// layoutOf builds a layout of shape s without history, ids from 0.
func layoutOf(t *testing.T, s Shape) *Layout {
	t.Helper()
	segs := make([]Segment, s.Len())
	for i := range segs {
		segs[i] = Segment{ID: uint64(i), Range: s.Range(i), State: Active, Profile: s.Profile, Buckets: s.Buckets[i],
			BucketsKnown: true}
	}
	l, err := New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPlanAppliedIsTheJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	kinds := map[OpKind]int{}
	for range 3000 {
		a, b := randomShape(r), randomShape(r)
		l, want := layoutOf(t, a), mustJoin(t, a, b)
		ops, err := Plan(l, want)
		if err != nil {
			t.Fatal(err)
		}
		if (len(ops) == 0) != a.Equal(want) {
			t.Fatalf("%d operations from %v to %v", len(ops), a, want)
		}
		for _, op := range ops {
			kinds[op.Kind]++
			if op.Kind == Merge || len(op.Parents) != 1 {
				t.Fatalf("a fold plans %v", op)
			}
		}
		next, err := Apply(l, ops, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ShapeOf(next)
		if err != nil || !got.Equal(want) {
			t.Fatalf("applied %v, want %v (%v)", got, want, err)
		}
		if next.Epoch() != 2 {
			t.Fatalf("epoch %d", next.Epoch())
		}
		if len(ops) > 0 {
			if _, err := Apply(next, ops, 5000, 0); !errors.Is(err, ErrInvalid) {
				t.Fatalf("a plan of an older layout is taken: %v", err)
			}
		}
	}
	if kinds[SplitMidpoint] == 0 || kinds[SplitExplicit] == 0 || kinds[Rebucket] == 0 {
		t.Errorf("kinds planned: %v", kinds)
	}
}

func TestPlanKinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		local  Shape
		target Shape
		want   string
	}{
		{"midpoint", shape([]uint16{0}, nil), shape([]uint16{0, 0x8000}, nil), "[split-midpoint]"},
		{"two levels at once", shape([]uint16{0}, nil), shape([]uint16{0, 0x4000, 0x8000}, nil), "[split-explicit]"},
		{"thirds", shape([]uint16{0}, nil), shape([]uint16{0, 0x5555}, nil), "[split-explicit]"},
		{"midpoint with buckets", shape([]uint16{0}, nil), shape([]uint16{0, 0x8000}, map[int][]uint16{1: {7}}), "[split-explicit]"},
		{"buckets", shape([]uint16{0}, nil), shape([]uint16{0}, map[int][]uint16{0: {7}}), "[rebucket]"},
		{"nothing", shape([]uint16{0, 9}, nil), shape([]uint16{0, 9}, nil), "[]"},
		{"two segments", shape([]uint16{0, 0x8000}, nil), shape([]uint16{0, 0x4000, 0x8000, 0xc000}, nil),
			"[split-midpoint split-midpoint]"},
	} {
		ops, err := Plan(layoutOf(t, c.local), c.target)
		if err != nil {
			t.Fatal(err)
		}
		kinds := make([]OpKind, 0)
		for _, op := range ops {
			kinds = append(kinds, op.Kind)
		}
		if got := fmt.Sprint(kinds); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for name, target := range map[string]Shape{
		"boundary": shape([]uint16{0}, nil), "buckets": shape([]uint16{0, 9}, map[int][]uint16{0: {8}}),
	} {
		l := layoutOf(t, shape([]uint16{0, 9}, map[int][]uint16{1: {7}}))
		if _, err := Plan(l, target); !errors.Is(err, ErrNotFiner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDiffAgainstVerbatim compares with the rule itself: what goes from a segment
// to the other side fits when one segment there covers it, bucket by bucket.
func TestDiffAgainstVerbatim(t *testing.T) {
	finer := func(a, b Shape, i int) bool { // b cuts a's segment i, or its buckets
		r := a.Range(i)
		if b.Index(r.Start) != b.Index(r.End) {
			return true
		}
		return len(UnionStarts(a.Buckets[i], b.Buckets[b.Index(r.Start)])) > len(a.Buckets[i])
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		a, b := randomShape(r), randomShape(r)
		diverged, converged, err := Diff(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if (len(diverged) == 0) != a.Equal(b) {
			t.Fatalf("%v for %v and %v", diverged, a, b)
		}
		at := func(h uint16) *Diverged {
			for i := range diverged {
				if diverged[i].Range.Contains(h) {
					return &diverged[i]
				}
			}
			return nil
		}
		for i := range a.Starts {
			if d := at(a.Starts[i]); finer(a, b, i) && (d == nil || !d.LocalIsCoarser) {
				t.Fatalf("segment %s of %v does not fit %v, diff %v", a.Range(i), a, b, diverged)
			} else if d == nil && !finer(a, b, i) {
				continue
			}
		}
		for i := range b.Starts {
			if d := at(b.Starts[i]); finer(b, a, i) && (d == nil || !d.PeerIsCoarser) {
				t.Fatalf("segment %s of %v does not fit %v, diff %v", b.Range(i), b, a, diverged)
			}
		}
		for _, d := range diverged {
			local, peer := 0, 0
			for i := range a.Starts {
				if d.Range.Covers(a.Range(i)) && finer(a, b, i) {
					local++
				}
			}
			for i := range b.Starts {
				if d.Range.Covers(b.Range(i)) && finer(b, a, i) {
					peer++
				}
			}
			if (local > 0) != d.LocalIsCoarser || (peer > 0) != d.PeerIsCoarser || local+peer == 0 {
				t.Fatalf("%+v: %d and %d segments do not fit", d, local, peer)
			}
		}
		if n := len(diverged) + converged; n != commonRanges(a, b) {
			t.Fatalf("%d ranges, want %d", n, commonRanges(a, b))
		}
	}
}

func commonRanges(a, b Shape) (n int) {
	for _, at := range a.Starts {
		if b.HasBoundary(at) {
			n++
		}
	}
	return n
}

func TestCaps(t *testing.T) {
	c := Caps{MaxSegments: 8, MaxBuckets: 4}.Min(Caps{MaxSegments: 64}).Min(Caps{MaxBuckets: 2})
	if c != (Caps{8, 2}) {
		t.Fatalf("minimum %v", c)
	}
	grown := shape([]uint16{0, 1, 2, 3, 4, 5, 6, 7, 8}, nil)
	small := shape([]uint16{0, 1}, nil)
	if err := c.Allow(small, grown); !errors.Is(err, ErrCap) || err.Error() != "layout: beyond the caps: 9 segments, 8 allowed" {
		t.Errorf("growth to 9: %v", err)
	}
	if err := c.Allow(grown, grown); err != nil {
		t.Errorf("a larger layout is not left alone: %v", err)
	}
	if err := c.Allow(small, shape([]uint16{0}, map[int][]uint16{0: {1, 2}})); !errors.Is(err, ErrCap) {
		t.Errorf("growth to 3 buckets: %v", err)
	}
	if err := (Caps{}).Allow(small, grown); err != nil {
		t.Errorf("no cap: %v", err)
	}
}
