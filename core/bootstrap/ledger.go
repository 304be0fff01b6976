// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"

	"georep/core/entry"
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

// Ledger is one ledger of a segment's managed ledger, from its metadata in the
// store: never from counters in memory, which a new owner does not have.
type Ledger struct {
	ID          int64
	Entries     int64 // 0 for an empty one; of the open one, what is known
	Bytes       int64
	Offload     Offload
	Deleted     bool // bookkeeper does not have it any more
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
}

// check finds what cannot be; errors name the ledger.
func (l Log) check() error {
	for i, g := range l.Ledgers {
		switch {
		case i > 0 && g.ID <= l.Ledgers[i-1].ID:
			return fmt.Errorf("%w: ledger %d follows %d", ErrLedgers, g.ID, l.Ledgers[i-1].ID)
		case g.Open && i != len(l.Ledgers)-1:
			return fmt.Errorf("%w: ledger %d is open and not the last", ErrLedgers, g.ID)
		case g.Offload < None || g.Offload > Unreadable:
			return fmt.Errorf("%w: ledger %d: offload %d", ErrLedgers, g.ID, g.Offload)
		case g.Entries < 0 || g.Bytes < 0:
			return fmt.Errorf("%w: ledger %d: %d entries, %d bytes", ErrLedgers, g.ID, g.Entries, g.Bytes)
		}
	}
	return nil
}

// facts maps the ledgers to offsets: offset i is the first entry of ledger i, the
// log end is behind the last.
func (l Log) facts() Facts {
	f := Facts{Enabled: true, Compacted: l.Compacted, LogEnd: int64(len(l.Ledgers)), Pending: int64(len(l.Ledgers))}
	empty := true
	for i, g := range l.Ledgers {
		empty = empty && g.Entries == 0 && !g.Open
		if g.Deleted {
			f.LocalStart = int64(i) + 1
		}
	}
	if empty {
		f.LogEnd = 0
	}
	for i, g := range l.Ledgers {
		if g.Open {
			f.Pending = int64(i)
			break
		}
		if g.Entries == 0 || g.Offload == Complete {
			continue
		}
		f.Pending = int64(i)
		if g.Offload == Unreadable {
			f.Pending = Unknown
		}
		break
	}
	return f
}

// first returns the position of the first entry of ledger i; behind the last one:
// the position after the log's last entry.
func (l Log) first(i int) entry.Position {
	if i < len(l.Ledgers) {
		return entry.Position{Ledger: l.Ledgers[i].ID}
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
