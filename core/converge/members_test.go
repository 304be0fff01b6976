// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"
	"reflect"
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// of returns the state as cluster name says it.
func of(name string, s *State) *State {
	s.Cluster, s.Instance = name, name+"-1"
	return s
}

// TestWhoLeavesIsAnsweredAndForgotten: a push that waits for its fold is answered when
// its cluster leaves the replication set; its caps and its needs bind nobody any more,
// and what is under way towards it comes to nothing. When it is back it is a stranger,
// who has to say everything anew.
func TestWhoLeavesIsAnsweredAndForgotten(t *testing.T) {
	r := heard(t)
	r.m.Cold(1, []uint16{0x8000})
	r.want("push")
	push := r.last.Token
	s := state(3, 0x4000, 0x8000)
	s.Caps.MaxSegments = 5
	r.m.Received(2, 77, s)
	r.want("mutate-fold")
	r.m.Members(3, []string{"a"})
	if r.want("answer-not-a-member"); r.last.Token != 77 || r.last.Peer != "b" || r.last.Text != "b" {
		t.Errorf("%+v", r.last)
	}
	if s := r.m.Status(3); len(s.Peers) != 0 || s.Effective.MaxSegments != 64 {
		t.Errorf("%+v", s)
	}
	r.m.Answered(4, "b", push, OK, "", state(4, 0x1000, 0x8000))
	r.m.PushFailed(4, "b", push, false, "late", 0)
	r.want("")
	r.m.Received(5, 78, state(5))
	r.want("answer-not-a-member")
	r.commit(6) // what was begun for it stays, as a boundary of our own, and is let go when it is cold
	r.want("")
	if r.starts() != "[0 16384 32768]" {
		t.Fatalf("layout %s", r.starts())
	}
	r.m.Members(7, []string{"b", "a"})
	r.want("push")
	again := r.last.Token
	if p := r.m.Status(7).Peers[0]; p.Known || p.Support != Unknown || p.Acked != (Version{}) || p.AgeMillis != -1 {
		t.Errorf("%+v", p)
	}
	r.m.Answered(8, "b", push, OK, "", state(9)) // of before it left
	r.m.Cold(9, []uint16{0x4000})
	r.want("")
	if got := fmt.Sprint(r.m.Status(9).Dissent, r.m.State().Cold); got != "[b] [16384]" {
		t.Fatalf("dissent and cold: %s", got) // unknown is not cold
	}
	r.m.Answered(10, "b", again, OK, "", state(2)) // lower than what it had said before
	r.want("mutate-merge push")
	r.commit(11)
	if r.starts() != "[0 32768]" {
		t.Errorf("merged to %s", r.starts())
	}
}

// TestOtherRoutingProfileTakesNoPart: a peer that routes by another profile is named on
// both sides and told so, its layout is not folded in, and merges of the others do not wait
// for its sake. One that changes its mind is followed.
func TestOtherRoutingProfileTakesNoPart(t *testing.T) {
	const text = "routes by profile m1, this cluster by pip486"
	r := heard(t)
	r.m.Members(0, []string{"a", "b", "c"})
	r.want("push")
	r.m.Answered(1, "c", r.last.Token, OK, "", of("c", state(1, 0x8000)))
	r.want("")
	other := state(3, 0x1000, 0x4000) // needs what goes below
	other.Shape.Profile = keyhash.M1
	r.m.Received(1, 7, other)
	if r.want("answer-no-ring"); r.last.Token != 7 || r.last.Text != text || r.last.State == nil {
		t.Errorf("%+v", r.last)
	}
	p := r.m.Status(2).Peers[0]
	if p.Refused != text || p.Support != Supported || p.Diverged != nil || p.LagMillis != 0 {
		t.Errorf("%+v", p)
	}
	r.m.Received(3, 8, of("c", state(2, 0x4000, 0x8000)))
	r.want("mutate-fold")
	r.commit(4)
	if got := r.take(); got != "push answer-ok push" || r.starts() != "[0 16384 32768]" {
		t.Errorf("%s, layout %s", got, r.starts())
	}
	cold := of("c", state(3, 0x4000, 0x8000))
	cold.Cold = []uint16{0x4000}
	r.m.Cold(5, []uint16{0x4000})
	r.m.Received(6, 9, cold)
	r.want("mutate-merge answer-ok")
	r.commit(7)
	if s := r.m.Status(8); r.starts() != "[0 32768]" || s.Dissent != nil {
		t.Errorf("layout %s, dissent %v", r.starts(), s.Dissent)
	}
	r.m.Received(9, 10, state(4, 0x1000))
	r.want("mutate-fold")
	r.commit(10)
	if r.want("answer-ok"); r.starts() != "[0 4096 32768]" || r.m.Status(11).Peers[0].Refused != "" {
		t.Errorf("layout %s, %+v", r.starts(), r.m.Status(11).Peers[0])
	}
}

// TestOurProfileIsDeclined: the other side of it. What the peer answers is told, no
// failure, and not said again before the next round of anti-entropy.
func TestOurProfileIsDeclined(t *testing.T) {
	r := newRig(t)
	r.want("push")
	other := state(3, 0x1000)
	other.Shape.Profile = keyhash.M1
	r.m.Answered(5, "b", r.last.Token, NoRing, "routes by profile pip486, this cluster by m1", other)
	r.want("")
	p := r.m.Status(5).Peers[0]
	if p.Declined != "routes by profile pip486, this cluster by m1" || p.Trouble != "" || p.Failures != 0 ||
		p.Refused != "routes by profile m1, this cluster by pip486" || r.m.WakeAt() != 60_005 {
		t.Errorf("%+v, wakes at %d", p, r.m.WakeAt())
	}
	r.m.WishSplit(6, 1, 0) // nobody is waited for
	r.want("mutate-policy")
	r.commit(7)
	r.want("verdict-ok push")
	if want := (layout.SplitLog{{At: 0x8000, Parent: layout.Ring}}); !reflect.DeepEqual(r.last.State.Splits, want) {
		t.Errorf("splits %v", r.last.State.Splits)
	}
}
