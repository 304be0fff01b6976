// SPDX-License-Identifier: Apache-2.0

// Package converge decides, for one scalable topic in one cluster, how its layout
// follows those of the peer clusters: what to tell which peer, which splits and
// rebuckets to fold in, which merges everybody agrees to, and whether a wish of
// the local policy may go ahead.
//
// A Machine is the controller leader's: it has no I/O, clock, goroutine, lock or
// randomness. A driver calls its methods, each with the time, and drains
// [Machine.Ready]. It is not safe for concurrent use.
//
//	    peers' pushes          own store             policy, operators
//	          |                    |                        |
//	Received, Answered      Local, Committed     WishSplit, WishMerge, Cold
//	          v                    v                        v
//	 +----------------------------------------------------------------+
//	 | peers' latest states | own layout, split log, marks | waits    |
//	 +----------------------------------------------------------------+
//	          |                    |                        |
//	     Push, Answer       Mutate, Persist              Verdict
//
// # Rules
//
// The target of a fold is the join of the own layout with every peer's, less what
// that peer marks cold. A fold only adds boundaries, on both rings; it is refused
// whole where the join is beyond the effective caps. A push is answered after the
// fold has been committed, with the own state.
//
// A boundary goes when its segments are siblings, it is cold here, and the latest
// state of every member that takes part is known, from an answer, and marks it cold or lacks it. A fold
// ignores what its sender marks cold, so that no merge is folded back by a peer that
// agreed to it.
//
// A new leader has heard nothing, and what is pushed to it may be late: it calls its
// peers first. How long it waits for that, and with what, is in wait.go.
//
// States are ordered by (epoch, leader term, counter) within one instance of the
// topic; a lower one never replaces a higher one. Of two instances nobody can tell which
// is the later: a push of another one makes the machine ask, and the answer counts.
// Where all answers of a peer are below what was pushed under its name, for three
// rounds of anti-entropy, the answers count, too: who lies once does not speak for it
// for ever.
//
// Source: PIP-495, "Layout convergence protocol".
package converge
