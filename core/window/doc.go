// SPDX-License-Identifier: Apache-2.0

// Package window decides, for one source segment and one remote cluster, what
// may be published where, what an acknowledgement means, what is sent again
// after a failure or a seal, and when a position may be deleted from the
// replication cursor.
//
// A Window is a machine: it has no I/O, clock, goroutine, lock or randomness.
// A driver feeds it events (entries read from the cursor, receipts, layouts,
// watermarks, ticks) by method calls and then drains the actions of [Window.Ready].
// It is not safe for concurrent use; one driver owns it.
//
//	cursor order ->   done  done | in flight  in flight | waiting  waiting
//	                             ^ first not deleted    ^ next (hand-over point)
//
// Entries are handed over strictly in cursor order. An entry that has to wait
// (for budget, a schema, a watermark, a destination) holds back what follows in
// its own segment and nothing else.
//
// # What is stored
//
// Whether a message of the entry at position p has reached the remote is known
// without memory, from the destinations' watermarks W for our dedup key: it is
// stored if for some destination D its hash lies in D's range and
// (p, rank of the message at D) <= W(D); an entry sent whole compares as part
// [entry.Whole]. This holds because per destination nothing later is stored
// before everything earlier. An active D applies the rule itself and answers
// "duplicate". A sealed D can not change any more: the window asks for its
// watermark before it sends anything to a range that D covered, masks what is
// stored there, and plans the rest on the current layout. A new owner of the
// segment does the same, so a handover repeats nothing either.
//
// # Going back
//
// When a send fails, the hand-over point returns to the earliest entry with
// messages that are neither stored nor in flight; they are placed again, in
// order, with the same part numbers where the destination is the same.
//
// Source: PIP-495, "The replicator" (Ordering, Dedup and loops).
package window
