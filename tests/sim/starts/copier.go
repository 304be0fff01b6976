// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"fmt"

	"georep/core/entry"
	"georep/core/window"
	"georep/tests/sim/check"
)

// begin starts replication: the gate first.
func (o *owner) begin() {
	c := o.s.cursors[o.r]
	if c == nil || c.hold != nil || c.plan == nil {
		o.w.fail(check.UnknownStart, "%s begins without a plan", o)
		return
	}
	o.gate = window.NewGate(o.s.id)
	o.copy()
}

// copy asks for the ancestors' backlogs, then delivers some entries, again and again.
func (o *owner) copy() {
	w := o.w
	if !o.gate.Open() {
		o.gate.Layout(w.layout())
		w.events++
		for _, id := range o.gate.Ask(nil) {
			w.events++
			o.ask(w.segments[id])
		}
	}
	c := o.s.cursors[o.r]
	for n := w.rng.IntN(12); n > 0 && o.gate.Open(); n-- {
		at := o.s.at(c.next)
		e := o.s.item(at)
		if e == nil {
			break
		}
		o.deliver(c, e)
		c.next = entry.Position{Ledger: at.Ledger, Entry: at.Entry + 1}
	}
	o.later(400, o.copy)
}

// ask reads an ancestor's backlog now and tells it a little later.
func (o *owner) ask(a *segment) {
	sealed, c := a.sealed, a.cursors[o.r]
	backlog := int64(0)
	if c != nil {
		backlog = a.behind(c.next)
	}
	found := c != nil && c.hold == nil // of one whose start is being planned, nothing is known
	o.later(30, func() {
		o.w.events++
		o.gate.Backlog(a.id, sealed, backlog, found)
	})
}

func (o *owner) deliver(c *cursor, e *item) {
	w := o.w
	for _, a := range w.segments {
		if !a.isAbove(o.s) {
			continue
		}
		ac := a.cursors[o.r]
		if ac == nil || ac.hold != nil || !a.sealed || a.behind(ac.next) > 0 {
			w.fail(check.StartOrder, "%s sends %v while its ancestor %d is not drained", o, e.pos, a.id)
			return
		}
		if ac.plan.Whole && !c.published {
			w.count("branch child-of-skipped")
		}
	}
	if e.fate[o.r] == skipped {
		w.fail(check.UnknownStart, "%s sends %v, which was skipped", o, e.pos)
	}
	e.delivered[o.r], c.published = true, true
}

// isAbove says whether the segment is an ancestor of another.
func (s *segment) isAbove(o *segment) bool {
	for _, p := range o.parents {
		if p == s.id || s.isAbove(s.w.segments[p]) {
			return true
		}
	}
	return false
}

// String names the segment and the remote.
func (o *owner) String() string {
	return fmt.Sprintf("segment %d to %s", o.s.id, o.w.remotes[o.r].name)
}

// tally counts what the planner came by, once.
func (o *owner) tally() {
	if o.counted {
		return
	}
	o.counted = true
	n := o.p.Counts()
	for name, k := range map[string]uint64{"unknown": n.Unknown, "failed": n.Failed, "resumed": n.Resumed,
		"bounded": n.Bounded, "younger": n.Younger, "searched": n.Searched, "refused": n.Refused} {
		if k > 0 {
			o.w.counts["branch "+name] += k
		}
	}
}
