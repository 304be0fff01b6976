// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"

	"georep/core/entry"
)

// ErrStart marks a start that cannot be taken; the text says why.
var ErrStart = errors.New("bootstrap: bad start")

// StartAt is where replication of existing data shall begin.
type StartAt uint8

// Starts. A timestamp is found by the driver, and given as a position.
const (
	Earliest             StartAt = 1
	Latest               StartAt = 2
	EarliestNotOffloaded StartAt = 3
	AtPosition           StartAt = 4
)

// ParseStartAt reads what policies and commands say; "timestamp" is for the driver.
func ParseStartAt(s string) (StartAt, error) {
	switch s {
	case "earliest":
		return Earliest, nil
	case "latest":
		return Latest, nil
	case "earliestNotOffloaded":
		return EarliestNotOffloaded, nil
	case "position":
		return AtPosition, nil
	}
	return 0, fmt.Errorf("%w: %q is none of earliest, latest, earliestNotOffloaded, position", ErrStart, s)
}

// Skipped is a ledger of which entries are not replicated, by choice.
type Skipped struct {
	Ledger  int64
	Entries int64 // that are skipped
	Bytes   int64 // of those; a share of the ledger's where it is skipped in part
	Offload Offload
	Driver  string
	UUID    string
}

// Plan is where a cursor starts, and what that leaves out. It is durable with the
// segment and shown in status.
type Plan struct {
	Action  Action
	Start   entry.Position // the first entry that is replicated
	Horizon entry.Position // the last position before Start; nothing at or below it is consumed through a cursor set
	Skipped []Skipped
	Entries int64 // skipped in all
	Bytes   int64
	From    int64 // time of the first skipped entry, ms; 0: not known
	To      int64
	Whole   bool // the segment is sealed and everything is skipped: it is drained
}

// Make returns the plan for a remote without a position. at is used by AtPosition.
// Errors wrap [ErrLedgers] or [ErrStart].
func Make(l Log, s StartAt, at entry.Position) (Plan, error) {
	if err := l.check(); err != nil {
		return Plan{}, err
	}
	switch s {
	case Earliest:
		return l.plan(Start, l.first(0)), nil
	case Latest:
		return l.plan(Start, l.end()), nil
	case AtPosition:
		return l.atPosition(at)
	case EarliestNotOffloaded:
		d := Decide(l.facts())
		if d.Action != Start && d.Action != StartAllKept {
			return Plan{Action: d.Action}, nil
		}
		return l.plan(d.Action, l.first(int(d.At))), nil
	}
	return Plan{}, fmt.Errorf("%w: %d", ErrStart, s)
}

// atPosition starts at a position inside the log. Before the log: at the log's
// start, where there is nothing to skip; behind its end: refused.
func (l Log) atPosition(at entry.Position) (Plan, error) {
	if at.Compare(l.end()) > 0 {
		return Plan{}, fmt.Errorf("%w: position %v is behind the log's end %v", ErrStart, at, l.end())
	}
	if at.Compare(l.first(0)) < 0 {
		return l.plan(StartAllKept, l.first(0)), nil
	}
	return l.plan(Start, at), nil
}

// plan lists what lies before start.
func (l Log) plan(a Action, start entry.Position) Plan {
	p := Plan{Action: a, Start: start, Horizon: entry.Position{Ledger: -1, Entry: -1}, Whole: true}
	for _, g := range l.Ledgers {
		n := g.Entries
		switch {
		case g.ID > start.Ledger:
			n = 0
		case g.ID == start.Ledger:
			n = min(n, max(0, start.Entry))
		}
		if n < g.Entries || g.Open {
			p.Whole = false
		}
		if n == 0 {
			continue
		}
		bytes := g.Bytes
		if n < g.Entries {
			bytes = int64(float64(g.Bytes) / float64(g.Entries) * float64(n))
		}
		p.Skipped = append(p.Skipped, Skipped{Ledger: g.ID, Entries: n, Bytes: bytes, Offload: g.Offload,
			Driver: g.Driver, UUID: g.UUID})
		p.Entries += n
		p.Bytes += bytes
		p.Horizon = entry.Position{Ledger: g.ID, Entry: n - 1}
		if p.From == 0 {
			p.From = g.FirstMillis
		}
		p.To = max(p.To, g.LastMillis)
	}
	p.Whole = p.Whole && p.Entries > 0
	return p
}
