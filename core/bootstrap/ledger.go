// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"georep/core/entry"
	"georep/core/internal/mutant"
)

// ErrLedgers marks a list of ledgers that no managed ledger has.
var ErrLedgers = errors.New("bootstrap: bad ledgers")

// Offload is what a ledger's metadata says of its copy in tiered storage.
type Offload uint8

// States of an offload.
const (
	None       Offload = 1 // not begun
	Incomplete Offload = 2 // begun, no complete copy
	Complete   Offload = 3
	Unreadable Offload = 4 // the metadata could not be read
)

// Bookies says whether bookkeeper still has a ledger.
type Bookies uint8

// Copies in bookkeeper.
const (
	Unsure  Bookies = 0 // it may be gone
	Present Bookies = 1
	Deleted Bookies = 2
)

// Ledger is one ledger of a segment's managed ledger, from its metadata in the
// store: never from counters in memory, which a new owner does not have.
type Ledger struct {
	ID          int64
	Entries     int64 // 0 for an empty one; of the open one, what is known
	Bytes       int64
	Offload     Offload
	Bookies     Bookies
	Open        bool // the last one, of a segment that is not sealed
	Driver      string
	UUID        string
	FirstMillis int64 // time of its first entry, 0 where it is not known
	LastMillis  int64 // of its last, or of its closing
}

// Log is the list in order, as it is now.
type Log struct {
	Ledgers   []Ledger
	Compacted bool
	Sealed    bool // nothing is added any more
}

// check finds what cannot be; errors name the ledger.
func (l Log) check() error {
	for i, g := range l.Ledgers {
		switch {
		case g.ID < 0:
			return fmt.Errorf("%w: ledger %d", ErrLedgers, g.ID)
		case i > 0 && g.ID <= l.Ledgers[i-1].ID:
			return fmt.Errorf("%w: ledger %d follows %d", ErrLedgers, g.ID, l.Ledgers[i-1].ID)
		case g.Open && i != len(l.Ledgers)-1:
			return fmt.Errorf("%w: ledger %d is open and not the last", ErrLedgers, g.ID)
		case g.Open && l.Sealed:
			return fmt.Errorf("%w: ledger %d is open, and the log is sealed", ErrLedgers, g.ID)
		case g.Offload < None || g.Offload > Unreadable:
			return fmt.Errorf("%w: ledger %d: offload %d", ErrLedgers, g.ID, g.Offload)
		case g.Bookies > Deleted:
			return fmt.Errorf("%w: ledger %d: bookies %d", ErrLedgers, g.ID, g.Bookies)
		case g.Entries < 0 || g.Bytes < 0:
			return fmt.Errorf("%w: ledger %d: %d entries, %d bytes", ErrLedgers, g.ID, g.Entries, g.Bytes)
		}
	}
	return nil
}

// facts maps the ledgers to offsets: offset i is the first entry of ledger i, the
// log end is behind the last. A ledger that bookkeeper may not have any more counts as
// one that it does not have.
func (l Log) facts() Facts {
	f := Facts{Enabled: true, Compacted: l.Compacted, Pending: l.pending()}
	for i, g := range l.Ledgers {
		if g.Entries > 0 {
			f.LogEnd = int64(len(l.Ledgers))
		}
		if g.Bookies == Deleted || g.Bookies == Unsure && g.Offload == Unreadable {
			f.LocalStart = int64(i) + 1
		}
	}
	return f
}

// pending returns the index of the first ledger that has entries and no complete
// copy in tiered storage, else that of the open one, else what lies behind the last.
func (l Log) pending() int64 {
	unknown := Unknown
	switch {
	case mutant.On(mutant.UnknownIsZero):
		unknown = 0
	case mutant.On(mutant.UnknownIsLatest):
		unknown = int64(len(l.Ledgers))
	case mutant.On(mutant.HoleSkipped):
		for i := len(l.Ledgers) - 1; i >= 0; i-- {
			if l.Ledgers[i].Offload == Complete {
				return int64(i) + 1
			}
		}
	}
	for i, g := range l.Ledgers {
		switch {
		case g.Open:
			return int64(i)
		case g.Entries == 0 || g.Offload == Complete:
		case g.Offload == Unreadable:
			return unknown
		default:
			return int64(i)
		}
	}
	return int64(len(l.Ledgers))
}

// grown returns the log with what is known to be stored up to end: the store's record
// of an open ledger does not count its entries.
func (l Log) grown(end entry.Position) Log {
	if n := len(l.Ledgers); n > 0 && l.Ledgers[n-1].Open && l.Ledgers[n-1].ID == end.Ledger &&
		l.Ledgers[n-1].Entries < end.Entry {
		l.Ledgers = slices.Clone(l.Ledgers)
		l.Ledgers[n-1].Entries = end.Entry
	}
	return l
}

// at returns p, or where there is no such entry the next one; behind the last one:
// the position after the log's last entry.
func (l Log) at(p entry.Position) entry.Position {
	for _, g := range l.Ledgers {
		switch {
		case g.ID == p.Ledger && p.Entry < g.Entries:
			return p
		case g.ID > p.Ledger && g.Entries > 0:
			return entry.Position{Ledger: g.ID}
		}
	}
	return l.end()
}

// first returns the position of the first entry of ledger i and those after it.
func (l Log) first(i int) entry.Position {
	if i < len(l.Ledgers) {
		return l.at(entry.Position{Ledger: l.Ledgers[i].ID})
	}
	return l.end()
}

// end returns the position after the last entry that is known.
func (l Log) end() entry.Position {
	if len(l.Ledgers) == 0 {
		return entry.Position{}
	}
	last := l.Ledgers[len(l.Ledgers)-1]
	return entry.Position{Ledger: last.ID, Entry: last.Entries}
}

// Search is a range of one ledger in which an entry's time has to be found.
type Search struct {
	First, Last entry.Position
}

// timed returns where the entries of a time begin, or what has to be searched first. The
// ledger's own time, of its closing, says which one it is; found is what an earlier search
// has come to: an entry, or behind the last one of its ledger.
func (l Log) timed(millis int64, found *entry.Position) (entry.Position, *Search) {
	for _, g := range l.Ledgers {
		switch {
		case g.Entries == 0 || g.LastMillis > 0 && g.LastMillis < millis:
		case found != nil && g.ID < found.Ledger:
		case found != nil && g.ID == found.Ledger:
			if found.Entry < g.Entries {
				return *found, nil
			}
		case g.FirstMillis >= millis && g.FirstMillis > 0:
			return entry.Position{Ledger: g.ID}, nil
		default:
			return entry.Position{}, &Search{First: entry.Position{Ledger: g.ID},
				Last: entry.Position{Ledger: g.ID, Entry: g.Entries - 1}}
		}
	}
	return l.end(), nil
}

// share returns the ledger's entries between two positions, and their part of its bytes.
func (g Ledger) share(from, to entry.Position) (first, n, bytes int64) {
	lo, hi := int64(0), g.Entries
	if from.Ledger > g.ID {
		lo = g.Entries
	} else if from.Ledger == g.ID {
		lo = min(from.Entry, g.Entries)
	}
	if to.Ledger < g.ID {
		hi = 0
	} else if to.Ledger == g.ID {
		hi = min(to.Entry, g.Entries)
	}
	if hi <= lo {
		return 0, 0, 0
	}
	return lo, hi - lo, part(g.Bytes, hi-lo, g.Entries)
}

// part returns n of all's share of bytes; n is not above all.
func part(bytes, n, all int64) int64 {
	up, low := bits.Mul64(uint64(bytes), uint64(n))
	q, _ := bits.Div64(up, low, uint64(all)) // no overflow
	return int64(q)
}
