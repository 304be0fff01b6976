// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"slices"
	"testing"
)

// TestLatePushIsNotFoldedBack: the leader before has merged what b needed when it said so.
// The new one asks b first, answers at once that it does, and learns better.
func TestLatePushIsNotFoldedBack(t *testing.T) {
	r := newRig(t)
	r.want("push")
	call := r.last.Token
	r.m.Received(1, 77, state(5, 0x8000))
	if r.want("answer-busy"); r.last.Token != 77 || r.last.Text != "a new leader asks b first" || r.last.State == nil {
		t.Errorf("answered %+v", r.last)
	}
	r.m.Answered(2, "b", call, OK, "", state(7))
	r.want("")
	r.m.Received(3, 78, state(5, 0x8000))
	r.want("answer-stale")
	if r.starts() != "[0]" || r.known(3).Epoch != 7 {
		t.Errorf("%s, b is at %s", r.starts(), r.known(3))
	}
}

// TestFoldWaitsForTheFirstCalls to all peers, because each may allow less, until the last
// of them has ended: with an answer, or without; a minute at most.
func TestFoldWaitsForTheFirstCalls(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(r *rig, toC uint64)
		want string
	}{
		"answered": {func(r *rig, toC uint64) {
			s := state(1)
			s.Cluster, s.Instance = "c", "c-1"
			r.m.Answered(3, "c", toC, OK, "", s)
		}, "mutate-fold"},
		"allows less": {func(r *rig, toC uint64) {
			s := state(1)
			s.Cluster, s.Instance, s.Caps.MaxSegments = "c", "c-1", 1
			r.m.Answered(3, "c", toC, OK, "", s)
			if p := r.m.Status(3).Peers[0]; p.Refused != "layout: beyond the caps: 2 segments, 1 allowed" {
				r.t.Errorf("refused %q", p.Refused)
			}
		}, ""},
		"down":      {func(r *rig, toC uint64) { r.m.PushFailed(3, "c", toC, false, "refused", 0) }, "mutate-fold"},
		"no plugin": {func(r *rig, toC uint64) { r.m.PushFailed(3, "c", toC, true, "404", 0) }, "mutate-fold"},
		"no topic":  {func(r *rig, toC uint64) { r.m.Answered(3, "c", toC, NoTopic, "", nil) }, "mutate-fold"},
		"has left":  {func(r *rig, _ uint64) { r.m.Members(3, []string{"a", "b"}) }, "mutate-fold"},
		"says nothing": {func(r *rig, _ uint64) {
			if r.m.Tick(59_999); r.take() != "" || r.m.WakeAt() != 60_000 {
				r.t.Errorf("wakes at %d", r.m.WakeAt())
			}
			r.m.Tick(60_000)
		}, "mutate-fold"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.want("push")
			toB := r.last.Token
			r.m.Members(0, []string{"a", "b", "c"})
			r.want("push")
			toC := r.last.Token
			r.m.Answered(1, "b", toB, OK, "", state(1, 0x8000))
			r.want("")
			c.end(r, toC)
			r.want(c.want)
		})
	}
}

// TestMergeWaitsForAnAnswer without bound: a push that says cold may be older than one
// that said hot to the leader before.
func TestMergeWaitsForAnAnswer(t *testing.T) {
	r := newRig(t, 0x8000)
	r.want("push")
	call := r.last.Token
	r.m.Cold(1, []uint16{0x8000})
	r.want("")
	cold := state(5, 0x8000)
	cold.Cold = []uint16{0x8000}
	r.m.Received(2, 1, cold)
	r.want("answer-ok")
	r.m.PushFailed(3, "b", call, false, "time-out", 0)
	at := r.m.WakeAt()
	for ; at < 3_600_000; at = r.m.WakeAt() {
		if r.m.Tick(at); r.take() != "push" {
			continue // the wait for folds is over
		}
		r.m.PushFailed(at, "b", r.last.Token, false, "time-out", 0)
		if r.want(""); !slices.Equal(r.m.Status(at).Dissent, []string{"b"}) || r.starts() != "[0 32768]" {
			t.Fatalf("after %d ms %s, dissent %v", at, r.starts(), r.m.Status(at).Dissent)
		}
	}
	r.m.Tick(at)
	r.want("push")
	r.m.Answered(at, "b", r.last.Token, OK, "", version(state(6, 0x8000), 6, 1)) // hot
	r.want("")
	cold = version(state(7, 0x8000), 7, 1)
	cold.Cold = []uint16{0x8000}
	r.m.Received(at+1, 2, cold) // newer than an answer
	r.want("mutate-merge answer-ok")
}

// TestWhoLeftHasAnswered: what it pushed before it left counts, and is not asked for again.
func TestWhoLeftHasAnswered(t *testing.T) {
	r := newRig(t, 0x8000)
	r.want("push")
	call := r.last.Token
	r.m.Cold(1, []uint16{0x8000})
	r.m.Received(2, 1, state(5))
	r.want("answer-ok")
	r.m.Answered(3, "b", call, NotMember, "", nil)
	r.want("mutate-merge")
}
