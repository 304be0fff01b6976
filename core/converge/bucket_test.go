// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"
	"reflect"
	"testing"

	"georep/core/layout"
)

// buckets returns the bucket starts of every segment in the store.
func (r *rig) buckets() string {
	s, err := layout.ShapeOf(r.store.Layout)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%04x", s.Buckets)
}

// heard makes a rig whose one peer has said that it has the same two segments.
func heard(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, 0x8000)
	r.want("push")
	r.m.Answered(1, "b", r.last.Token, OK, "", state(1, 0x8000))
	r.want("")
	return r
}

// raise wishes for bucket starts in the first segment and makes them durable.
func (r *rig) raise(now int64, wish uint64, starts ...uint16) {
	r.t.Helper()
	r.m.WishRebucket(now, wish, r.store.Layout.Active()[0].ID, starts)
	r.want("mutate-policy")
	r.commit(now)
	r.want("verdict-ok push")
	r.m.Answered(now, "b", r.last.Token, OK, "", nil)
	r.want("")
}

// TestMoreBucketsComeAtOnce, by one rollover of the same range.
func TestMoreBucketsComeAtOnce(t *testing.T) {
	r := heard(t)
	r.m.WishRebucket(2, 9, 0, layout.EqualWidth(4))
	r.want("mutate-policy")
	want := []layout.Op{{Kind: layout.Rebucket, Parents: []uint64{0}, Children: []layout.Child{
		{Range: layout.Range{Start: 0, End: 0x7fff}, Buckets: []uint16{0x4000, 0x8000, 0xc000}}}}}
	if !reflect.DeepEqual(r.mut.Mutation.Ops, want) {
		t.Fatalf("%+v", r.mut.Mutation.Ops)
	}
	r.commit(3)
	if r.want("verdict-ok push"); r.buckets() != "[[4000 8000 c000] []]" || r.starts() != "[0 32768]" {
		t.Errorf("buckets %s, starts %s", r.buckets(), r.starts())
	}
	s := r.last.State
	if s.Version != (Version{Epoch: 2, Term: 1}) || fmt.Sprintf("%04x", s.Shape.Buckets) != "[[4000 8000 c000] []]" ||
		s.ColdBuckets != nil {
		t.Errorf("tells %+v", s)
	}
}

// TestWishesForBucketsThatCannotBe are told why, and change nothing.
func TestWishesForBucketsThatCannotBe(t *testing.T) {
	r := heard(t)
	r.raise(2, 1, 0x4000, 0x8000)
	id := r.store.Layout.Active()[0].ID
	small := state(2, 0x8000)
	small.Caps.MaxBuckets = 4
	r.m.Received(3, 1, small)
	r.want("answer-ok")
	for i, c := range []struct {
		segment uint64
		starts  []uint16
		want    string
		text    string
	}{
		{id, []uint16{0x4000, 0x8000}, "verdict-ok", ""},
		{id, []uint16{0x8000, 0xc000}, "verdict-bad-state",
			"some bucket starts are new and some are gone: raise first, then lower"},
		{id, []uint16{0x8000, 0x4000}, "verdict-bad-state", "layout: invalid: buckets[0][1]: 16384 is not above 32768"},
		{id, []uint16{0, 0x4000}, "verdict-bad-state", "layout: invalid: buckets[0][0]: 0 is not above 0"},
		{id, layout.EqualWidth(8), "verdict-cap", "layout: beyond the caps: 8 buckets, 4 allowed"},
		{0, []uint16{0x8000}, "verdict-no-segment", "segment 0 is not active"},
		{99, []uint16{0x8000}, "verdict-no-segment", "segment 99 is not active"},
	} {
		r.m.WishRebucket(4, uint64(10+i), c.segment, c.starts)
		r.want(c.want)
		if r.last.Text != c.text || r.last.Token != uint64(10+i) {
			t.Errorf("%04x in segment %d: %d, %q, want %q", c.starts, c.segment, r.last.Token, r.last.Text, c.text)
		}
	}
	if r.buckets() != "[[4000 8000] []]" || len(r.store.Marks) != 0 {
		t.Errorf("buckets %s, marks %+v", r.buckets(), r.store.Marks)
	}
}

// TestFewerBucketsWaitForThePeers: what is to go is a mark, told as cold; what a peer
// holds unmarked stays, the rest goes, and a peer that has marked them does not bring
// them back.
func TestFewerBucketsWaitForThePeers(t *testing.T) {
	r := heard(t)
	r.raise(2, 1, 0x4000, 0x8000, 0xc000)
	needs := func(epoch uint64, starts, cold []uint16) *State {
		s := state(epoch, 0x8000)
		s.Shape.Buckets[0] = starts
		if len(cold) > 0 {
			s.ColdBuckets = []ColdBuckets{{Segment: 0, Starts: cold}}
		}
		return s
	}
	r.m.Received(3, 1, needs(2, []uint16{0x4000, 0x8000, 0xc000}, nil))
	r.want("answer-ok")

	r.m.WishRebucket(4, 2, r.store.Layout.Active()[0].ID, nil)
	r.want("mutate-mark")
	all := []Mark{{Segment: 0, Starts: []uint16{0x4000, 0x8000, 0xc000}, UntilMillis: 4 + 24*3_600_000}}
	if mu := r.mut.Mutation; !reflect.DeepEqual(mu.Marks, all) || mu.Ops != nil {
		t.Fatalf("%+v", mu)
	}
	r.commit(5)
	r.want("verdict-marked push")
	cold := []ColdBuckets{{Segment: 0, Starts: []uint16{0x4000, 0x8000, 0xc000}}}
	if !reflect.DeepEqual(r.last.State.ColdBuckets, cold) || r.buckets() != "[[4000 8000 c000] []]" {
		t.Fatalf("tells %+v, buckets %s", r.last.State.ColdBuckets, r.buckets())
	}
	if got := r.m.Status(5).Dissent; !reflect.DeepEqual(got, []string{"b"}) {
		t.Errorf("dissent of %v", got)
	}
	r.m.Answered(6, "b", r.last.Token, OK, "", nil)
	r.want("")

	some := needs(3, []uint16{0x4000, 0x8000, 0xc000}, []uint16{0x4000, 0xc000})
	r.m.Received(7, 2, some) // it needs one of them
	r.want("mutate-merge answer-ok")
	want := []layout.Op{{Kind: layout.Rebucket, Parents: []uint64{r.store.Layout.Active()[0].ID},
		Children: []layout.Child{{Range: layout.Range{Start: 0, End: 0x7fff}, Buckets: []uint16{0x8000}}}}}
	if !reflect.DeepEqual(r.mut.Mutation.Ops, want) {
		t.Fatalf("%+v", r.mut.Mutation.Ops)
	}
	r.commit(8)
	if r.want("push"); r.buckets() != "[[8000] []]" || !reflect.DeepEqual(r.store.Marks, all) {
		t.Fatalf("buckets %s, marks %+v", r.buckets(), r.store.Marks)
	}
	if want := []ColdBuckets{{Segment: 0, Starts: []uint16{0x8000}}}; !reflect.DeepEqual(r.last.State.ColdBuckets, want) {
		t.Errorf("tells %+v", r.last.State.ColdBuckets)
	}
	r.m.Answered(9, "b", r.last.Token, OK, "", nil)
	r.m.Received(10, 3, some) // once more: what is marked there does not come back
	r.want("answer-ok")

	r.m.Received(11, 4, needs(4, []uint16{0x8000}, []uint16{0x8000}))
	r.want("mutate-merge answer-ok")
	r.commit(12)
	if got := r.take(); got != "push" || r.buckets() != "[[] []]" || len(r.store.Marks) != 0 {
		t.Fatalf("%s, buckets %s, marks %+v", got, r.buckets(), r.store.Marks)
	}
	r.m.Answered(13, "b", r.last.Token, OK, "", nil)

	r.m.Received(14, 5, needs(5, []uint16{0x8000}, nil)) // it thinks better of it
	if r.want("mutate-fold"); r.mut.Mutation.Ops[0].Kind != layout.Rebucket {
		t.Errorf("%+v", r.mut.Mutation.Ops)
	}
	r.commit(15)
	if r.want("answer-ok push"); r.buckets() != "[[8000] []]" {
		t.Errorf("buckets %s", r.buckets())
	}
}

// TestBucketMarkIsTakenBack: then nothing is cold, and a peer's consent comes too late.
func TestBucketMarkIsTakenBack(t *testing.T) {
	r := heard(t)
	r.raise(2, 1, 0x8000)
	r.m.Received(3, 1, func() *State { s := state(2, 0x8000); s.Shape.Buckets[0] = []uint16{0x8000}; return s }())
	r.want("answer-ok")
	r.m.WishRebucket(4, 2, r.store.Layout.Active()[0].ID, nil)
	r.want("mutate-mark")
	r.commit(5)
	r.want("verdict-marked push")
	r.m.Answered(5, "b", r.last.Token, OK, "", nil)
	r.m.CancelMark(6, 3, 0, 0x8000) // of the other segment
	if r.want("verdict-no-segment"); r.last.Text != "there is no such mark" {
		t.Errorf("text %q", r.last.Text)
	}
	r.m.CancelMark(7, 4, 0, 0)
	r.want("mutate-unmark")
	r.commit(8)
	if r.want("verdict-ok push"); r.last.State.ColdBuckets != nil || len(r.store.Marks) != 0 {
		t.Errorf("tells %+v, marks %+v", r.last.State, r.store.Marks)
	}
	r.m.Answered(8, "b", r.last.Token, OK, "", nil)
	r.m.Received(9, 2, state(3, 0x8000)) // has none of them any more
	if r.want("answer-ok"); r.buckets() != "[[8000] []]" {
		t.Errorf("buckets %s", r.buckets())
	}
}
