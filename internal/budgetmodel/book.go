// SPDX-License-Identifier: Apache-2.0

// Package budgetmodel is the budget's bookkeeping again, deliberately dumb: slices
// and sums over all of them. The budget's own test plays it beside the budget, and
// the simulator judges the budget's grants by it. Not safe for concurrent use.
package budgetmodel

import (
	"slices"

	"georep/core/budget"
)

// Claim is a request, or the slot that it was given.
type Claim struct {
	Key    budget.Key
	Remote uint32
	Bytes  int64
}

// Book holds who waits, in order of asking, who has a slot, and what is in flight.
type Book struct {
	Config  budget.Config
	Waiting []Claim
	Held    []Claim
	flight  map[uint32]int64
}

// New returns an empty book.
func New(c budget.Config) *Book { return &Book{Config: c, flight: map[uint32]int64{}} }

func find(l []Claim, k budget.Key) int {
	return slices.IndexFunc(l, func(c Claim) bool { return c.Key == k })
}

// Holds says whether k has a slot.
func (b *Book) Holds(k budget.Key) bool { return find(b.Held, k) >= 0 }

// Knows says whether k waits or has a slot.
func (b *Book) Knows(k budget.Key) bool { return b.Holds(k) || find(b.Waiting, k) >= 0 }

// Ask adds a request; false where its key has one.
func (b *Book) Ask(c Claim) bool {
	if b.Knows(c.Key) {
		return false
	}
	b.Waiting = append(b.Waiting, c)
	return true
}

// Return takes k out, waiting or not.
func (b *Book) Return(k budget.Key) {
	same := func(c Claim) bool { return c.Key == k }
	b.Waiting, b.Held = slices.DeleteFunc(b.Waiting, same), slices.DeleteFunc(b.Held, same)
}

// Charge adds bytes in flight to a remote; negative ones leave.
func (b *Book) Charge(remote uint32, bytes int64) { b.flight[remote] += bytes }

// Flight returns the bytes in flight to a remote.
func (b *Book) Flight(remote uint32) int64 { return b.flight[remote] }

// Used returns the bytes in flight and held, for one remote and for all.
func (b *Book) Used(remote uint32) (own, all int64) {
	add := func(r uint32, n int64) {
		all += n
		if r == remote {
			own += n
		}
	}
	for r, n := range b.flight {
		add(r, n)
	}
	for _, h := range b.Held {
		add(h.Remote, h.Bytes)
	}
	return own, all
}

// Capped says whether a remote may not get a slot. One with nothing at all may,
// however much the others have.
func (b *Book) Capped(remote uint32) bool {
	own, all := b.Used(remote)
	return own > 0 && (own >= b.Config.InFlightBytesPerRemote || all >= b.Config.InFlightBytes)
}

// Next returns the index in Waiting of the one whose turn it is, as far as the
// caps go: the first below them. -1 where there is none.
func (b *Book) Next() int {
	return slices.IndexFunc(b.Waiting, func(c Claim) bool { return !b.Capped(c.Remote) })
}

// Grant gives the one that waits at index i its slot.
func (b *Book) Grant(i int) Claim {
	c := b.Waiting[i]
	b.Waiting = slices.Delete(b.Waiting, i, i+1)
	b.Held = append(b.Held, c)
	return c
}
