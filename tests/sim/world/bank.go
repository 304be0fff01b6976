// SPDX-License-Identifier: Apache-2.0

package world

import (
	"georep/core/budget"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// bank drives the budget that all replicators share.
type bank struct {
	w     *World
	b     *budget.Budget
	watch *check.BudgetWatch
	byKey map[budget.Key]*replicator
	due   int64 // time of the wake-up that is scheduled
	keys  []budget.Key
}

func (w *World) newBank() *bank {
	c := budget.Config{BytesPerSecond: 200_000, BurstBytes: 3_000, Slots: 1 + w.rng.IntN(3),
		InFlightBytes: 40_000, InFlightBytesPerRemote: 4_000 + w.rng.Int64N(12_000)}
	b, err := budget.New(c)
	if err != nil {
		panic("sim: " + err.Error())
	}
	b.Advance(w.nanos())
	return &bank{w: w, b: b, watch: w.chk.WatchBudget(c, w.nanos()), byKey: map[budget.Key]*replicator{}}
}

func (w *World) nanos() int64 { return (w.now + 1) * 1_000_000 }

func (k *bank) request(rp *replicator, bytes int64) {
	k.byKey[rp.key] = rp
	k.watch.Request(rp.key, rp.r.index, bytes)
	k.b.Request(rp.key, rp.r.index, bytes)
	k.poke()
}

// giveBack returns the slot or withdraws the request. A grant that is on its way
// to the window is stale from now on.
func (k *bank) giveBack(rp *replicator) {
	rp.grants++
	k.watch.Return(rp.key)
	k.b.Return(rp.key)
	k.poke()
}

func (k *bank) charge(r *remote, n int64) {
	k.watch.Charge(r.index, n)
	if n > 0 {
		k.b.Charge(r.index, n)
	} else {
		k.b.Uncharge(r.index, -n)
		for _, rp := range k.w.replicators {
			if rp.starved {
				rp.starved = false
				rp.wake()
			}
		}
	}
	k.poke()
}

// poke hands out what can be granted now, and wakes up when time brings more.
func (k *bank) poke() {
	w := k.w
	w.events++
	k.b.Advance(w.nanos())
	k.keys = k.b.Granted(k.keys[:0])
	for _, key := range k.keys {
		k.watch.Granted(key, w.nanos())
		rp := k.byKey[key]
		at := rp.grants
		w.after(w.rng.Int64N(3), func() {
			if rp.stopped || rp.grants != at {
				w.plan.Hit(faults.DirectGrant)
				return
			}
			rp.event()
			rp.win.Granted()
			rp.wake()
		})
	}
	if wake := k.b.NextWakeNanos(); wake > 0 {
		at := wake/1_000_000 + 1
		if k.due <= w.now || at < k.due {
			k.due = at
			w.atTime(at, k.poke)
		}
	}
}
