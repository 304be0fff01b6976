// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"slices"

	"georep/core/bootstrap"
	"georep/core/entry"
)

// fate is what has become of an entry at one remote, but for what was delivered.
type fate uint8

const (
	open    fate = iota // to be delivered
	skipped             // left out by choice
	gone                // taken away: trimmed before there was a hold, or evicted
)

// item is an entry of a source segment.
type item struct {
	pos       entry.Position
	millis    int64 // of publishing
	fate      []fate
	delivered []bool
}

// ledger is what it really is.
type ledger struct {
	id      int64
	items   []*item
	state   bootstrap.Offload // None, Incomplete, Complete
	deleted bool              // from bookkeeper
	open    bool
	closed  int64 // when
	blind   int64 // until when its offload cannot be read
	unsure  bool  // nor whether bookkeeper has it
}

// segment is one of the source cluster.
type segment struct {
	w         *World
	id        uint64
	start     uint16
	end       uint16
	parents   []uint64
	children  []uint64
	created   uint64 // layout epoch
	sealed    bool
	compacted bool
	ledgers   []*ledger // what is left
	all       []*item   // ever written
	cursors   []*cursor // by remote; nil: there is none yet
	owners    []*owner  // by remote; nil: there is none now
}

func (s *segment) last() *ledger { return s.ledgers[len(s.ledgers)-1] }

// roll closes the open ledger and begins another.
func (s *segment) roll() {
	s.close()
	s.w.ledgers++
	s.ledgers = append(s.ledgers, &ledger{id: s.w.ledgers, state: bootstrap.None, open: true})
}

func (s *segment) close() {
	if n := len(s.ledgers); n > 0 && s.last().open {
		s.last().open, s.last().closed = false, s.w.now
	}
}

func (s *segment) write() {
	g := s.last()
	e := &item{pos: entry.Position{Ledger: g.id, Entry: int64(len(g.items))}, millis: s.w.now,
		fate: make([]fate, len(s.w.remotes)), delivered: make([]bool, len(s.w.remotes))}
	g.items, s.all = append(g.items, e), append(s.all, e)
}

// first returns the position of the log's first entry, or of where it will be.
func (s *segment) first() entry.Position { return s.at(entry.Position{}) }

// at returns p, or where there is no such entry the next one, or the end.
func (s *segment) at(p entry.Position) entry.Position {
	for _, g := range s.ledgers {
		if g.id == p.Ledger && p.Entry < int64(len(g.items)) {
			return p
		}
		if g.id > p.Ledger && len(g.items) > 0 {
			return entry.Position{Ledger: g.id}
		}
	}
	return s.tail()
}

// tail returns the position behind the last entry.
func (s *segment) tail() entry.Position {
	return entry.Position{Ledger: s.last().id, Entry: int64(len(s.last().items))}
}

// item returns the entry at a position, nil where there is none.
func (s *segment) item(p entry.Position) *item {
	i := slices.IndexFunc(s.ledgers, func(g *ledger) bool { return g.id == p.Ledger })
	if i < 0 || p.Entry >= int64(len(s.ledgers[i].items)) {
		return nil
	}
	return s.ledgers[i].items[p.Entry]
}

// behind counts what lies between a cursor and the end.
func (s *segment) behind(p entry.Position) (n int64) {
	for _, g := range s.ledgers {
		switch {
		case g.id > p.Ledger:
			n += int64(len(g.items))
		case g.id == p.Ledger:
			n += max(0, int64(len(g.items))-p.Entry)
		}
	}
	return n
}

// trim takes the first ledger away where no cursor needs it.
func (s *segment) trim() {
	g := s.ledgers[0]
	if g.open || len(s.ledgers) == 1 {
		return
	}
	for _, c := range s.cursors {
		if c != nil && c.next.Compare(entry.Position{Ledger: g.id, Entry: int64(len(g.items))}) < 0 {
			return
		}
	}
	s.drop()
}

// drop takes the first ledger away, and with it what remotes have not got, now or later.
func (s *segment) drop() {
	for _, e := range s.ledgers[0].items {
		for r := range e.fate {
			if e.fate[r] == open && !e.delivered[r] {
				e.fate[r] = gone
			}
		}
	}
	s.ledgers = s.ledgers[1:]
	s.w.count("branch trimmed")
}

// evict is a quota that does not ask the cursors.
func (s *segment) evict() bool {
	g := s.ledgers[0]
	if g.open || len(s.ledgers) == 1 {
		return false
	}
	for _, c := range s.cursors {
		if c != nil && c.next.Ledger <= g.id {
			c.next = entry.Position{Ledger: s.ledgers[1].id}
		}
	}
	s.drop()
	return true
}

// offload moves closed ledgers on: begun, complete, deleted from bookkeeper.
func (s *segment) offload() {
	w := s.w
	for _, g := range s.ledgers {
		switch {
		case g.open || w.rng.IntN(3) > 0:
		case g.state == bootstrap.None:
			if w.rng.IntN(5) > 0 { // the others stay holes for a while
				g.state = bootstrap.Incomplete
			}
		case g.state == bootstrap.Incomplete:
			g.state = bootstrap.Complete
			w.count("branch offloaded")
		case !g.deleted && w.rng.IntN(2) == 0:
			g.deleted = true
			w.count("branch deleted")
		}
	}
}

// snapshot is what the ledgers really are now.
func (s *segment) snapshot() []ledger {
	out := make([]ledger, 0, len(s.ledgers))
	for _, g := range s.ledgers {
		out = append(out, *g)
	}
	return out
}

// decide notes what a plan leaves out of what was there when it was made.
func (s *segment) decide(r int, seen []ledger, p *bootstrap.Plan) {
	if seen == nil {
		return
	}
	for _, e := range s.all {
		if e.fate[r] == skipped {
			e.fate[r] = open
		}
	}
	for _, g := range seen {
		for _, e := range g.items {
			if e.pos.Compare(p.Start) < 0 { // also what was evicted since: it was not wanted before
				e.fate[r] = skipped
			}
		}
	}
}

// record is what the store says of the ledgers now.
func (s *segment) record() bootstrap.Log {
	l := bootstrap.Log{Compacted: s.compacted, Sealed: s.sealed}
	for _, g := range s.ledgers {
		out := bootstrap.Ledger{ID: g.id, Entries: int64(len(g.items)), Bytes: 10 * int64(len(g.items)), Offload: g.state,
			Bookies: bootstrap.Present, Open: g.open, LastMillis: g.closed, Driver: "sim", UUID: "u"}
		if g.open && s.w.rng.IntN(3) == 0 {
			out.Entries, out.Bytes = 0, 0 // as the store has it until it is closed
		}
		if g.deleted {
			out.Bookies = bootstrap.Deleted
		}
		if g.blind > s.w.now && !s.w.calm {
			out.Offload = bootstrap.Unreadable
			if g.unsure {
				out.Bookies = bootstrap.Unsure
			}
		}
		l.Ledgers = append(l.Ledgers, out)
	}
	return l
}
