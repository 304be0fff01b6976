// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"reflect"
	"slices"

	"georep/core/placement"
	"georep/core/window"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// minEvents is how long every run lasts at least before it drains.
const minEvents = 2000

// maxDrain bounds the quiet end, in simulated ms: everything must be through.
const maxDrain = 60_000

// Result is what one run did and found.
type Result struct {
	Seed      uint64
	Events    uint64
	Faults    [faults.Kinds]uint64
	Branches  []Branch
	Stats     check.Stats
	Violation *check.Violation // nil = none
}

// Run plays the run to its end or to the first violation.
func (w *World) Run() Result {
	for w.chk.First() == nil && (w.published() < w.opt.entries || w.events < minEvents) && w.next() {
	}
	if w.chk.First() == nil {
		w.settle()
	}
	for _, rp := range w.replicators {
		w.absorb(rp.win.Counters())
	}
	return w.result()
}

// Crashed returns the result of a run that a machine ended with a panic.
func (w *World) Crashed(text string) Result {
	w.chk.Fail(check.Contract, 0, "%s", text)
	return w.result()
}

func (w *World) result() Result {
	return Result{Seed: w.Seed, Events: w.events, Faults: w.plan.Count, Branches: w.branches(), Stats: w.chk.Stats, Violation: w.chk.First()}
}

// settle stops all faults and lets everything drain.
func (w *World) settle() {
	w.calm = true
	w.tracef("calm")
	for i := range w.openUnits {
		w.openUnits[i].unit.Open = false
	}
	for _, r := range w.remotes {
		r.comeBack()
	}
	for _, rp := range w.replicators {
		rp.pause(false)
		rp.hazard = false
	}
	w.operator()
	end := w.now + maxDrain
	for w.chk.First() == nil && !w.drained() {
		if w.now > end || !w.next() {
			w.stuck()
			return
		}
	}
	if w.chk.First() != nil {
		return
	}
	for _, r := range w.remotes {
		l := w.chk.Life(r.name, r.generation)
		for _, s := range w.segments {
			if !s.pruned {
				w.chk.Finish(l, s.log)
			}
		}
	}
	w.emptyHanded()
}

// operator looks in now and then and skips what is parked.
func (w *World) operator() {
	for _, rp := range slices.Clone(w.replicators) {
		for rp.skipOne() {
		}
	}
	w.after(50, w.operator)
}

func (w *World) drained() bool {
	for _, s := range w.segments {
		if s.pruned {
			continue
		}
		for _, r := range w.remotes {
			if s.backlog(r) > 0 {
				return false
			}
		}
	}
	return true
}

// emptyHanded checks that nothing is held once everything is through.
func (w *World) emptyHanded() {
	for range 2000 { // answers that are still on their way
		if !w.next() || w.chk.First() != nil {
			break
		}
	}
	for _, rp := range w.replicators {
		if rp.win.NeedsTick() {
			w.chk.Fail(check.Contract, rp.seg.info.ID, "drained, and owner %d still wants to be woken: %+v", rp.id, rp.win.Status())
		}
		if st := rp.win.Status(); len(rp.lent) > 0 || st.InFlight > 0 || st.Entries > 0 || st.HeldBytes != 0 {
			w.chk.Fail(check.Contract, rp.seg.info.ID, "drained, and owner %d still holds %d entries: %+v", rp.id, len(rp.lent), st)
		}
	}
	w.bank.watch.Finish(w.bank.b.Stats())
}

// stuck says what does not move.
func (w *World) stuck() {
	for _, s := range w.segments {
		if s.pruned {
			continue
		}
		for _, r := range w.remotes {
			if s.backlog(r) == 0 {
				continue
			}
			text := "no owner"
			if rp := w.running(s, r); rp != nil {
				text = fmt.Sprintf("owner %d: gate open %v asks %v, %+v", rp.id, rp.gate.Open(), rp.gate.Ask(nil), rp.win.Status())
			}
			w.chk.Fail(check.Liveness, s.info.ID, "%d of %d entries never reach %s; %s", s.backlog(r), len(s.log), r.name, text)
			return
		}
	}
}

// Branch is a decision branch of the machines and how often it was taken.
type Branch struct {
	Name  string
	Count uint64
}

func (w *World) branches() (out []Branch) {
	for a := placement.Verbatim; a <= placement.Rebatch; a++ {
		out = append(out, Branch{"path " + a.String(), w.sentBy[a]})
	}
	v := reflect.ValueOf(w.totals)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Uint64 {
			out = append(out, Branch{"window " + v.Type().Field(i).Name, v.Field(i).Uint()})
		}
	}
	for _, r := range placement.Reasons() {
		out = append(out, Branch{"reason " + r.String(), w.sentFor[r] + w.parkedBy[r] + w.totals.DroppedBy[r]})
	}
	s := w.chk.Stats
	return append(out, Branch{"duplicate allowed: pruned", s.AllowedPruned}, Branch{"duplicate allowed: cut cap", s.AllowedCut},
		Branch{"duplicate allowed: chunk", s.AllowedChunks})
}

func addCounters(sum, c *window.Counters) {
	a, b := reflect.ValueOf(sum).Elem(), reflect.ValueOf(c).Elem()
	for i := range a.NumField() {
		switch f := a.Field(i); f.Kind() {
		case reflect.Uint64:
			f.SetUint(f.Uint() + b.Field(i).Uint())
		case reflect.Array:
			for k := range f.Len() {
				f.Index(k).SetUint(f.Index(k).Uint() + b.Field(i).Index(k).Uint())
			}
		}
	}
}

// Rare says whether a branch need not be met: reasons that a driver alone can
// cause, or that name no decision of these machines.
func Rare(name string) bool {
	switch name {
	case "duplicate allowed: cut cap", "reason ok", "reason no-destination", "reason legacy-destination":
		return true
	}
	return false
}
