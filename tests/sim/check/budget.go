// SPDX-License-Identifier: Apache-2.0

package check

import (
	"georep/core/budget"
	"georep/internal/budgetmodel"
)

// BudgetWatch keeps a book of who waits and holds, to see that the budget keeps its rules.
type BudgetWatch struct {
	c       *Checker
	book    *budgetmodel.Book
	start   int64 // ns
	granted int64
	biggest int64
}

// WatchBudget starts a book of a budget that was made at startNanos.
func (c *Checker) WatchBudget(cfg budget.Config, startNanos int64) *BudgetWatch {
	return &BudgetWatch{c: c, book: budgetmodel.New(cfg), start: startNanos}
}

// Request notes a request. A window has at most one operation.
func (b *BudgetWatch) Request(k budget.Key, remote uint32, bytes int64) {
	if !b.book.Ask(budgetmodel.Claim{Key: k, Remote: remote, Bytes: bytes}) {
		b.c.Fail(Budget, 0, "window %d asks for a second operation", k)
	}
}

// Charge notes bytes in flight; negative ones leave.
func (b *BudgetWatch) Charge(remote uint32, bytes int64) { b.book.Charge(remote, bytes) }

// Granted checks a grant at nowNanos.
func (b *BudgetWatch) Granted(k budget.Key, nowNanos int64) {
	m := b.book
	i := m.Next()
	if i < 0 || m.Waiting[i].Key != k {
		b.c.Fail(Budget, 0, "window %d is granted a slot out of turn, %d: %v", k, i, m.Waiting)
		return
	}
	g := m.Grant(i)
	b.granted += g.Bytes
	b.biggest = max(b.biggest, g.Bytes)
	if len(m.Held) > m.Config.Slots {
		b.c.Fail(Budget, 0, "%d operations at once, %d slots", len(m.Held), m.Config.Slots)
	}
	most := m.Config.BurstBytes + b.biggest + int64(float64(nowNanos-b.start)/1e9*float64(m.Config.BytesPerSecond)) + 1
	if b.granted > most {
		b.c.Fail(Budget, 0, "%d bytes granted where the rate allows %d", b.granted, most)
	}
}

// Return notes a slot or a request given back.
func (b *BudgetWatch) Return(k budget.Key) { b.book.Return(k) }

// Holds says whether the window holds a slot now.
func (b *BudgetWatch) Holds(k budget.Key) bool { return b.book.Holds(k) }

// Finish checks that every slot and byte came back.
func (b *BudgetWatch) Finish(s budget.Stats) {
	if s.Held != 0 || s.Waiting != 0 || s.InFlight != 0 || s.Miscounted != 0 {
		b.c.Fail(Budget, 0, "left at the end: %d slots, %d requests, %d bytes in flight, %d miscounted", s.Held, s.Waiting, s.InFlight, s.Miscounted)
	}
}
