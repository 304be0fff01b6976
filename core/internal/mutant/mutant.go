// SPDX-License-Identifier: Apache-2.0

// Package mutant names the planted mistakes that the simulator must catch.
//
// Each mistake is a branch in a production package, written as
//
//	if mutant.On(mutant.GateOff) { … }
//
// On is the constant false unless the program is built with the tag
// `mutant`, so the compiler removes the branch from every shipped binary.
// With the tag, Select arms exactly one mistake for the whole process; it is
// called once, by the simulator's main, before any machine is made.
package mutant

// ID is the number of one planted mistake; zero is none.
type ID uint8

// The planted mistakes, in the order in which they are listed and run.
const (
	None                ID = iota
	PartsCounted           // rebatch: a part's number is its index, not its rank
	EqualIsNew             // dedup: the position of the watermark itself is taken as new
	CursorOnFirstAck       // window: an entry is deleted when its first part is acked
	GateOff                // gate: children publish at once
	GateParentsOnly        // gate: an ancestor behind an empty middle segment is not seen
	DuplicateIsAck         // window: every receipt "duplicate" is an ack
	SuccessorEarly         // window: a seal is resolved without asking the watermark
	MaskIgnored            // window: a re-send carries all messages of the entry again
	NotRebuilt             // dedup: the watermark is not rebuilt from the log
	GenerationIgnored      // dedup: all generations share one watermark
	SlotLeaked             // window: the slot is kept when a re-batch fails
	WholeAsPartZero        // dedup: a whole entry compares as part 0
	DeleteFailureEaten     // window: a failed cursor delete is taken as done
	StampTrusted           // placement: the stamp is not compared with the bucket list
	ReplicatedForwarded    // placement: a replicated entry travels on
	ReplicateToIgnored     // placement: replicate_to is not read
	ChunkDeletedEarly      // window: a chunk is deleted before its unit is acked
	SnapshotPushed         // dedup: the snapshot holds what was pushed, not what is stored
	GateBacklogEarly       // gate: a backlog read before the seal counts
	CapIgnored             // budget: a remote at its cap gets slots
	ParkedDropped          // window: a parked entry is deleted from the cursor
	OldOriginKept          // entry: the splice leaves an older source position in place
	LowerStateTaken        // converge: a lower state replaces a higher one
	AckBeforeCommit        // converge: a push is answered before its fold is durable
	UnknownIsCold          // converge: a peer that said nothing lets everything go
	NonSiblingsMerged      // converge: any two neighbours are merged
	OwnColdFolded          // converge: a fold follows what its sender marks cold
	FoldCapIgnored         // converge: a fold goes beyond the effective caps
	StaleLeaderWrites      // converge: a mutation does not name the epoch that it was made for
	LaterTermIgnored       // converge: who reads of a later leader in the store leads on
	NewLeaderMerges        // converge: a new leader merges on what an earlier one had heard
	NewLeaderFolds         // converge: a new leader folds before it has asked anybody
	PushIsLatest           // converge: a new leader merges on what was only pushed to it
	ConsentForgotten       // converge: what a peer told of a split goes with its boundary there
	ExplicitCutUnlogged    // layout: an explicit split leaves no record
	DeepCutFlat            // layout: what is cut in several pieces at once is recorded as pieces of one split
	BucketsLowered         // layout: a join takes one side's buckets
	AnswerMisrouted        // exchange: a topic gets the answer to another one's push
	ReplacedAnswered       // exchange: the outcome of a push that was replaced is told
	ReplyMisplaced         // exchange: replies fill a response in the order in which they come
	UnknownIsZero          // bootstrap: an earliest pending offload that is not known is the log start
	UnknownIsLatest        // bootstrap: an earliest pending offload that is not known is the log end
	HoleSkipped            // bootstrap: what follows the highest offloaded ledger is the start, holes or not
	count
)

var names = [...]string{
	None:                "none",
	PartsCounted:        "parts-counted",
	EqualIsNew:          "equal-is-new",
	CursorOnFirstAck:    "cursor-on-first-ack",
	GateOff:             "gate-off",
	GateParentsOnly:     "gate-parents-only",
	DuplicateIsAck:      "duplicate-is-ack",
	SuccessorEarly:      "successor-early",
	MaskIgnored:         "mask-ignored",
	NotRebuilt:          "watermark-not-rebuilt",
	GenerationIgnored:   "generation-ignored",
	SlotLeaked:          "slot-leaked",
	WholeAsPartZero:     "whole-as-part-zero",
	DeleteFailureEaten:  "delete-failure-eaten",
	StampTrusted:        "stamp-trusted",
	ReplicatedForwarded: "replicated-forwarded",
	ReplicateToIgnored:  "replicate-to-ignored",
	ChunkDeletedEarly:   "chunk-deleted-early",
	SnapshotPushed:      "snapshot-pushed",
	GateBacklogEarly:    "gate-backlog-early",
	CapIgnored:          "cap-ignored",
	ParkedDropped:       "parked-dropped",
	OldOriginKept:       "old-origin-kept",
	LowerStateTaken:     "lower-state-taken",
	AckBeforeCommit:     "ack-before-commit",
	UnknownIsCold:       "unknown-is-cold",
	NonSiblingsMerged:   "non-siblings-merged",
	OwnColdFolded:       "own-cold-folded",
	FoldCapIgnored:      "fold-cap-ignored",
	StaleLeaderWrites:   "stale-leader-writes",
	LaterTermIgnored:    "later-term-ignored",
	NewLeaderMerges:     "new-leader-merges",
	NewLeaderFolds:      "new-leader-folds",
	PushIsLatest:        "push-is-latest",
	ConsentForgotten:    "consent-forgotten",
	ExplicitCutUnlogged: "explicit-cut-unlogged",
	DeepCutFlat:         "deep-cut-flat",
	BucketsLowered:      "buckets-lowered",
	AnswerMisrouted:     "answer-misrouted",
	ReplacedAnswered:    "replaced-answered",
	ReplyMisplaced:      "reply-misplaced",
	UnknownIsZero:       "unknown-is-zero",
	UnknownIsLatest:     "unknown-is-latest",
	HoleSkipped:         "hole-skipped",
}

// String returns the kebab-case name of the mistake.
func (id ID) String() string {
	if int(id) < len(names) {
		return names[id]
	}
	return "unknown"
}

// All returns every planted mistake in the order of the list.
func All() []ID {
	out := make([]ID, 0, count-1)
	for id := None + 1; id < count; id++ {
		out = append(out, id)
	}
	return out
}

// Parse finds a mistake by its name.
func Parse(name string) (ID, bool) {
	for id, n := range names {
		if n == name {
			return ID(id), true
		}
	}
	return None, false
}
