// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"testing"

	"georep/core/budget"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/window"
)

// feed offers as many singles as the window wants, at most n, and returns how
// many it took.
func (r *rig) feed(n int) int {
	taken := 0
	for taken < n {
		if e, _ := r.w.Want(); e <= 0 {
			break
		}
		r.offer(single("k1", fmt.Sprint("v", r.next)))
		taken++
	}
	return taken
}

// TestFault01PermitLeak: a send that fails takes no reading credit with it. The
// destination refuses for a while, as over a quota; then everything arrives.
func TestFault01PermitLeak(t *testing.T) {
	const window1, total = 4, 200
	r := newRig(t, ring(t, keyhash.M1, 1), func(c *window.Config) { c.MaxInFlightEntries = window1 })
	fed, refused := 0, 0
	for range 10 * total {
		fed += r.feed(total - fed)
		if len(r.cursor) == 0 {
			break
		}
		switch {
		case len(r.sends) == 0:
			r.tick(100_000)
		case refused < 50:
			refused++
			r.outcome(window.Refused)
			for len(r.sends) > 0 { // what followed it was not taken either
				r.outcome(window.Refused)
			}
		default:
			r.store()
		}
	}
	r.drained()
	if e, _ := r.w.Want(); e != window1 {
		t.Errorf("the window wants %d entries after all were stored, want %d", e, window1)
	}
	if got := len(r.log[1]); got != total {
		t.Errorf("%d entries stored, want %d", got, total)
	}
}

// TestFault02BudgetRefusesThenGrants: the budget has nothing for a window that
// has already read; when time has paid the debt, the window goes on, and reads.
func TestFault02BudgetRefusesThenGrants(t *testing.T) {
	b, err := budget.New(budget.Config{BytesPerSecond: 1000, BurstBytes: 1000, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.Advance(0)
	b.Request(99, 1, 5000) // another window takes all there is, and more
	if got := b.Granted(nil); len(got) != 1 {
		t.Fatalf("granted %v", got)
	}
	b.Return(99)
	r := newRig(t, ring(t, keyhash.M1, 2), func(c *window.Config) { c.MaxInFlightEntries = 1 })
	r.broke = true
	r.offer(spread(keyhash.M1).Bytes())
	if r.asked == 0 || len(r.sends) > 0 {
		t.Fatalf("asked for %d bytes, sent %d", r.asked, len(r.sends))
	}
	b.Request(1, 1, r.asked)
	if got := b.Granted(nil); len(got) != 0 {
		t.Fatalf("granted %v while in debt", got)
	}
	wake := b.NextWakeNanos()
	if wake <= 0 {
		t.Fatal("nothing wakes the window that waits")
	}
	b.Advance(wake)
	if got := b.Granted(nil); len(got) != 1 || got[0] != 1 {
		t.Fatalf("granted %v when the debt is paid", got)
	}
	r.grant()
	r.pump()
	r.storeAll()
	r.drained()
	if e, _ := r.w.Want(); e != 1 {
		t.Errorf("wants %d entries after the grant, want 1: nothing would be read again", e)
	}
	sameBodies(t, r.received(), "b0", "b1", "b2", "b3")
}

// TestFault05QuotaForHours: the remote's quota refuses everything for a day.
// Retries keep a bounded distance, so that the first one after it comes soon.
func TestFault05QuotaForHours(t *testing.T) {
	const day, longest = 24 * 3600_000, 64 * 100
	r := newRig(t, ring(t, keyhash.M1, 1), func(c *window.Config) { c.RetryMillis = 100 })
	r.offer(single("k1", "v"))
	for r.now < day {
		for len(r.sends) > 0 {
			r.outcome(window.Refused)
		}
		r.tick(1000)
	}
	for len(r.sends) > 0 {
		r.outcome(window.Refused)
	}
	r.tick(longest)
	if len(r.sends) != 1 {
		t.Fatalf("%d sends %d ms after the last refusal", len(r.sends), longest)
	}
	r.store()
	r.drained()
}

// TestFault06HoleInTheCursor: one delete fails in the middle of many. The
// position does not stay behind the cursor for ever.
func TestFault06HoleInTheCursor(t *testing.T) {
	r := newRig(t, ring(t, keyhash.M1, 1), nil)
	failures := 3
	r.deletes = func(p entry.Position) bool {
		if p.Entry == 5 && failures > 0 {
			failures--
			return false
		}
		return true
	}
	for i := range 10 {
		r.offer(single("k1", fmt.Sprint(i)))
	}
	r.storeAll()
	if len(r.cursor) != 1 {
		t.Fatalf("behind the cursor: %v", r.cursor)
	}
	for range 3 {
		if !r.w.NeedsTick() {
			t.Fatal("the window asks for no tick: the hole stays")
		}
		r.tick(100)
	}
	r.drained()
	if failures != 0 || r.w.Counters().DeleteRetries != 3 {
		t.Errorf("%d failures left, %d retries counted", failures, r.w.Counters().DeleteRetries)
	}
}

// TestFault07AcquireOneReleaseMany: credits are counted in entries on both
// sides. Batches of 1,000 messages take one each and give one each back.
func TestFault07AcquireOneReleaseMany(t *testing.T) {
	const room = 3
	r := newRig(t, ring(t, keyhash.M1, 1), func(c *window.Config) { c.MaxInFlightEntries = room })
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i%7)
	}
	raw := batchOf(keys...).Bytes()
	for round := range 50 {
		for i := range room {
			if e, _ := r.w.Want(); e != room-i {
				t.Fatalf("round %d: wants %d entries while %d are held, want %d", round, e, i, room-i)
			}
			r.offer(raw)
		}
		if e, _ := r.w.Want(); e != 0 {
			t.Fatalf("round %d: wants %d entries of a full window", round, e)
		}
		r.storeAll()
	}
	r.drained()
	if got := len(r.received()); got != 50*room*1000 {
		t.Errorf("%d messages arrived, want %d", got, 50*room*1000)
	}
}
