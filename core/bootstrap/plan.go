// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"

	"georep/core/entry"
)

// MaxSkipped bounds the manifest: a plan is kept with its cursor.
const MaxSkipped = 4096

// Skipped is a ledger of which entries are not replicated, by choice.
type Skipped struct {
	Ledger      int64
	Entries     int64 // that are skipped
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
	From             int64 // time of the first skipped entry, ms; 0: not known
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

// plan lists what lies before start.
func (l Log) plan(a Action, start entry.Position) Plan {
	p := Plan{Action: a, Start: start, Horizon: Nowhere, Whole: l.Sealed}
	for _, g := range l.Ledgers {
		n, bytes := g.share(Nowhere, start)
		p.Whole = p.Whole && n == g.Entries
		if n == 0 {
			continue
		}
		if p.Entries == 0 {
			p.From = g.FirstMillis
		}
		p.Skipped = append(p.Skipped, Skipped{Ledger: g.ID, Entries: n, Bytes: bytes, Offload: g.Offload,
			Driver: g.Driver, UUID: g.UUID, FirstMillis: g.FirstMillis, LastMillis: g.LastMillis})
		p.Entries += n
		p.Bytes += bytes
		if g.Offload == Complete {
			p.OffloadedEntries, p.OffloadedBytes = p.OffloadedEntries+n, p.OffloadedBytes+bytes
		}
		p.Horizon = entry.Position{Ledger: g.ID, Entry: n - 1}
		p.To = g.LastMillis
	}
	p.Whole = p.Whole && p.Entries > 0
	if more := len(p.Skipped) - MaxSkipped; more > 0 {
		p.Omitted, p.Skipped = uint64(more), p.Skipped[more:]
	}
	return p
}

// String returns the plan in one line, for logs.
func (p Plan) String() string {
	return fmt.Sprintf("%v at %v, asked for %v by %s: %d entries, %d bytes before it", p.Action, p.Start, p.Asked,
		p.Source, p.Entries, p.Bytes)
}
