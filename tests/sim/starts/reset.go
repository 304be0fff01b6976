// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"strings"

	"georep/core/bootstrap"
	"georep/core/entry"
	"georep/tests/sim/check"
)

// reset is an operator who moves cursors.
func (w *World) reset(r int) {
	if w.remotes[r].reset {
		return
	}
	to := w.drawPoint()
	var selected []uint64
	for _, s := range w.segments {
		if w.rng.IntN(2) == 0 {
			selected = append(selected, s.id)
		}
	}
	known := w.facts(r)
	plan := w.planReset(to, selected, known)
	if plan == nil {
		return
	}
	if plan.Refused != "" {
		w.count("branch reset-refused")
		w.tracef("a reset is refused: %s", plan.Refused)
		if len(plan.Together) == 0 || w.rng.IntN(2) == 0 {
			return
		}
		again := w.planReset(bootstrap.Point{At: bootstrap.Earliest}, plan.Together, known)
		if again == nil || again.Refused != "" && strings.Contains(again.Refused, "being planned") {
			return
		}
		if again.Refused != "" {
			w.fail(check.StartOrder, "together %v are refused, too: %s", plan.Together, again.Refused)
			return
		}
		w.count("branch reset-together")
		plan = again
	}
	w.count("branch reset")
	w.carryOut(r, plan)
}

// planReset asks the core, and searches where it wants to; nil: an entry was not there.
func (w *World) planReset(to bootstrap.Point, selected []uint64, known []bootstrap.Segment) *bootstrap.Reset {
	for {
		w.events++
		plan, err := bootstrap.PlanReset(to, selected, known)
		if err != nil {
			w.fail(check.StartsCrashed, "reset to %v: %v", to, err)
			return nil
		}
		if plan.Refused != "" || len(plan.Searches) == 0 {
			return &plan
		}
		w.count("branch reset-searched")
		for i := range known {
			if search, ok := plan.Searches[known[i].ID]; ok {
				at, ok := w.segments[known[i].ID].find(search, to.Millis)
				if !ok {
					return nil
				}
				known[i].Found = &at
			}
		}
	}
}

// facts is what the owners know.
func (w *World) facts(r int) (known []bootstrap.Segment) {
	for _, s := range w.segments {
		k := bootstrap.Segment{ID: s.id, Parents: s.parents, Log: s.record(), Planning: true, Next: bootstrap.Nowhere}
		if c := s.cursors[r]; c != nil && c.plan != nil && c.hold == nil {
			o := s.owners[r]
			k.Planning, k.Next, k.Generation, k.Placed = false, c.next, c.generation, c.plan
			k.Published = o != nil && o.gate != nil && o.gate.Open() && w.rng.IntN(2) == 0 // some say so, some do not know
		}
		known = append(known, k)
	}
	return known
}

// carryOut stops all that are moved, and then moves one after the other.
func (w *World) carryOut(r int, plan *bootstrap.Reset) {
	w.remotes[r].reset = true
	for _, m := range plan.Moves {
		if o := w.segments[m.Segment].owners[r]; o != nil {
			o.die()
		}
	}
	w.checkReset(r, plan)
	w.moveNext(r, plan.Moves)
}

func (w *World) moveNext(r int, moves []bootstrap.Move) {
	if len(moves) == 0 {
		w.remotes[r].reset = false
		for _, s := range w.segments {
			if s.owners[r] == nil {
				s.own(r)
			}
		}
		return
	}
	m := moves[0]
	s := w.segments[m.Segment]
	c := s.cursors[r]
	w.tracef("segment %d to %s goes from %v to %v: %d again, %d skipped", s.id, w.remotes[r].name, c.next, m.Plan.Start,
		m.Again.Entries, m.Skip.Entries)
	if m.InPlace {
		w.count("branch reset-in-place")
	}
	if m.Plan.Start.Compare(s.at(c.next)) < 0 {
		w.count("branch reset-back")
	}
	s.moved(r, c.next, m.Plan.Start)
	plan := m.Plan
	c.next, c.plan, c.generation = s.at(plan.Start), &plan, m.Generation
	s.own(r)
	w.after(1+w.rng.Int64N(50), func() { w.moveNext(r, moves[1:]) })
}

// moved notes what is to be sent again, and what is not to be sent any more.
func (s *segment) moved(r int, from, to entry.Position) {
	for _, g := range s.ledgers {
		for _, e := range g.items {
			switch {
			case e.pos.Compare(to) >= 0:
				e.fate[r], e.delivered[r] = open, false
			case e.pos.Compare(from) >= 0:
				e.fate[r] = skipped
			}
		}
	}
}

// checkReset looks for what would come before an ancestor's entries that are sent again,
// and would not come again itself.
func (w *World) checkReset(r int, plan *bootstrap.Reset) {
	starts := map[uint64]entry.Position{}
	for _, m := range plan.Moves {
		starts[m.Segment] = m.Plan.Start
	}
	for _, m := range plan.Moves {
		a := w.segments[m.Segment]
		if m.Plan.Start.Compare(a.at(a.cursors[r].next)) >= 0 {
			continue
		}
		for _, s := range w.segments {
			if !a.isAbove(s) {
				continue
			}
			for _, g := range s.ledgers {
				for _, e := range g.items {
					start, moves := starts[s.id]
					if e.delivered[r] && (!moves || e.pos.Compare(start) < 0) {
						w.fail(check.StartOrder, "segment %d goes back to %v, and %v of segment %d stays before it", a.id,
							m.Plan.Start, e.pos, s.id)
					}
				}
			}
		}
	}
}
