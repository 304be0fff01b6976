// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"strings"
	"testing"
)

// version returns the state with another version.
func version(s *State, epoch, term uint64) *State {
	s.Version = Version{Epoch: epoch, Term: term}
	return s
}

// known returns what the machine believes of b.
func (r *rig) known(now int64) Version {
	return r.m.Status(now).Peers[0].Version
}

// answered lets b answer the push under way with s, and returns when the next one
// was made, and its token.
func (r *rig) answered(now int64, token uint64, s *State) (int64, uint64) {
	r.t.Helper()
	r.m.Answered(now, "b", token, OK, "", s)
	r.want("")
	at := r.m.WakeAt()
	r.m.Tick(at)
	r.want("push")
	return at, r.last.Token
}

// TestLieUnderAPeersNameIsNotForEver: somebody pushes the highest epoch that is taken
// in b's name, and caps that let nobody grow. What b says itself is stale then, until
// it has said so for three rounds of anti-entropy; from then on it is heard again.
func TestLieUnderAPeersNameIsNotForEver(t *testing.T) {
	r := newRig(t)
	r.want("push")
	push := r.last.Token
	r.m.Received(1, 1, state(5))
	r.want("answer-ok")
	lie := version(state(0), MaxCounter, MaxCounter)
	lie.Caps.MaxSegments = 1
	r.m.Received(2, 2, lie)
	r.want("answer-ok")
	if c := r.m.EffectiveCaps(); c.MaxSegments != 1 {
		t.Fatalf("the lie was not taken: %+v", c)
	}
	r.m.Received(3, 3, state(6, 0x8000))
	r.want("answer-stale")
	if !strings.Contains(r.last.Text, "state 281474976710656.281474976710656.0 is known") {
		t.Errorf("text %q", r.last.Text)
	}
	now, push := r.answered(100, push, state(6)) // to what was asked before the lie
	if p := r.m.Status(now).Peers[0]; p.Trouble != "" {
		t.Errorf("status shows %q", p.Trouble)
	}
	first := now
	now, push = r.answered(first, push, state(6))
	if p := r.m.Status(now).Peers[0]; p.Trouble !=
		"answers with state 6.1.0, and 281474976710656.281474976710656.0 was pushed under its name" {
		t.Errorf("status shows %q", p.Trouble)
	}
	for now <= first+doubtRounds*r.m.cfg.AntiEntropyMillis {
		if v := r.known(now); v.Epoch != MaxCounter {
			t.Fatalf("after %d ms the state is %s", now-first, v)
		}
		now, push = r.answered(now, push, state(6))
	}
	if v := r.known(now); v != (Version{Epoch: 6, Term: 1}) {
		t.Fatalf("after %d ms the state is %s", now-first, v)
	}
	r.m.Received(now+1, 4, state(7, 0x8000))
	if r.want("mutate-fold"); r.m.EffectiveCaps().MaxSegments != 64 {
		t.Errorf("caps %+v", r.m.EffectiveCaps())
	}
	r.commit(now + 2)
	if got := r.take(); got != "answer-ok" && got != "answer-ok push" || r.starts() != "[0 32768]" {
		t.Errorf("%s, %s", got, r.starts())
	}
}

// TestStaleLeadersAnswersCountForNothing while the true leader repeats what it pushed,
// and not at once where it does not.
func TestStaleLeadersAnswersCountForNothing(t *testing.T) {
	r := newRig(t)
	r.want("push")
	push := r.last.Token
	r.m.Received(1, 1, version(state(5), 5, 2))
	r.want("answer-ok")
	now := int64(100)
	for i := range 20 {
		now, push = r.answered(now, push, state(4))
		if i%2 == 0 { // anti-entropy of the one that leads
			r.m.Received(now, uint64(10+i), version(state(5), 5, 2))
			r.want("answer-ok")
		}
		if v := r.known(now); v != (Version{Epoch: 5, Term: 2}) {
			t.Fatalf("after %d ms the state is %s", now, v)
		}
	}
}

// TestAnswerThatCrossesAPush is older than what the push says, and nothing is wrong
// with that.
func TestAnswerThatCrossesAPush(t *testing.T) {
	r := newRig(t)
	r.want("push")
	push := r.last.Token
	r.m.Received(1, 1, state(6))
	r.want("answer-ok")
	now, _ := r.answered(2, push, state(5))
	if p := r.m.Status(now).Peers[0]; p.Trouble != "" || p.Version.Epoch != 6 || p.Failures != 0 {
		t.Errorf("%+v", p)
	}
}

// TestRefusedStateChangesNothing: whatever rule it breaks, the peer, the caps and the
// order of its states are as before.
func TestRefusedStateChangesNothing(t *testing.T) {
	for name, lie := range map[string]func(s *State){
		"epoch":       func(s *State) { s.Version.Epoch = 1<<63 - 1 },
		"term":        func(s *State) { s.Version.Term = MaxCounter + 1 },
		"counter":     func(s *State) { s.Version.Counter = 1<<64 - 1 },
		"caps":        func(s *State) { s.Caps.MaxSegments = 0 },
		"buckets":     func(s *State) { s.Caps.MaxBuckets = 1 << 31 },
		"gap":         func(s *State) { s.Shape.Starts[0] = 1 },
		"overlap":     func(s *State) { s.Shape.Starts[2] = s.Shape.Starts[1] },
		"unsorted":    func(s *State) { s.Shape.Starts[2] = 1 },
		"no instance": func(s *State) { s.Instance = "" },
		"not cold":    func(s *State) { s.Cold = []uint16{7} },
	} {
		r := newRig(t)
		r.want("push")
		r.m.Received(1, 1, state(5))
		r.want("answer-ok")
		before := r.m.Status(2)
		s := version(state(0, 0x4000, 0x8000), 9, 1)
		lie(s)
		r.m.Received(2, 2, s)
		r.want("answer-bad-state")
		after := r.m.Status(2)
		if p, q := before.Peers[0], after.Peers[0]; p.Version != q.Version || p.Caps != q.Caps || q.AgeMillis != 1 ||
			before.Effective != after.Effective || r.starts() != "[0]" {
			t.Errorf("%s: %+v, before %+v", name, after, before)
		}
		r.m.Received(3, 3, state(6))
		r.want("answer-ok")
	}
}

// TestStrangersAreNotHeard: who is not in the replication set, or pretends to be us.
func TestStrangersAreNotHeard(t *testing.T) {
	r := newRig(t)
	r.want("push")
	for _, name := range []string{"z", "a"} {
		s := state(9, 0x8000)
		s.Cluster = name
		r.m.Received(1, 1, s)
		r.want("answer-not-a-member")
		if want := `"` + name + `" is not in the replication set`; r.last.Text != want {
			t.Errorf("%q, want %q", r.last.Text, want)
		}
	}
	if p := r.m.Status(2).Peers; len(p) != 1 || p[0].Known {
		t.Errorf("%+v", p)
	}
}
