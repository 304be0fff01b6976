// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
	"georep/core/placement"
)

type wait uint8

const (
	waitNothing wait = iota
	waitHandshake
	waitGate
	waitPause
	waitParked
	waitBudget
	waitWatermark
	waitSchema
	waitDestination
	waitLayout
	waitUnit
	waitCredentials
)

var waitNames = [...]string{"", "handshake", "parent-drain", "paused", "parked", "budget", "watermark",
	"schema", "destination", "layout", "chunks", "credentials"}

// State is what an operator sees of a replicator.
type State uint8

// States.
const (
	Starting     State = 1 // waits for the handshake or for its parents to drain
	Replicating  State = 2
	Stopped      State = 3 // stalled on a parked entry
	Paused       State = 4
	Unsupported  State = 5 // the remote does not run the plugin
	Incompatible State = 6 // the remote must not be written to
	Denied       State = 7 // the remote refuses this cluster's credentials
)

var stateNames = [...]string{"", "starting", "replicating", "stalled", "paused", "unsupported", "incompatible", "denied"}

// String returns the state in lower case.
func (s State) String() string { return stateNames[s] }

// ParkedEntry is one entry that waits for an operator.
type ParkedEntry struct {
	Position entry.Position
	Reason   placement.Reason
}

// Status is a snapshot of a window.
type Status struct {
	State      State
	Waiting    string        // what the hand-over point waits for; "" = nothing
	Parked     []ParkedEntry // by position, at most maxParkedListed
	ParkedN    int
	ParkedBy   [reasonCount]int // of ParkedN
	PassedN    int              // of those, the ones that let others pass: the backlog of a drain gate is without them
	Entries    int              // between reading and deleting
	HeldBytes  int64            // of borrowed entry memory
	InFlight   int              // sends
	OpenUnits  int              // chunked messages whose last chunk is not stored
	LowestOpen entry.Position
	Lapsed     uint64         // entries that left the cursor without having been sent; see CursorAt
	Horizon    entry.Position // of the cursor when the last of them was found
}

// maxParkedListed bounds Status.Parked.
const maxParkedListed = 100

// reasonCount is one more than the largest reason.
const reasonCount = 64

// Counters only rise.
type Counters struct {
	Verbatim, Single, Unkeyed, Rebatched, Parts            uint64 // entries; Parts: sends of parts
	VerbatimBytes, SingleBytes, UnkeyedBytes, PartBytes    uint64 // payload bytes
	Dropped, Parked, Skipped                               uint64
	DroppedBy                                              [reasonCount]uint64
	MaskedMessages, MaskedEntries                          uint64 // found stored at a sealed destination
	Replans, GoBacks, Recoveries, Refusals, ChecksumErrors uint64
	DuplicateReceipts, Overtaken, UnknownResends           uint64
	Seals, WatermarksKnown, WatermarksGone                 uint64
	BudgetWaits, SchemaAsks, SchemaFailures, DeleteRetries uint64
	UnitsDissolved, UnitsResent, RemoteReplaced            uint64
}

func (c *Counters) sent(path placement.Action, payload int) {
	n := uint64(payload)
	switch path {
	case placement.Verbatim:
		c.Verbatim++
		c.VerbatimBytes += n
	case placement.Single:
		c.Single++
		c.SingleBytes += n
	case placement.Unkeyed:
		c.Unkeyed++
		c.UnkeyedBytes += n
	default:
		c.Parts++
		c.PartBytes += n
	}
}

// Counters returns a copy of the window's counters.
func (w *Window) Counters() Counters { return w.counters }

// Status returns a snapshot.
func (w *Window) Status() Status {
	s := Status{State: w.state(), Waiting: waitNames[w.waiting], ParkedN: w.parkedN,
		HeldBytes: w.heldB, InFlight: w.sends.live, OpenUnits: len(w.units), Lapsed: w.lapsed, Horizon: w.horizon}
	for _, it := range w.items {
		if it.gone {
			continue
		}
		if s.Entries == 0 {
			s.LowestOpen = it.pos
		}
		s.Entries++
		if it.state != itemParked {
			continue
		}
		s.ParkedBy[it.parked]++
		if w.passes(it.parked) {
			s.PassedN++
		}
		if len(s.Parked) < maxParkedListed {
			s.Parked = append(s.Parked, ParkedEntry{it.pos, it.parked})
		}
	}
	return s
}

func (w *Window) state() State {
	switch {
	case w.block == BlockUnsupported:
		return Unsupported
	case w.block == BlockIncompatible:
		return Incompatible
	case w.block == BlockDenied:
		return Denied
	case w.paused:
		return Paused
	case w.block != BlockNone || w.remote == nil || !w.gate:
		return Starting
	case w.waiting == waitParked:
		return Stopped
	}
	return Replicating
}

// Want returns how many entries and bytes more the feed may offer now.
func (w *Window) Want() (entries int, bytes int64) {
	if w.block != BlockNone || w.remote == nil || !w.gate || w.paused {
		return 0, 0
	}
	if w.sends.live == 0 && w.held > 0 && (w.next >= len(w.items) || w.waiting == waitUnit) {
		// Only open chunked messages are held, or one at the hand-over point waits for
		// what a sealed destination may have of it: their remaining chunks must come in.
		return max(1, w.cfg.MaxInFlightEntries-w.held), max(1, w.cfg.MaxInFlightBytes-w.heldB)
	}
	entries = min(w.cfg.MaxInFlightEntries-w.held, w.cfg.MaxInFlightEntries*spanFactor-(len(w.items)-w.goneN))
	bytes = w.cfg.MaxInFlightBytes - w.heldB
	if entries <= 0 || bytes <= 0 {
		return 0, 0
	}
	return entries, bytes
}

// NeedsTick says whether something waits for time to pass. Without it the
// driver need not call Tick.
func (w *Window) NeedsTick() bool {
	for _, d := range w.dests {
		if d.state == destSealed && !d.asked && !d.gone && (d.inFlight.len() > 0 || w.waiting == waitWatermark) {
			return true
		}
	}
	for _, it := range w.items {
		if it.deleteAt > 0 {
			return true
		}
	}
	for _, u := range w.units {
		if !u.full {
			return true
		}
	}
	return w.waiting == waitSchema || w.waiting == waitDestination
}
