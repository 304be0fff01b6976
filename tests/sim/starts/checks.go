// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"fmt"

	"georep/core/bootstrap"
	"georep/core/entry"
	"georep/tests/sim/check"
)

// checkPlan holds a plan against the ledgers as they really were when it was made.
func (o *owner) checkPlan(p *bootstrap.Plan) {
	w := o.w
	end := o.s.cursors[o.r].hold.End
	younger := o.s.created > w.remotes[o.r].epoch
	n, horizon, first, deleted := int64(0), bootstrap.Nowhere, true, false
	for _, g := range o.seen {
		deleted = deleted || g.deleted
	}
	if p.Asked.At == bootstrap.EarliestNotOffloaded && p.Action != bootstrap.Ordinary && deleted && o.unknown() {
		w.fail(check.UnknownStart, "%s: %v, and what is offloaded was not known", o, p)
	}
	for _, g := range o.seen {
		for _, e := range g.items {
			switch {
			case e.pos.Compare(p.Start) >= 0:
				if first {
					o.checkKept(p, &g, e, end)
				}
				first = false
			case younger:
				w.fail(check.UnknownStart, "%s skips %v, which continues what is replicated", o, e.pos)
			case e.pos.Compare(end) >= 0:
				w.fail(check.UnknownStart, "%s skips %v, which was written after planning began at %v", o, e.pos, end)
			case !o.maySkip(p, &g, e):
				w.fail(check.UnknownStart, "%s: %v skips %v of ledger %d (%s)", o, p, e.pos, g.id, g.text())
			default:
				n++
				horizon = e.pos
			}
		}
	}
	if p.Entries != n || p.Horizon != horizon || p.Bytes > 10*n || p.Whole != (n > 0 && first && o.s.wasSealed(o.read)) {
		w.fail(check.SkipCounted, "%s: %v, horizon %v, whole %v; %d entries up to %v are skipped", o, p, p.Horizon,
			p.Whole, n, horizon)
	}
	o.countPlan(p, n, deleted)
}

func (s *segment) wasSealed(l bootstrap.Log) bool { return l.Sealed }

func (g *ledger) text() string {
	return fmt.Sprintf("offload %d, deleted %v, open %v", g.state, g.deleted, g.open)
}

// maySkip says whether what was asked for leaves out an entry.
func (o *owner) maySkip(p *bootstrap.Plan, g *ledger, e *item) bool {
	switch p.Asked.At {
	case bootstrap.Latest:
		return true
	case bootstrap.AtPosition:
		return e.pos.Compare(p.Asked.Position) < 0
	case bootstrap.AtTime:
		return e.millis < p.Asked.Millis
	case bootstrap.EarliestNotOffloaded:
		if p.Action == bootstrap.Ordinary {
			return o.s.compacted && o.choice.Ordinary == bootstrap.Latest
		}
		return g.state == bootstrap.Complete && !g.open
	}
	return false
}

// checkKept says whether the first entry that is kept had to be: nothing that may be
// skipped is, but for what came later, or what nobody could know.
func (o *owner) checkKept(p *bootstrap.Plan, g *ledger, e *item, end entry.Position) {
	w := o.w
	if e.pos.Compare(end) >= 0 || o.s.created > w.remotes[o.r].epoch {
		return
	}
	if !o.maySkip(p, g, e) {
		if p.Asked.At == bootstrap.EarliestNotOffloaded && len(p.Skipped) > 0 && o.offloadedBehind(g) {
			w.count("branch hole")
		}
		return
	}
	if p.Asked.At == bootstrap.EarliestNotOffloaded && o.unknown() && p.Entries == 0 {
		return // nothing is in tiered storage alone: from the local start
	}
	w.fail(check.UnknownStart, "%s: %v keeps %v of ledger %d (%s)", o, p, e.pos, g.id, g.text())
}

// unknown says whether what was read left open which ledger is the first without a copy.
func (o *owner) unknown() bool {
	for _, g := range o.read.Ledgers {
		switch {
		case g.Open:
			return false
		case g.Entries == 0 || g.Offload == bootstrap.Complete:
		default:
			return g.Offload == bootstrap.Unreadable
		}
	}
	return false
}

func (o *owner) offloadedBehind(g *ledger) bool {
	for _, b := range o.seen {
		if b.id > g.id && b.state == bootstrap.Complete {
			return true
		}
	}
	return false
}

var startNames = map[bootstrap.StartAt]string{bootstrap.Earliest: "earliest", bootstrap.Latest: "latest",
	bootstrap.EarliestNotOffloaded: "not-offloaded", bootstrap.AtPosition: "position", bootstrap.AtTime: "time"}

func (o *owner) countPlan(p *bootstrap.Plan, n int64, deleted bool) {
	w := o.w
	w.tracef("%s: %v", o, p)
	w.count("branch start-" + startNames[p.Asked.At])
	w.count("branch action-" + p.Action.String())
	if p.Whole {
		w.count("branch whole")
	}
	if n > 0 && deleted {
		w.count("branch skipped-deleted")
	}
}

// quiet says whether every cursor stands at the end of its log.
func (w *World) quiet() bool {
	for _, s := range w.segments {
		for r := range w.remotes {
			c := s.cursors[r]
			if c == nil || c.hold != nil || c.plan == nil || s.behind(c.next) > 0 || w.remotes[r].reset {
				return false
			}
		}
	}
	return w.calm
}

// stuck names the first that does not.
func (w *World) stuck() string {
	for _, s := range w.segments {
		for r, o := range s.owners {
			if c := s.cursors[r]; c != nil && c.hold == nil && s.behind(c.next) == 0 {
				continue
			}
			if o == nil {
				return fmt.Sprintf("segment %d has no owner", s.id)
			}
			return fmt.Sprintf("%s is %v: %s", o, o.p.Status().State, o.p.Status().Why)
		}
	}
	return "a reset"
}

// checkEnd looks at what has become of every entry.
func (w *World) checkEnd() {
	for _, s := range w.segments {
		for r := range w.remotes {
			if s.owners[r] != nil {
				s.owners[r].tally()
			}
			c := s.cursors[r]
			if w.first != nil || c == nil {
				continue
			}
			n := int64(0)
			for _, e := range s.all {
				switch {
				case e.fate[r] == skipped:
					n++
				case e.fate[r] == open && !e.delivered[r]:
					w.fail(check.StartLoses, "segment %d to %s: %v is neither sent nor skipped", s.id, w.remotes[r].name, e.pos)
				}
			}
			if n != c.plan.Entries {
				w.fail(check.SkipCounted, "segment %d to %s: %d entries are skipped, %v", s.id, w.remotes[r].name, n, c.plan)
			}
		}
	}
}
