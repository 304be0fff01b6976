// SPDX-License-Identifier: Apache-2.0

package check

import "georep/core/budget"

// BudgetWatch mirrors who waits and holds, to see that the budget keeps its rules.
type BudgetWatch struct {
	c       *Checker
	cfg     budget.Config
	start   int64 // ns
	waiting []claim
	holding []claim
	flight  map[uint32]int64
	granted int64
	biggest int64
}

type claim struct {
	key    budget.Key
	remote uint32
	bytes  int64
}

// WatchBudget starts a mirror of a budget that was made at startNanos.
func (c *Checker) WatchBudget(cfg budget.Config, startNanos int64) *BudgetWatch {
	return &BudgetWatch{c: c, cfg: cfg, start: startNanos, flight: map[uint32]int64{}}
}

func find(l []claim, k budget.Key) int {
	for i := range l {
		if l[i].key == k {
			return i
		}
	}
	return -1
}

// Request notes a request. A window has at most one operation.
func (b *BudgetWatch) Request(k budget.Key, remote uint32, bytes int64) {
	if find(b.waiting, k) >= 0 || find(b.holding, k) >= 0 {
		b.c.Fail(Budget, 0, "window %d asks for a second operation", k)
		return
	}
	b.waiting = append(b.waiting, claim{k, remote, bytes})
}

// Charge notes bytes in flight; negative ones leave.
func (b *BudgetWatch) Charge(remote uint32, bytes int64) { b.flight[remote] += bytes }

func (b *BudgetWatch) used(remote uint32) (own, all int64) {
	for r, n := range b.flight {
		all += n
		if r == remote {
			own += n
		}
	}
	for _, h := range b.holding {
		all += h.bytes
		if h.remote == remote {
			own += h.bytes
		}
	}
	return own, all
}

func (b *BudgetWatch) capped(remote uint32) bool {
	own, all := b.used(remote)
	return own > 0 && (own >= b.cfg.InFlightBytesPerRemote || all >= b.cfg.InFlightBytes)
}

// Granted checks a grant at nowNanos.
func (b *BudgetWatch) Granted(k budget.Key, nowNanos int64) {
	i := find(b.waiting, k)
	if i < 0 {
		b.c.Fail(Budget, 0, "window %d is granted what it does not wait for", k)
		return
	}
	g := b.waiting[i]
	for _, w := range b.waiting[:i] {
		if !b.capped(w.remote) {
			b.c.Fail(Budget, 0, "window %d is granted before %d, which waits longer below its cap", k, w.key)
			return
		}
	}
	if b.capped(g.remote) {
		own, all := b.used(g.remote)
		b.c.Fail(Budget, 0, "remote %d gets a slot with %d bytes in flight (%d in all)", g.remote, own, all)
		return
	}
	b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
	b.holding = append(b.holding, g)
	b.granted += g.bytes
	b.biggest = max(b.biggest, g.bytes)
	if len(b.holding) > b.cfg.Slots {
		b.c.Fail(Budget, 0, "%d operations at once, %d slots", len(b.holding), b.cfg.Slots)
	}
	most := b.cfg.BurstBytes + b.biggest + int64(float64(nowNanos-b.start)/1e9*float64(b.cfg.BytesPerSecond)) + 1
	if b.granted > most {
		b.c.Fail(Budget, 0, "%d bytes granted where the rate allows %d", b.granted, most)
	}
}

// Return notes a slot or a request given back.
func (b *BudgetWatch) Return(k budget.Key) {
	if i := find(b.waiting, k); i >= 0 {
		b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
	}
	if i := find(b.holding, k); i >= 0 {
		b.holding = append(b.holding[:i:i], b.holding[i+1:]...)
	}
}

// Holds says whether the window holds a slot now.
func (b *BudgetWatch) Holds(k budget.Key) bool { return find(b.holding, k) >= 0 }

// Finish checks that every slot and byte came back.
func (b *BudgetWatch) Finish(s budget.Stats) {
	if s.Held != 0 || s.Waiting != 0 || s.InFlight != 0 || s.Miscounted != 0 {
		b.c.Fail(Budget, 0, "left at the end: %d slots, %d requests, %d bytes in flight, %d miscounted", s.Held, s.Waiting, s.InFlight, s.Miscounted)
	}
}
