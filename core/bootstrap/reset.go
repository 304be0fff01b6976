// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"georep/core/entry"
)

// Segment is what its owner says about one remote's cursor on it.
type Segment struct {
	ID         uint64
	Parents    []uint64
	Log        Log
	Next       entry.Position // the cursor's, were nothing in flight
	Published  bool           // something of it was sent to the remote, or may be at any moment: so much its owner knows
	Generation uint64
	Found      *entry.Position // what a search has come to
	Planning   bool            // its start is still being planned
	Placed     *Plan           // what was skipped so far; nil: nothing that is known
}

// Move is what a reset does to one segment.
type Move struct {
	Segment    uint64
	Plan       Plan
	Generation uint64 // a new one: in the old one, what is sent again counts as stored already
	Read       Amount // from the start to the end
	Again      Amount // of that, what the cursor was past
	Skip       Amount // what it would have read
	InPlace    bool   // it stays where it is, and its gate begins anew
	back       bool
}

// Amount is how much data, and how many bytes of it are read from tiered storage.
type Amount struct{ Entries, Bytes, Offloaded int64 }

// Reset is what moving cursors would do.
type Reset struct {
	Refused  string            // why nothing may be done, "" where it may
	Together []uint64          // with a refusal: those that have to be reset together for the order to hold
	Searches map[uint64]Search // to be answered in Segment.Found before there is a plan
	Moves    []Move            // one after the other: ancestors come first
	Total    Move              // sums
}

// PlanReset says what moving the cursors of the selected segments (none: of all) would
// do. known are all segments of the layout.
//
// A segment that goes back is sent again from there, and everything that its descendants
// have sent already comes before that at the remote. So it is refused, unless each
// descendant that has published goes back to its first entry in the same call: its gate
// then waits for the ancestor. The gates of those that have published nothing may know of
// the ancestor that it is drained: they begin anew, which is a reset to where they are. All
// of that holds if ancestors are moved first: a new gate asks what their cursors say by then.
// Going forward breaks nothing: the ancestor is drained sooner.
//
// Errors wrap [ErrLedgers] or [ErrStart]: what is asked cannot be.
func PlanReset(to Point, selected []uint64, known []Segment) (Reset, error) {
	if err := to.check(); err != nil {
		return Reset{}, err
	}
	r := Reset{Searches: map[uint64]Search{}}
	for _, id := range selected {
		if !slices.ContainsFunc(known, func(s Segment) bool { return s.ID == id }) {
			r.Refused = fmt.Sprintf("segment %d is not in the layout", id)
			return r, nil
		}
	}
	known = slices.Clone(known)
	slices.SortFunc(known, func(a, b Segment) int { return cmp.Compare(a.ID, b.ID) })
	inside := false // the position lies in a log, or before one that goes on
	for i, s := range known {
		if i > 0 && known[i-1].ID == s.ID {
			return Reset{}, fmt.Errorf("%w: segment %d is there twice", ErrStart, s.ID)
		}
		if err := s.Log.check(); err != nil {
			return Reset{}, fmt.Errorf("segment %d: %w", s.ID, err)
		}
		s.Log = s.Log.grown(s.Next)
		s.Published = s.Published || s.sent()
		known[i] = s
		if len(selected) > 0 && !slices.Contains(selected, s.ID) {
			continue
		}
		if why := r.add(s, to); why != "" {
			r.Refused = fmt.Sprintf("segment %d: %s", s.ID, why)
			return r, nil
		}
		inside = inside || to.Position.Compare(s.Log.end()) <= 0
	}
	switch {
	case to.At == AtPosition && !inside:
		r.Refused = fmt.Sprintf("position %v is behind the end of every log", to.Position)
	case len(r.Searches) == 0:
		r.order(known)
	}
	return r, nil
}

// add takes one segment; it returns why that may not be reset.
func (r *Reset) add(s Segment, to Point) (refused string) {
	if s.Planning {
		return "its start is still being planned"
	}
	plan, search, err := Make(s.Log, Want{Choice: Choice{Start: to, Source: "operator"}, End: Nowhere, Found: s.Found})
	switch {
	case err != nil:
		return err.Error()
	case search != nil:
		r.Searches[s.ID] = *search
		return ""
	case plan.Action == Retry:
		return "which ledgers are offloaded is not known, and some are in tiered storage only"
	case plan.Action == Ordinary && s.Log.Compacted:
		return "it is compacted, and what is offloaded does not say what is left"
	}
	m := s.move(plan)
	r.Moves = append(r.Moves, m)
	r.Total.Read.add(m.Read)
	r.Total.Again.add(m.Again)
	r.Total.Skip.add(m.Skip)
	return ""
}

// sent says whether the cursor is past entries that are still there and were not skipped:
// an earlier generation has sent them, whatever the owner of this one knows.
func (s Segment) sent() bool {
	if s.Planning {
		return false
	}
	past := s.Log.amount(Nowhere, s.Log.at(s.Next)).Entries
	if s.Placed != nil {
		for _, k := range before(s.Placed.Skipped, s.Next) {
			if len(s.Log.Ledgers) > 0 && k.Ledger >= s.Log.Ledgers[0].ID {
				past -= k.Entries
			}
		}
	}
	return past > 0
}

// move is the way to where a plan begins. What the plan skips of what was replicated
// before is not left out; what was left out before and lies before it still is.
func (s Segment) move(p Plan) Move {
	next := s.Log.at(s.Next)
	again := Plan{Action: p.Action, Asked: p.Asked, Source: p.Source, Start: p.Start}
	var list []Skipped
	if o := s.Placed; o != nil {
		list = before(o.Skipped, p.Start)
		if o.Omitted > 0 && len(list) > 0 { // those lie before the first that is listed
			again.carry(o)
		}
	}
	again.skip(s.Log, append(list, s.Log.skipped(next, p.Start)...))
	return Move{Segment: s.ID, Plan: again, Generation: s.Generation + 1, back: p.Start.Compare(next) < 0,
		Read: s.Log.amount(p.Start, s.Log.end()), Again: s.Log.amount(p.Start, next), Skip: s.Log.amount(next, p.Start)}
}

func (l Log) amount(from, to entry.Position) (a Amount) {
	for _, g := range l.Ledgers {
		_, n, bytes := g.share(from, to)
		a.Entries, a.Bytes = a.Entries+n, a.Bytes+bytes
		if g.Offload == Complete {
			a.Offloaded += bytes
		}
	}
	return a
}

func (a *Amount) add(b Amount) {
	a.Entries, a.Bytes, a.Offloaded = a.Entries+b.Entries, a.Bytes+b.Bytes, a.Offloaded+b.Offloaded
}

// order refuses what would bring entries of an ancestor behind those of a descendant, and
// lets the gates below what goes back begin anew.
func (r *Reset) order(known []Segment) {
	moves := make(map[uint64]*Move, len(r.Moves))
	for i := range r.Moves {
		moves[r.Moves[i].Segment] = &r.Moves[i]
	}
	var troubles []string
	var inPlace []Move
	above := map[uint64]uint64{} // an ancestor that goes back
	for _, s := range known {    // by id, and ids rise from parents to children
		a, found := uint64(0), false
		for _, p := range s.Parents {
			if m := moves[p]; m != nil && m.back {
				a, found = p, true
			} else if up, ok := above[p]; ok && !found {
				a, found = up, true
			}
		}
		if !found {
			continue
		}
		above[s.ID] = a
		switch m := moves[s.ID]; {
		case m == nil && s.Published:
			troubles = append(troubles, fmt.Sprintf("segment %d follows %d and has published already", s.ID, a))
		case m == nil && !s.Planning:
			stay := s.move(Plan{Action: Start, Asked: Point{At: AtPosition, Position: s.Next}, Source: "operator",
				Start: s.Log.at(s.Next)})
			stay.InPlace = true
			inPlace = append(inPlace, stay)
		case m != nil && s.Published && m.Plan.Start.Compare(s.Log.first(0)) > 0:
			troubles = append(troubles, fmt.Sprintf("segment %d follows %d, has published already and would not begin at "+
				"its first entry again", s.ID, a))
		}
	}
	if len(troubles) > 0 {
		r.refuse(troubles, known)
		return
	}
	r.Moves = append(r.Moves, inPlace...)
	slices.SortFunc(r.Moves, func(a, b Move) int { return cmp.Compare(a.Segment, b.Segment) })
}

// Bounds of a refusal's text; Together has them all.
const (
	mostTroubles = 8
	mostNamed    = 50
)

// refuse names those that can be reset to earliest together.
func (r *Reset) refuse(troubles []string, known []Segment) {
	together, below := map[uint64]bool{}, map[uint64]bool{}
	for _, m := range r.Moves {
		together[m.Segment] = true
	}
	var ids []string
	for _, s := range known { // by id
		below[s.ID] = slices.ContainsFunc(s.Parents, func(p uint64) bool { return together[p] || below[p] })
		if together[s.ID] = together[s.ID] || below[s.ID] && s.Published; together[s.ID] {
			r.Together = append(r.Together, s.ID)
			ids = append(ids, fmt.Sprint(s.ID))
		}
	}
	if more := len(troubles) - mostTroubles; more > 0 {
		troubles = append(troubles[:mostTroubles], fmt.Sprintf("%d more", more))
	}
	if more := len(ids) - mostNamed; more > 0 {
		ids = append(ids[:mostNamed], fmt.Sprintf("%d more", more))
	}
	r.Refused = fmt.Sprintf("%s: reset segments %s together, each that follows another to earliest",
		strings.Join(troubles, "; "), strings.Join(ids, ", "))
}
