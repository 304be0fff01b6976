// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// story drives a planner by words and checks what it says after each.
type story struct {
	*testing.T
	p   *Planner
	now int64
}

func (s *story) want(text string) {
	s.Helper()
	t, ok := s.p.Ready()
	got := "nothing"
	if ok {
		got = t.State.String()
		switch t.State {
		case Holding:
			got += fmt.Sprintf(" end %v since %d", t.Hold.End, t.Hold.Since)
		case Searching:
			got += fmt.Sprintf(" %v-%v %d", t.Search.First, t.Search.Last, t.Millis)
		case Placing:
			got += fmt.Sprintf(" %v skips %d", t.Plan.Start, t.Plan.Entries)
		}
	} else if st := s.p.Status(); st.State == Waiting {
		got = fmt.Sprintf("waits until %d: %s", st.RetryAt, st.Why)
	}
	if got != text {
		s.Fatalf("%s, want %s", got, text)
	}
	if t, ok := s.p.Ready(); ok {
		s.Fatalf("said twice: %v", t)
	}
}

func (s *story) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) tick(now int64) { s.now = now; s.p.Tick(now) }

func choice(s StartAt) Choice { return Choice{Start: Point{At: s}, Ordinary: Latest, Source: "test"} }

const unknown = "which ledgers are offloaded is not known, and some are in tiered storage only"

func TestPlannerNeverGuesses(t *testing.T) {
	s := &story{T: t, p: NewPlanner(5, Config{End: at(12, 0)})}
	s.want("holding end 12:0 since 5") // before anything is read: retention may trim
	s.ok(s.p.Failed(5, "store: time-out"))
	s.want("waits until 1005: store: time-out")
	s.tick(1004)
	s.want("waits until 1005: store: time-out")
	s.tick(1005)
	s.want("holding end 12:0 since 5")
	s.ok(s.p.Held())
	s.want("planning")
	s.ok(s.p.Failed(1005, "store: time-out"))
	s.want("waits until 3005: store: time-out")
	s.tick(3005)
	s.want("planning") // it stands already
	s.ok(s.p.Read(3005, choice(EarliestNotOffloaded), log("10 d100, 11 u100, 12 open0")))
	s.want("waits until 7005: " + unknown)
	s.tick(7005)
	s.want("planning")
	s.ok(s.p.Read(7005, Choice{Trouble: "topic georep.startAt: no"}, log("10 d100, 11 c100, 12 open0")))
	s.want("waits until 15005: topic georep.startAt: no")
	s.tick(15005)
	s.want("planning")
	s.ok(s.p.Read(15005, choice(EarliestNotOffloaded), log("10 d100, 11 c100, 12 open0")))
	s.want("placing 12:0 skips 200")
	s.ok(s.p.Failed(15005, "cursor: fenced"))
	s.want("waits until 31005: cursor: fenced")
	s.tick(31005)
	s.want("placing 12:0 skips 200") // the same: what it skips may have been trimmed behind a cursor that has moved
	s.ok(s.p.Placed())
	s.want("placed")
	st := s.p.Status()
	if st.Plan.Millis != 15005 || st.Why != "" || st.Tries != 5 || st.Since != 5 || st.RetryAt != -1 {
		t.Errorf("%+v", st)
	}
	if c := s.p.Counts(); c != (Counts{Unknown: 1, Failed: 3, Refused: 1}) {
		t.Errorf("%+v", c)
	}
}

// TestPauseIsBounded: it doubles to a minute and stays there.
func TestPauseIsBounded(t *testing.T) {
	p := NewPlanner(0, Config{End: Nowhere})
	now := int64(0)
	for i := range 100 {
		if _, ok := p.Ready(); !ok {
			t.Fatal("nothing to do")
		}
		if err := p.Failed(now, "no"); err != nil {
			t.Fatal(err)
		}
		if i > 6 && p.WakeAt()-now != 60_000 {
			t.Fatalf("pause %d: %d", i, p.WakeAt()-now)
		}
		now = p.WakeAt()
		p.Tick(now)
	}
}

// TestNewOwnerGoesOn: the end of the log at which planning began is the first owner's,
// so what came in mid-retry is replicated, whatever the start is, and was offloaded or not.
func TestNewOwnerGoesOn(t *testing.T) {
	for start, want := range map[StartAt]string{Latest: "placing 12:5 skips 205", EarliestNotOffloaded: "placing 12:5 skips 205",
		Earliest: "placing 10:0 skips 0"} {
		s := &story{T: t, p: NewPlanner(90, Config{End: at(14, 3), Held: &Hold{End: at(12, 5), Since: 4}})}
		s.want("planning")
		s.ok(s.p.Read(90, choice(start), log("10 d100, 11 c100, 12 c60, 13 d30, 14 open3")))
		s.want(want)
		if s.p.Status().Since != 4 {
			t.Errorf("since %d", s.p.Status().Since)
		}
	}
	s := &story{T: t, p: NewPlanner(90, Config{End: at(14, 3), Held: &Hold{End: at(12, 5), Since: 4}})}
	s.want("planning") // eviction took what the hold kept: what is left, and nothing that came later is skipped
	s.ok(s.p.Read(90, choice(EarliestNotOffloaded), log("13 n30, 14 open3")))
	s.want("placing 13:0 skips 0")
}

// TestLaterBoundIsBetterThanNone: the first owner did not know where the log ended.
func TestLaterBoundIsBetterThanNone(t *testing.T) {
	s := &story{T: t, p: NewPlanner(90, Config{End: at(12, 3), Held: &Hold{End: Nowhere, Since: 4}})}
	s.want("planning")
	s.ok(s.p.Read(90, choice(Latest), log("10 d100, 12 open7")))
	s.want("placing 12:3 skips 103")
}

// TestCrashWhilePlacing: plan and hold are both there, so the plan is placed, not made anew.
func TestCrashWhilePlacing(t *testing.T) {
	plan := Plan{Action: Start, Start: at(12, 0), Horizon: at(11, 99), Entries: 200}
	s := &story{T: t, p: NewPlanner(9, Config{Held: &Hold{End: at(12, 5), Since: 4}, Placed: &plan})}
	s.want("placing 12:0 skips 200")
	s.ok(s.p.Placed())
	s.want("placed")
	s = &story{T: t, p: NewPlanner(9, Config{Placed: &plan})} // retention has moved on since, or not: it stays
	s.want("kept")
	if got := s.p.Status(); got.Plan.Start != at(12, 0) || got.State != Kept {
		t.Errorf("%+v", got)
	}
	s = &story{T: t, p: NewPlanner(9, Config{HasPosition: true})}
	s.want("kept")
}

// TestYoungerSegment: what was made after replication began continues what is
// replicated, and is replicated from its first entry.
func TestYoungerSegment(t *testing.T) {
	for joined, want := range map[uint64]string{3: "placing 10:0 skips 0", 4: "placing 11:0 skips 100", 5: "placing 11:0 skips 100"} {
		s := &story{T: t, p: NewPlanner(0, Config{End: at(11, 0), Created: 4, Joined: joined, JoinedKnown: true})}
		s.want("holding end 11:0 since 0")
		s.ok(s.p.Held())
		s.want("planning")
		s.ok(s.p.Read(0, choice(Latest), log("10 c100, 11 open0")))
		s.want(want)
	}
}

func TestPlannerSearches(t *testing.T) {
	s := &story{T: t, p: NewPlanner(0, Config{End: at(12, 4)})}
	s.want("holding end 12:4 since 0")
	s.ok(s.p.Held())
	s.want("planning")
	c := choice(AtTime)
	c.Start.Millis = 11_500
	s.ok(s.p.Read(0, c, log("10 c100, 11 n50, 12 open4")))
	s.want("searching 11:0-11:49 11500")
	for _, bad := range []int64{-1, 51} {
		if err := s.p.Found(0, at(11, bad)); !errors.Is(err, ErrStart) {
			t.Errorf("found %d: %v", bad, err)
		}
	}
	if err := s.p.Found(0, at(12, 0)); !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "found 12:0 in 11:0 to 11:49") {
		t.Error(err)
	}
	s.ok(s.p.Failed(0, "bookie: down"))
	s.tick(1000)
	s.want("planning")
	s.ok(s.p.Read(1000, c, log("10 c100, 11 n50, 12 open4")))
	s.want("searching 11:0-11:49 11500")
	s.ok(s.p.Found(1000, at(11, 30)))
	s.want("placing 11:30 skips 130")
}

// TestEventsThatNobodyAskedFor change nothing.
func TestEventsThatNobodyAskedFor(t *testing.T) {
	s := &story{T: t, p: NewPlanner(0, Config{End: Nowhere})}
	if err := s.p.Held(); !errors.Is(err, ErrOrder) { // not asked for yet
		t.Error(err)
	}
	s.want("holding end -1:-1 since 0")
	for name, err := range map[string]error{"read": s.p.Read(0, choice(Latest), Log{}), "found": s.p.Found(0, at(1, 1)), "placed": s.p.Placed()} {
		if !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "while holding") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.ok(s.p.Held())
	s.want("planning")
	s.ok(s.p.Read(0, choice(Latest), log("10 open0")))
	s.want("placing 10:0 skips 0")
	s.ok(s.p.Placed())
	s.want("placed")
	if err := s.p.Failed(0, "late"); !errors.Is(err, ErrOrder) {
		t.Error(err)
	}
	// a log that no segment has is a failed read: the store may have been read in between
	s = &story{T: t, p: NewPlanner(0, Config{Held: &Hold{End: Nowhere}})}
	s.want("planning")
	s.ok(s.p.Read(0, choice(Latest), Log{Ledgers: []Ledger{{ID: 3, Offload: None, Entries: -4}}}))
	s.want("waits until 1000: bootstrap: bad ledgers: ledger 3: -4 entries, 0 bytes")
}
