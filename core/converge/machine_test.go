// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// rig is a machine of cluster a with one peer, b, and a store.
type rig struct {
	t           *testing.T
	m           *Machine
	store       Local
	next        uint64
	last        Action
	mut, answer Action // the last of their kind
}

func newRig(t *testing.T, starts ...uint16) *rig {
	t.Helper()
	m, err := New(DefaultConfig("a"))
	if err != nil {
		t.Fatal(err)
	}
	starts = append([]uint16{0}, starts...)
	shape := layout.Shape{Profile: keyhash.PIP486, Starts: starts, Buckets: make([][]uint16, len(starts))}
	segs := make([]layout.Segment, len(starts))
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i), Range: shape.Range(i), State: layout.Active, Profile: keyhash.PIP486,
			BucketsKnown: true}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, m: m, store: Local{Layout: l, Instance: "a-1"}, next: uint64(len(segs))}
	m.Store(0, r.store)
	m.Members(0, []string{"a", "b"})
	m.Lead(0, 1)
	return r
}

// take returns what the machine wants, one word per action, and remembers the last.
func (r *rig) take() string {
	var words []string
	for _, a := range r.m.Ready() {
		r.last = a
		switch a.Kind {
		case Push:
			words = append(words, "push")
		case Answer:
			words = append(words, "answer-"+a.Code.String())
			r.answer = a
		case Mutate:
			words = append(words, "mutate-"+a.Mutation.Why.String())
			r.mut = a
		case Verdict:
			words = append(words, "verdict-"+a.Code.String())
		}
	}
	return strings.Join(words, " ")
}

func (r *rig) want(what string) {
	r.t.Helper()
	if got := r.take(); got != what {
		r.t.Fatalf("%q, want %q (%+v)", got, what, r.last)
	}
}

// met lets b answer the new leader, with its boundaries.
func (r *rig) met(starts ...uint16) {
	r.t.Helper()
	r.want("push")
	r.m.Answered(0, "b", r.last.Token, OK, "", state(0, starts...))
	r.want("")
}

// commit makes the last mutation durable.
func (r *rig) commit(now int64) {
	r.t.Helper()
	mu := r.mut.Mutation
	l := r.store.Layout
	if len(mu.Ops) > 0 {
		var err error
		if l, err = layout.Apply(l, mu.Ops, r.next, 0); err != nil {
			r.t.Fatal(err)
		}
		r.next += 10
	}
	r.store = Local{Layout: l, Instance: r.store.Instance, Splits: mu.Splits, Marks: mu.Marks}
	r.m.Committed(now, r.mut.Token, r.store)
}

func (r *rig) starts() string {
	s, err := layout.ShapeOf(r.store.Layout)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(s.Starts)
}

// TestPushIsAnsweredAfterTheCommit is invariant 5 in one line.
func TestPushIsAnsweredAfterTheCommit(t *testing.T) {
	r := newRig(t)
	r.met()
	r.m.Received(10, 77, state(1, 0x8000))
	r.want("mutate-fold")
	r.commit(20)
	r.want("answer-ok push")
	if r.answer.Token != 77 || r.answer.State.Version != (Version{Epoch: 2, Term: 1}) || r.starts() != "[0 32768]" {
		t.Errorf("answered %+v with %s", r.answer, r.starts())
	}
	if want := (layout.SplitLog{{At: 0x8000, Parent: layout.Ring}}); !reflect.DeepEqual(r.store.Splits, want) {
		t.Errorf("log %v", r.store.Splits)
	}
}

// TestRepeatChangesNothing: a state that is known is answered and is news of its peer.
// One that only claims to be the same is taken for what it says.
func TestRepeatChangesNothing(t *testing.T) {
	r := newRig(t)
	r.met()
	r.m.Received(10, 77, state(1, 0x8000))
	r.want("mutate-fold")
	r.commit(20)
	r.want("answer-ok push")
	r.m.Received(30, 78, state(1, 0x8000))
	if r.want("answer-ok"); r.last.Token != 78 || r.m.Status(35).Peers[0].AgeMillis != 5 {
		t.Errorf("token %d, age %d", r.last.Token, r.m.Status(35).Peers[0].AgeMillis)
	}
	r.m.Received(40, 79, state(1, 0x4000, 0x8000))
	r.want("mutate-fold")
}

// TestPushThatTakesTooLong is answered "busy", and the sender tries again.
func TestPushThatTakesTooLong(t *testing.T) {
	r := newRig(t)
	r.met()
	r.m.Received(10, 77, state(1, 0x8000))
	r.want("mutate-fold")
	if at := r.m.WakeAt(); at != 10+20_000 {
		t.Errorf("wakes at %d", at)
	}
	r.m.Tick(10 + 20_000)
	r.want("answer-busy")
}

// TestMergeWaitsForConsent: cold here, hot there, cold there, gone.
func TestMergeWaitsForConsent(t *testing.T) {
	r := newRig(t, 0x8000)
	r.met(0x8000)
	r.m.Cold(1, []uint16{0x8000})
	if r.want("push"); !reflect.DeepEqual(r.m.State().Cold, []uint16{0x8000}) {
		t.Fatalf("cold %v", r.m.State().Cold)
	}
	r.m.Received(2, 1, state(1, 0x8000))
	r.want("answer-ok")
	cold := state(1, 0x8000)
	cold.Version.Counter, cold.Cold = 1, []uint16{0x8000}
	r.m.Received(3, 2, cold)
	r.want("mutate-merge answer-ok")
	r.commit(4)
	if r.starts() != "[0]" {
		t.Fatalf("merged to %s", r.starts())
	}
	r.m.Tick(5) // what b holds coldly is not folded back
	if got := r.take(); strings.Contains(got, "mutate") {
		t.Fatalf("folded back: %s", got)
	}
	hot := state(1, 0x8000)
	hot.Version.Counter = 2
	r.m.Received(6, 3, hot) // needed there after all
	if r.want("mutate-fold"); r.last.Mutation.Ops[0].Kind != layout.SplitMidpoint {
		t.Errorf("%+v", r.last.Mutation.Ops)
	}
}

// TestManualMarks live in the store, wait, expire and can be taken back.
func TestManualMarks(t *testing.T) {
	r := newRig(t, 0x8000)
	r.want("push")
	r.m.WishMerge(5, 1, 1, 0)
	r.want("mutate-mark")
	r.commit(6)
	if r.want("verdict-marked"); len(r.store.Marks) != 1 || r.store.Marks[0].UntilMillis != 5+24*3_600_000 {
		t.Fatalf("marks %+v", r.store.Marks)
	}
	r.m.CancelMark(7, 2, 0x8000, 0)
	r.want("mutate-unmark")
	r.commit(8)
	if r.want("verdict-ok"); len(r.store.Marks) != 0 || len(r.m.State().Cold) != 0 {
		t.Fatalf("marks %+v cold %v", r.store.Marks, r.m.State().Cold)
	}
	r.m.WishMerge(9, 3, 0, 1)
	r.want("mutate-mark")
	r.commit(10)
	r.want("verdict-marked")
	r.m.Tick(9 + 24*3_600_000)
	r.want("mutate-unmark")
	r.m.CancelMark(9+24*3_600_000, 4, 0x8000, 0)
	r.want("verdict-busy")
}

// TestExpiredMarkConsentsToNothing: a mark holds to the last millisecond of its day, by
// the machine's clock alone; then peers are told that it is over, and a peer's consent
// that comes a moment later is too late, whether the store has forgotten the mark or not.
func TestExpiredMarkConsentsToNothing(t *testing.T) {
	const day = 24 * 3_600_000
	for _, late := range []bool{false, true} {
		r := newRig(t, 0x8000)
		r.want("push")
		r.m.Answered(1, "b", r.last.Token, OK, "", state(1, 0x8000))
		r.want("")
		r.m.WishMerge(5, 1, 0, 1)
		r.want("mutate-mark")
		r.commit(5)
		r.want("verdict-marked push")
		cold := state(1, 0x8000)
		cold.Version.Counter, cold.Cold = 1, []uint16{0x8000}
		if !late {
			r.m.Received(day+4, 2, cold)
			r.want("mutate-merge answer-ok")
			continue
		}
		r.m.Answered(6, "b", r.last.Token, OK, "", nil)
		r.take()
		for at := r.m.WakeAt(); at < day+5; at = r.m.WakeAt() { // anti-entropy, all day long
			if r.m.Tick(at); len(r.m.State().Cold) != 1 {
				t.Fatalf("after %d ms %+v is told", at-5, r.m.State())
			}
			r.want("push")
			r.m.Answered(at, "b", r.last.Token, OK, "", nil)
			r.take()
		}
		r.m.Tick(day + 5)
		if got := r.take(); got != "mutate-unmark push" || len(r.last.State.Cold) != 0 {
			t.Fatalf("%s tells %+v", got, r.last.State)
		}
		r.m.Received(day+6, 2, cold)
		r.want("answer-ok")
		r.commit(day + 7)
		if got := r.take(); strings.Contains(got, "mutate") || len(r.store.Marks) != 0 || r.starts() != "[0 32768]" {
			t.Fatalf("%s, marks %+v, layout %s", got, r.store.Marks, r.starts())
		}
	}
}

// TestLaterLeadersTerm: who reads in the store that another controller leads by now
// takes no part any more; what was wished for there is told so, and pushes, too.
func TestLaterLeadersTerm(t *testing.T) {
	r := newRig(t)
	r.want("push")
	r.m.Answered(1, "b", r.last.Token, OK, "", state(1))
	r.want("")
	r.m.WishSplit(2, 7, 0)
	r.want("mutate-policy")
	if mu := r.mut.Mutation; mu.Expect != 1 || mu.Term != 1 {
		t.Errorf("%+v", mu)
	}
	r.m.Received(3, 70, state(2, 0x4000))
	r.want("")
	r.store.Term = 2
	r.m.Store(4, r.store)
	r.want("verdict-not-leader answer-not-leader")
	if s := r.m.Status(4); s.Leading || r.m.WakeAt() != -1 {
		t.Errorf("%+v, wakes at %d", s, r.m.WakeAt())
	}
	r.m.MutationFailed(5, r.mut.Token, "term 2, not 1")
	r.m.Tick(1_000_000)
	r.want("")
	r.m.Received(1_000_001, 71, state(2, 0x4000))
	r.want("answer-not-leader")
	r.m.Lead(1_000_002, 3) // elected again
	r.want("push")
	r.m.Store(1_000_003, r.store)
	if !r.m.Status(1_000_003).Leading {
		t.Error("an earlier leader's term ends the lead")
	}
}

// TestWhoFollowsNotIsNamed on both sides: beyond the caps of one the other's layout is
// declined, and left alone; with other caps it is followed.
func TestWhoFollowsNotIsNamed(t *testing.T) {
	r := newRig(t, layout.EqualWidth(20)...)
	r.want("push")
	small := state(1)
	small.Caps.MaxSegments = 8
	r.m.Answered(1, "b", r.last.Token, Capped, "20 segments, 8 allowed", small)
	r.want("")
	if p := r.m.Status(1).Peers[0]; p.Declined != "20 segments, 8 allowed" || p.Trouble != "" || p.Refused != "" ||
		p.Failures != 0 {
		t.Errorf("%+v", p)
	}
	r.m.WishSplit(2, 1, 3)
	if r.want("verdict-cap"); r.last.Text != "layout: beyond the caps: 21 segments, 8 allowed" {
		t.Errorf("text %q", r.last.Text)
	}
	r.m.Received(3, 2, version(state(2, 0x8001), 2, 1))
	r.want("mutate-fold")
	r.commit(4)
	r.want("answer-ok push")
	r.m.Answered(5, "b", r.last.Token, OK, "", nil)
	if p := r.m.Status(5).Peers[0]; p.Declined != "" {
		t.Errorf("still %q", p.Declined)
	}
}

// TestDissentIsNamed: for whom what is cold here is kept.
func TestDissentIsNamed(t *testing.T) {
	r := newRig(t, 0x8000)
	r.want("push")
	first := r.last.Token
	dissent := func(want string) {
		t.Helper()
		if got := fmt.Sprint(r.m.Status(0).Dissent); got != want {
			t.Errorf("dissent of %s, want %s", got, want)
		}
	}
	dissent("[]")
	r.m.Cold(1, []uint16{0x8000})
	r.take()
	dissent("[b]") // has not been heard
	r.m.Answered(2, "b", first, OK, "", state(1, 0x8000))
	dissent("[b]")
	r.m.Cold(3, nil)
	dissent("[]")
	r.take()
	cold := state(1, 0x8000)
	cold.Version.Counter, cold.Cold = 1, []uint16{0x8000}
	r.m.Received(4, 2, cold)
	r.take()
	r.m.Cold(5, []uint16{0x8000})
	r.take()
	dissent("[]")
}

// TestNewLeaderWaits with its own splits, a minute at most; with a peer that has no
// plugin not at all.
func TestNewLeaderWaits(t *testing.T) {
	r := newRig(t)
	r.want("push")
	r.m.WishSplit(1, 1, 0)
	r.want("verdict-waiting-for-peers")
	r.m.PushFailed(2, "b", 1, true, "404", 0)
	r.want("")
	r.m.WishSplit(3, 2, 0)
	r.want("mutate-policy")

	r = newRig(t)
	r.want("push")
	r.m.WishSplit(59_999, 1, 0)
	r.want("verdict-waiting-for-peers")
	r.m.WishSplit(60_000, 2, 0)
	r.want("mutate-policy")
}

// TestUnsupportedPeerIsQuiet: one try per anti-entropy interval, whatever happens here.
func TestUnsupportedPeerIsQuiet(t *testing.T) {
	r := newRig(t)
	r.want("push")
	r.m.PushFailed(10, "b", r.last.Token, true, "404", 0)
	r.want("")
	if at := r.m.WakeAt(); at != 60_010 {
		t.Errorf("tries again at %d", at)
	}
	r.m.WishSplit(11, 9, 0)
	r.want("mutate-policy")
	r.commit(12)
	r.want("verdict-ok")
	r.m.Tick(60_010)
	r.want("push")
}

// TestLostOutcomeIsNotWaitedFor for ever: the peer is told again, and what comes of
// the first push after all is not taken for the second one's.
func TestLostOutcomeIsNotWaitedFor(t *testing.T) {
	r := newRig(t)
	r.want("push")
	first := r.last.Token
	r.m.Tick(60_000) // it has waited long enough for b
	if at := r.m.WakeAt(); at != 120_000 {
		t.Errorf("wakes at %d", at)
	}
	r.m.Tick(119_999)
	r.want("")
	r.m.Tick(120_000)
	r.want("")
	if p := r.m.Status(120_000).Peers[0]; p.Failures != 1 || p.Trouble != "nobody told how the last push ended" {
		t.Errorf("%+v", p)
	}
	r.m.Tick(120_500)
	r.want("push")
	r.m.Answered(120_600, "b", first, OK, "", nil)
	if p := r.m.Status(120_600).Peers[0]; p.Acked != (Version{}) || p.Failures != 1 {
		t.Errorf("%+v", p)
	}
	r.m.Answered(120_700, "b", r.last.Token, OK, "", nil)
	if p := r.m.Status(120_700).Peers[0]; p.Acked != r.m.State().Version || p.Failures != 0 {
		t.Errorf("%+v", p)
	}
}

// TestWhoTakesNoPartIsNotWaitedFor: a cluster that does not replicate the topic to
// us never tells its layout, and neither splits nor merges wait for that.
func TestWhoTakesNoPartIsNotWaitedFor(t *testing.T) {
	r := newRig(t, 0x8000)
	r.want("push")
	r.m.Answered(10, "b", r.last.Token, NoTopic, "never heard of it", nil)
	if p := r.m.Status(10).Peers[0]; p.Support != Unsupported || p.Trouble != "no-topic: never heard of it" {
		t.Errorf("%+v", p)
	}
	r.m.WishSplit(20, 7, 0)
	r.want("mutate-policy")
	r.commit(30)
	r.take()
	r.m.WishMerge(40, 8, 2, 3)
	r.want("mutate-mark")
	r.commit(50)
	r.want("verdict-marked mutate-merge")
}

// TestWhoSpeaksIsToldAtOnce, whatever the last pushes to it came to: a topic that is
// created there later, or a cluster that is back.
func TestWhoSpeaksIsToldAtOnce(t *testing.T) {
	r := newRig(t)
	r.want("push")
	r.m.Answered(10, "b", r.last.Token, NoTopic, "", nil)
	r.want("")
	r.m.Received(500, 1, state(1))
	r.want("answer-ok push")
	r.m.PushFailed(600, "b", r.last.Token, false, "connection refused", 0)
	r.m.Tick(1099)
	r.want("")
	r.m.Received(1099, 2, state(2))
	r.want("answer-ok push")
}

// TestAnotherInstanceIsAskedBack: a late push of an earlier life changes nothing.
func TestAnotherInstanceIsAskedBack(t *testing.T) {
	r := newRig(t)
	r.want("push")
	mine := r.last.Token
	r.m.Received(1, 1, state(1))
	r.want("answer-ok")
	late := state(9, 0x1234)
	late.Instance = "b-0"
	r.m.Received(2, 2, late)
	r.want("answer-stale")
	r.m.Answered(3, "b", mine, OK, "", state(1))
	r.want("push") // the question
	r.m.Answered(4, "b", r.last.Token, OK, "", late)
	r.want("mutate-fold") // it was the later life after all
}

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]int64{0: 500, 1: 500, 2: 1000, 5: 8000, 8: 60_000, 1000: 60_000} {
		if got := backoff(500, 60_000, failures, 0); got != want {
			t.Errorf("after %d failures %d ms, want %d", failures, got, want)
		}
	}
	if got := backoff(500, 60_000, 1, 1000); got != 375 {
		t.Errorf("with full jitter %d ms", got)
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	c := DefaultConfig("a")
	c.GrowWaitMillis = 0
	if _, err := New(c); err == nil || err.Error() != "converge: bad configuration: grow wait: 0 is not positive" {
		t.Error(err)
	}
	if _, err := New(DefaultConfig("")); err == nil {
		t.Error("a machine without a cluster")
	}
}

// TestPolicyIsAskedAnewOfANewBoundary: what was merged because everybody was cold and
// is split again because it is hot here is not cold by what the policy said before.
func TestPolicyIsAskedAnewOfANewBoundary(t *testing.T) {
	r := newRig(t, 0x8000)
	r.met(0x8000)
	r.m.Cold(1, []uint16{0x8000})
	r.take()
	cold := state(1, 0x8000)
	cold.Cold = []uint16{0x8000}
	r.m.Received(2, 1, cold)
	r.want("mutate-merge answer-ok")
	r.commit(3)
	r.take()
	r.m.WishSplit(4, 9, r.store.Layout.Active()[0].ID)
	r.want("mutate-policy")
	r.commit(5)
	if got := r.take(); got != "verdict-ok" || len(r.m.State().Cold) != 0 || r.starts() != "[0 32768]" {
		t.Fatalf("%s, cold %v, layout %s", got, r.m.State().Cold, r.starts())
	}
	r.m.Cold(6, []uint16{0x8000})
	r.want("mutate-merge")
}

// TestConsentIsNotTakenBackByAMerge: a boundary may go by the record of a split that only
// the peer has. When the peer has merged, which it may, its record is gone, and the
// boundary stays cold here, or the peer would fold it back in.
func TestConsentIsNotTakenBackByAMerge(t *testing.T) {
	r := newRig(t, 0x5000, 0x8000)
	r.want("push")
	r.m.Answered(1, "b", r.last.Token, OK, "", state(1, 0x5000, 0x8000))
	r.m.Cold(1, []uint16{0x5000})
	if r.want(""); len(r.m.State().Cold) != 0 { // no halves of anything known
		t.Fatalf("cold %v", r.m.State().Cold)
	}
	r.m.WishSplit(2, 1, 2) // keeps the store busy
	r.want("mutate-policy")
	told := version(state(0, 0x5000, 0x8000), 2, 1)
	told.Splits, told.Cold = layout.SplitLog{{At: 0x5000, Parent: layout.Range{Start: 0, End: 0x7fff}}}, []uint16{0x5000}
	r.m.Received(3, 1, told)
	if r.want("answer-ok push"); !reflect.DeepEqual(r.last.State.Cold, []uint16{0x5000}) {
		t.Fatalf("tells cold %v", r.last.State.Cold)
	}
	r.m.Received(4, 2, version(state(0, 0x8000), 3, 1)) // b has merged
	if r.want("answer-ok"); !reflect.DeepEqual(r.last.State.Cold, []uint16{0x5000}) {
		t.Fatalf("takes back what was cold: %v", r.last.State)
	}
	r.commit(5)
	r.want("verdict-ok mutate-merge")
	r.commit(6)
	if r.starts() != "[0 32768 49152]" || len(r.m.State().Splits) != 1 {
		t.Errorf("merged to %s, splits %v", r.starts(), r.m.State().Splits)
	}
}
