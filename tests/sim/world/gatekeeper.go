// SPDX-License-Identifier: Apache-2.0

package world

import (
	"georep/tests/sim/faults"
)

// learnSource delivers the source cluster's layout to the gate.
func (rp *replicator) learnSource() {
	w := rp.w
	l := w.src.layout()
	d := w.delay(6)
	if w.chance(faults.LateLayout, 0.15) {
		d += w.rng.Int64N(60)
	}
	w.after(d, func() {
		if rp.stopped {
			return
		}
		rp.event()
		rp.gate.Layout(l)
		rp.gated()
	})
}

func (w *World) sourceLayoutChanged() {
	for _, rp := range w.replicators {
		rp.learnSource()
	}
}

func (rp *replicator) gated() {
	rp.event()
	rp.win.SetGate(rp.gate.Open())
	rp.wake()
}

// pollGate asks for the backlogs that the gate needs, at its own pace, until the
// gate is open.
func (rp *replicator) pollGate() {
	w := rp.w
	if rp.stopped || rp.gate.Open() {
		return
	}
	for _, id := range rp.gate.Ask(nil) {
		rp.event()
		if !rp.asked[id] {
			rp.askBacklog(id)
		}
	}
	w.after(3+w.rng.Int64N(6), rp.pollGate)
}

// askBacklog reads first whether the ancestor is sealed, then its backlog, and
// answers later. A stale reading is one from before the seal: it proves nothing.
func (rp *replicator) askBacklog(id uint64) {
	w := rp.w
	rp.asked[id] = true
	a := w.segment(id)
	if w.chance(faults.StaleBacklog, 0.1) {
		w.after(w.delay(10), func() {
			if rp.stopped {
				return
			}
			rp.asked[id] = false
			rp.event()
			rp.gate.Backlog(id, false, 0, true) // it was empty once, before the seal
			rp.gated()
		})
		return
	}
	sealed := a.sealed && a.published
	w.after(w.delay(6), func() {
		if rp.stopped {
			return
		}
		backlog, found := int64(a.backlog(rp.r)), !a.pruned && w.rng.IntN(12) > 0
		if w.opt.pass {
			if o := w.running(a, rp.r); o != nil {
				o.drain(true) // what is parked is told first
				backlog -= int64(o.win.Status().PassedN)
			}
		}
		w.after(w.delay(4), func() {
			if rp.stopped {
				return
			}
			rp.asked[id] = false
			rp.event()
			rp.gate.Backlog(id, sealed, backlog, found)
			rp.gated()
		})
	})
}
