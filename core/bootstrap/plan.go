// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"fmt"

	"georep/core/entry"
)

// MaxSkipped bounds the manifest: a plan is kept with its cursor.
const MaxSkipped = 4096

// Skipped are entries of one ledger that are not replicated, by choice.
type Skipped struct {
	Ledger      int64
	First       int64 // the first of them
	Entries     int64
	Bytes       int64 // of those; a share of the ledger's where it is skipped in part
	Offload     Offload
	Driver      string
	UUID        string
	FirstMillis int64
	LastMillis  int64
}

// Plan is where a cursor starts, and what that leaves out. It is durable with the
// segment and shown in status.
type Plan struct {
	Action           Action
	Asked            Point
	Source           string         // who asked
	Start            entry.Position // the first entry that is replicated
	Horizon          entry.Position // the last position that is skipped, [Nowhere] where nothing is
	Skipped          []Skipped      // at most MaxSkipped, the last ones
	Omitted          uint64         // ledgers before those; the sums count them
	Entries          int64          // skipped in all
	Bytes            int64
	OffloadedEntries int64 // of those, with a copy in tiered storage
	OffloadedBytes   int64
	From             int64 // time of the first skipped entry, or of its ledger's closing, ms; 0: not known
	To               int64 // of the last
	Whole            bool  // the segment is sealed and everything is skipped: it is drained
	Millis           int64 // when it was made
	Bounded          bool  // more would be skipped, had it not been written after planning began
}

// Nowhere is before every position.
var Nowhere = entry.Position{Ledger: -1, Entry: -1}

// Want is what is asked of a log.
type Want struct {
	Choice
	// End is the position behind the log's last entry when planning began: nothing from
	// there on is skipped. [Nowhere] where it is not known.
	End entry.Position
	// Found is what the last search has come to; nil: nothing was searched.
	Found *entry.Position
}

// Make returns the plan for a remote without a position: one to start with, one whose
// Action is Retry, or what has to be searched before. Errors wrap [ErrLedgers] or [ErrStart].
func Make(l Log, w Want) (Plan, *Search, error) {
	if err := l.check(); err != nil {
		return Plan{}, nil, err
	}
	if err := w.Start.check(); err != nil {
		return Plan{}, nil, err
	}
	l = l.grown(w.End)
	action, start, search := l.start(w)
	if search != nil || action == Retry {
		return Plan{Action: action, Asked: w.Start, Source: w.Source}, search, nil
	}
	bounded := w.End != Nowhere && w.End.Compare(start) < 0 && l.at(w.End) != l.at(start)
	if bounded {
		start = w.End
	}
	p := l.plan(action, l.at(start))
	p.Asked, p.Source, p.Bounded = w.Start, w.Source, bounded
	return p, nil, nil
}

// start returns where the log begins to be replicated, but for the bound on it.
func (l Log) start(w Want) (Action, entry.Position, *Search) {
	switch w.Start.At {
	case Earliest:
		return Start, l.first(0), nil
	case AtTime:
		at, search := l.timed(w.Start.Millis, w.Found)
		return Start, at, search
	case AtPosition:
		// a cut through all segments of a topic: ledger ids rise with time, so a log that ends
		// before it is skipped as a whole, and of one that begins behind it nothing is
		if w.Start.Position.Compare(l.first(0)) < 0 {
			return StartAllKept, l.first(0), nil
		}
		return Start, w.Start.Position, nil
	case EarliestNotOffloaded:
		d := Decide(l.facts())
		switch {
		case d.Action == Start || d.Action == StartAllKept:
			return d.Action, l.first(int(d.At)), nil
		case d.Action == Ordinary && w.Ordinary == Earliest:
			return Ordinary, l.first(0), nil
		case d.Action == Ordinary:
			return Ordinary, l.end(), nil
		}
		return d.Action, entry.Position{}, nil
	}
	return Start, l.end(), nil // Latest
}

// plan is of a log of which nothing before start was ever replicated.
func (l Log) plan(a Action, start entry.Position) Plan {
	p := Plan{Action: a, Start: start}
	p.skip(l, l.skipped(Nowhere, start))
	return p
}

// skipped lists the entries from one position to the one before another.
func (l Log) skipped(from, to entry.Position) (out []Skipped) {
	for _, g := range l.Ledgers {
		if first, n, bytes := g.share(from, to); n > 0 {
			out = append(out, Skipped{Ledger: g.ID, First: first, Entries: n, Bytes: bytes, Offload: g.Offload,
				Driver: g.Driver, UUID: g.UUID, FirstMillis: g.FirstMillis, LastMillis: g.LastMillis})
		}
	}
	return out
}

// before returns those of a list, in order, that lie before a position.
func before(list []Skipped, p entry.Position) (out []Skipped) {
	for _, s := range list {
		switch {
		case s.Ledger > p.Ledger || s.Ledger == p.Ledger && s.First >= p.Entry:
			return out
		case s.Ledger == p.Ledger && s.First+s.Entries > p.Entry:
			n := p.Entry - s.First
			s.Bytes, s.Entries = part(s.Bytes, n, s.Entries), n
		}
		out = append(out, s)
	}
	return out
}

// carry takes over what an earlier plan skipped and does not list.
func (p *Plan) carry(o *Plan) {
	p.Omitted, p.Entries, p.Bytes = o.Omitted, o.Entries, o.Bytes
	p.OffloadedEntries, p.OffloadedBytes = o.OffloadedEntries, o.OffloadedBytes
	for _, s := range o.Skipped {
		p.Entries, p.Bytes = p.Entries-s.Entries, p.Bytes-s.Bytes
		if s.Offload == Complete {
			p.OffloadedEntries, p.OffloadedBytes = p.OffloadedEntries-s.Entries, p.OffloadedBytes-s.Bytes
		}
	}
	p.From = o.From
}

// skip takes the list of what is skipped, and adds it up.
func (p *Plan) skip(l Log, list []Skipped) {
	p.Horizon, p.Whole = Nowhere, l.Sealed && len(list) > 0
	for i, s := range list {
		if i == 0 && p.Omitted == 0 {
			p.From = cmp.Or(s.FirstMillis, s.LastMillis)
		}
		p.Entries, p.Bytes = p.Entries+s.Entries, p.Bytes+s.Bytes
		if s.Offload == Complete {
			p.OffloadedEntries, p.OffloadedBytes = p.OffloadedEntries+s.Entries, p.OffloadedBytes+s.Bytes
		}
		p.Horizon = entry.Position{Ledger: s.Ledger, Entry: s.First + s.Entries - 1}
		p.To = s.LastMillis
	}
	of := make(map[int64]int64, len(list)) // a ledger may be skipped in two pieces
	for _, s := range list {
		of[s.Ledger] += s.Entries
	}
	for _, g := range l.Ledgers {
		p.Whole = p.Whole && of[g.ID] >= g.Entries
	}
	if more := len(list) - MaxSkipped; more > 0 {
		p.Omitted, list = p.Omitted+uint64(more), list[more:]
	}
	p.Skipped = list
}

// String returns the plan in one line, for logs.
func (p Plan) String() string {
	return fmt.Sprintf("%v at %v, asked for %v by %s: %d entries, %d bytes before it", p.Action, p.Start, p.Asked,
		p.Source, p.Entries, p.Bytes)
}
