// SPDX-License-Identifier: Apache-2.0

// Package faults names what a simulated run does to the machines, draws from a
// seed how often, and counts what was done.
package faults

import "math/rand/v2"

// Kind is one kind of fault, or of change under load.
type Kind uint8

// Kinds.
const (
	LostReceipt      Kind = iota // the connection breaks, the client resends by itself
	LostConnection               // the connection breaks, all in flight is unknown
	OldArrives                   // a publish of a broken connection arrives all the same
	Refused                      // the destination refuses and closes the producer
	RefusedGoesOn                // it refuses and stores what follows
	WriteFails                   // what the destination was writing is lost
	ReceiptDuplicate             // the destination answered "duplicate"
	StillWriting                 // a resend met its own first attempt in writing
	Unload                       // a destination segment unloads in order
	Crash                        // it unloads without a word
	Snapshot                     // its dedup snapshot is taken
	DestSplit                    // destination split, two pieces or more
	DestMerge                    // destination merge
	DestRebucket                 // same range, other buckets
	DestPrune                    // a sealed destination segment is deleted
	CutCap                       // cut cap changed on a live segment
	SourceSplit                  //
	SourceMerge                  //
	EmptyMiddle                  // a source segment sealed before its first entry
	SourcePrune                  //
	Handover                     // a new owner reads from the persisted cursor
	CursorForgets                // its persisted cursor is behind
	DeleteFails                  // a cursor delete fails
	Reread                       // the cursor reads entries again
	LateLayout                   // a layout arrives late
	LateWatermark                //
	NoWatermark                  // the watermark question fails
	StaleBacklog                 // a backlog read before the seal is answered
	LateSchema                   //
	NoSchema                     // a schema can not be mapped now
	RemoteDown                   //
	RemoteDead                   // nothing is answered at all
	RemoteAdded                  //
	HandshakeLost                //
	Pause                        //
	Generation                   // cursors go back to the first entry
	OperatorSkip                 //
	SmallArena                   // an action needs more arena than it was given
	Checksum                     // the destination finds a wrong checksum
	TooLarge                     // the destination finds an entry too large
	DirectGrant                  // a budget grant meets a withdrawn request
	RemoteRecreated              // the remote's topic is deleted and made again
	KeyPruned                    // destinations forget a pruned source segment
	Kinds
)

var names = [Kinds]string{
	"lost-receipt", "lost-connection", "old-arrives", "refused", "refused-goes-on", "write-fails", "receipt-duplicate",
	"still-writing", "unload", "crash", "snapshot", "dest-split", "dest-merge", "dest-rebucket", "dest-prune", "cut-cap",
	"source-split", "source-merge", "empty-middle", "source-prune", "handover", "cursor-forgets", "delete-fails", "reread",
	"late-layout", "late-watermark", "no-watermark", "stale-backlog", "late-schema", "no-schema", "remote-down",
	"remote-dead", "remote-added", "handshake-lost", "pause", "generation", "operator-skip", "small-arena", "checksum",
	"too-large", "withdrawn-grant", "remote-recreated", "key-pruned",
}

// String returns the kind in kebab case.
func (k Kind) String() string { return names[k] }

// Plan says how often each kind happens in one run, as a factor on the world's
// base rate: some runs have none of a kind, some much.
type Plan struct {
	Factor [Kinds]float64
	Count  [Kinds]uint64
}

// NewPlan draws a plan.
func NewPlan(rng *rand.Rand) *Plan {
	p := new(Plan)
	for k := range p.Factor {
		switch rng.IntN(6) {
		case 0:
			p.Factor[k] = 0
		case 1, 2:
			p.Factor[k] = 0.4
		case 3, 4:
			p.Factor[k] = 1
		default:
			p.Factor[k] = 3
		}
	}
	return p
}

// Hit counts one occurrence.
func (p *Plan) Hit(k Kind) { p.Count[k]++ }

// Total returns the number of occurrences of all kinds.
func (p *Plan) Total() (n uint64) {
	for _, c := range p.Count {
		n += c
	}
	return n
}
