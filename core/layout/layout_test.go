// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"georep/core/keyhash"
)

func seg(id uint64, start, end int, st State, parents, children []uint64) Segment {
	return Segment{ID: id, Range: Range{uint16(start), uint16(end)}, State: st, Parents: parents, Children: children,
		Profile: keyhash.PIP486, BucketsKnown: true}
}

func TestRange(t *testing.T) {
	r := Range{100, 200}
	for _, c := range []struct {
		o                Range
		covers, overlaps bool
	}{
		{Range{100, 200}, true, true}, {Range{150, 150}, true, true}, {Range{99, 150}, false, true},
		{Range{150, 201}, false, true}, {Range{0, 99}, false, false}, {Range{201, 65535}, false, false},
		{Range{0, 100}, false, true}, {Range{200, 300}, false, true},
	} {
		if r.Covers(c.o) != c.covers || r.Overlaps(c.o) != c.overlaps || c.o.Overlaps(r) != c.overlaps {
			t.Errorf("%v and %v: covers %v overlaps %v", r, c.o, r.Covers(c.o), r.Overlaps(c.o))
		}
	}
	if got := (Range{0, 0x7fff}).String(); got != "0000-7fff" {
		t.Errorf("String() = %q", got)
	}
	if r.Contains(99) || !r.Contains(100) || !r.Contains(200) || r.Contains(201) {
		t.Error("Contains is off at an edge")
	}
}

func TestEqualWidth(t *testing.T) {
	for n, want := range map[int][]uint16{
		0: nil, 1: nil, 2: {32768}, 3: {21845, 43690}, 4: {16384, 32768, 49152},
		5: {13107, 26214, 39321, 52428},
	} {
		if got := EqualWidth(n); !slices.Equal(got, want) {
			t.Errorf("EqualWidth(%d) = %v, want %v", n, got, want)
		}
	}
	all := EqualWidth(1 << 20)
	if len(all) != 65535 || all[0] != 1 || all[65534] != 65535 {
		t.Errorf("EqualWidth is not cut to 65536 buckets: %d", len(all))
	}
}

// TestBucket shows where the short formula (hashB*N)>>16 is wrong: with three
// buckets 43690 starts bucket 2 and the formula says 1.
func TestBucket(t *testing.T) {
	s := Segment{Buckets: EqualWidth(3)}
	for h, want := range map[uint16]int{0: 0, 21844: 0, 21845: 1, 43689: 1, 43690: 2, 65535: 2} {
		if got := s.Bucket(h); got != want {
			t.Errorf("bucket of %d = %d, want %d", h, got, want)
		}
	}
	s.Buckets = []uint16{7, 1000, 1001}
	for h, want := range map[uint16]int{0: 0, 6: 0, 7: 1, 999: 1, 1000: 2, 1001: 3, 65535: 3} {
		if got := s.Bucket(h); got != want {
			t.Errorf("unequal bucket of %d = %d, want %d", h, got, want)
		}
	}
	if s.Buckets = nil; s.Bucket(65535) != 0 {
		t.Error("no starts is one bucket")
	}
}

// dag is 1 split at the midpoint, 3 split again, then 4 and 5 merged.
func dag(t *testing.T) *Layout {
	t.Helper()
	l, err := New(5, []Segment{
		seg(6, 32768, 65535, Active, []uint64{4, 5}, nil),
		seg(1, 0, 65535, Sealed, nil, []uint64{2, 3}),
		seg(3, 32768, 65535, Sealed, []uint64{1}, []uint64{4, 5}),
		seg(4, 32768, 40000, Sealed, []uint64{3}, []uint64{6}),
		seg(5, 40001, 65535, Sealed, []uint64{3, 0}, []uint64{6}), // parent 0 is pruned
		seg(2, 0, 32767, Active, []uint64{1}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func idsOf(segs []*Segment) []uint64 {
	var out []uint64
	for _, s := range segs {
		out = append(out, s.ID)
	}
	return out
}

func TestLookups(t *testing.T) {
	l := dag(t)
	if l.Epoch() != 5 || l.Profile() != keyhash.PIP486 || !l.HasRing() {
		t.Errorf("epoch %d profile %v ring %v", l.Epoch(), l.Profile(), l.HasRing())
	}
	if got := idsOf(l.Segments()); !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("Segments = %v", got)
	}
	if got := idsOf(l.Active()); !slices.Equal(got, []uint64{2, 6}) {
		t.Errorf("Active = %v", got)
	}
	for h, want := range map[uint16]uint64{0: 2, 32767: 2, 32768: 6, 65535: 6} {
		if got := l.At(h); got == nil || got.ID != want {
			t.Errorf("At(%d) = %v, want %d", h, got, want)
		}
	}
	if l.Get(7) != nil || l.Get(0) != nil || l.Get(4).ID != 4 {
		t.Error("Get finds what is not there, or not what is")
	}
	if got := l.Covering(Range{40001, 65535}); got == nil || got.ID != 6 {
		t.Errorf("Covering = %v", got)
	}
	if got := l.Covering(Range{32767, 32768}); got != nil {
		t.Errorf("Covering a range of two segments = %v", got)
	}
	if got := idsOf(l.SealedOverlapping(Range{40000, 40000})); !slices.Equal(got, []uint64{1, 3, 4}) {
		t.Errorf("SealedOverlapping = %v", got)
	}
	for id, want := range map[uint64][]uint64{6: {1, 3, 4, 5}, 2: {1}, 1: nil, 9: nil} {
		if got := l.Ancestors(id); !slices.Equal(got, want) {
			t.Errorf("Ancestors(%d) = %v, want %v", id, got, want)
		}
	}
	if got := l.Get(2).Topic("topic://t/n/x"); got != "segment://t/n/x/0000-7fff-2" {
		t.Errorf("Topic = %q", got)
	}
}

func TestLookupsAllocateNothing(t *testing.T) {
	l := dag(t)
	n := testing.AllocsPerRun(100, func() {
		_, _, _, _ = l.At(5), l.Get(3), l.Covering(Range{1, 2}), l.Active()[0].Bucket(9)
	})
	if n != 0 {
		t.Errorf("%v allocations per lookup", n)
	}
}

func TestNewRefuses(t *testing.T) {
	whole := func() Segment { return seg(1, 0, 65535, Active, nil, nil) }
	with := func(change func(*Segment)) []Segment {
		s := whole()
		change(&s)
		return []Segment{s}
	}
	m1 := whole()
	m1.ID, m1.Profile, m1.Range = 2, keyhash.M1, Range{100, 65535}
	for _, c := range []struct {
		name string
		segs []Segment
		want string
	}{
		{"none", nil, "no active segment holds 0..65535"},
		{"hole", []Segment{seg(1, 0, 9, Active, nil, nil), seg(2, 11, 65535, Active, nil, nil)}, "segments.2.hashRange: no active segment holds 10..10"},
		{"short", []Segment{seg(1, 0, 9, Active, nil, nil)}, "no active segment holds 10..65535"},
		{"overlap", []Segment{seg(1, 0, 9, Active, nil, nil), seg(2, 9, 65535, Active, nil, nil)}, "segments.2.hashRange: start 9 overlaps"},
		{"twice", []Segment{whole(), whole()}, "segments.1.segmentId: appears twice"},
		{"state", with(func(s *Segment) { s.State = 3 }), "segments.1.state"},
		{"backwards", with(func(s *Segment) { s.Range = Range{2, 1} }), "segments.1.hashRange: start 2 is above end 1"},
		{"profile", with(func(s *Segment) { s.Profile = 0 }), "segments.1.profile"},
		{"mixed", []Segment{seg(1, 0, 99, Active, nil, nil), m1}, "segments.2.profile: active segments mix pip486 and m1"},
		{"m1 buckets", with(func(s *Segment) { s.Profile = keyhash.M1; s.Buckets = []uint16{1} }), "segments.1.bucketStarts: profile m1"},
		{"start 0", with(func(s *Segment) { s.Buckets = []uint16{0} }), "segments.1.bucketStarts: [0] = 0"},
		{"falling", with(func(s *Segment) { s.Buckets = []uint16{5, 5} }), "segments.1.bucketStarts: [1] = 5 is not above 5"},
		{"children", with(func(s *Segment) { s.Children = []uint64{2} }), "segments.1.childIds: an active segment"},
		{"own parent", with(func(s *Segment) { s.Parents = []uint64{1} }), "segments.1.parentIds: parent 1 is not older"},
		{"older child", []Segment{whole(), seg(5, 0, 1, Sealed, nil, []uint64{1})}, "segments.5.childIds: child 1 is not younger"},
		{"active parent", []Segment{seg(1, 0, 9, Active, nil, nil), seg(2, 10, 65535, Active, []uint64{1}, nil)}, "segments.2.parentIds: parent 1 is still active"},
		{"edges", with(func(s *Segment) { s.Parents = make([]uint64, MaxEdges+1) }), "segments.1.parentIds: 65537 are above the cap"},
		{"many", make([]Segment, MaxSegments+1), "segments: 65537 are above the cap"},
	} {
		_, err := New(1, c.segs)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLegacy: active legacy segments all span the ring and route by modulo, so
// there is nothing to look up; sealed ones are ordinary history.
func TestLegacy(t *testing.T) {
	a, b := seg(0, 0, 65535, Active, nil, nil), seg(1, 0, 65535, Active, nil, nil)
	a.Legacy, b.Legacy = "persistent://t/n/x-partition-0", "persistent://t/n/x-partition-1"
	l, err := New(0, []Segment{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if l.HasRing() || l.At(5) != nil || l.Covering(Range{1, 2}) != nil || l.Profile() != 0 || len(l.Active()) != 2 {
		t.Errorf("a legacy topic has a ring: %v", l.At(5))
	}
	if got := l.Active()[1].Topic("topic://t/n/x"); got != b.Legacy {
		t.Errorf("Topic = %q", got)
	}
	a.State, b.State, a.Children, b.Children = Sealed, Sealed, []uint64{2}, []uint64{2}
	l, err = New(1, []Segment{a, b, seg(2, 0, 65535, Active, []uint64{0, 1}, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if !l.HasRing() || l.At(5).ID != 2 || !slices.Equal(l.Ancestors(2), []uint64{0, 1}) ||
		len(l.SealedOverlapping(Range{7, 7})) != 2 {
		t.Error("a migrated topic is not an ordinary one with legacy ancestors")
	}
}

// TestLookupsModel compares the searches with loops over everything.
func TestLookupsModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rng.IntN(40)
		starts := map[int]bool{0: true}
		for len(starts) < n {
			starts[rng.IntN(65536)] = true
		}
		var cut []int
		for s := range starts {
			cut = append(cut, s)
		}
		slices.Sort(cut)
		var segs []Segment
		for i, s := range cut {
			end := 65535
			if i+1 < len(cut) {
				end = cut[i+1] - 1
			}
			segs = append(segs, seg(uint64(1000-i*3), s, end, Active, nil, nil))
		}
		rng.Shuffle(len(segs), func(i, j int) { segs[i], segs[j] = segs[j], segs[i] })
		l, err := New(1, segs)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			r := Range{uint16(rng.IntN(65536)), 0}
			r.End = r.Start + uint16(rng.IntN(int(65535-r.Start)+1))
			var at, covering *Segment
			for i := range segs {
				if segs[i].Range.Contains(r.Start) {
					at = &segs[i]
				}
				if segs[i].Range.Covers(r) {
					covering = &segs[i]
				}
			}
			if got := l.At(r.Start); got.ID != at.ID || l.Active()[l.Index(r.Start)] != got || l.Get(got.ID) != got {
				t.Fatalf("At(%d) = %d, want %d", r.Start, got.ID, at.ID)
			}
			if got := l.Covering(r); (got == nil) != (covering == nil) || got != nil && got.ID != covering.ID {
				t.Fatalf("Covering(%v) = %v, want %v", r, got, covering)
			}
		}
	}
}
