// SPDX-License-Identifier: Apache-2.0

// Package bootstrap decides where replication of a segment to a new remote starts
// when the segment already holds data, and remembers what was skipped.
//
//	log start                local start (ledgers that bookkeeper still has)     log end
//	   |  offloaded, deleted   |  offloaded      |  not offloaded yet               |
//	   [======================][================][=================================>
//	                                              ^ P, earliest pending offload
//
// earliestNotOffloaded starts at P: what is in tiered storage is not read back
// through the brokers, it is absent at the remote by choice. Unlike a follower in
// Kafka, a remote cluster does not share that storage.
//
// What is not known is never guessed: P unknown is not 0 and not the end. The cursor is
// held at the log start before anything is read, so that retention cannot trim what may
// still be wanted, and the plan is tried again until it is sure. What is written after
// planning began is never skipped, however long that takes and whoever goes on with it.
//
// Ledgers are intervals: [start, start of the next). What is skipped is [log start, Start),
// its last position the horizon, its ledgers the manifest. A segment that is sealed and
// skipped as a whole is drained: its cursor stands at the end, and its children wait for
// nothing.
//
// [Decide] and [Make] are pure functions, as are [Choose] (what properties say) and
// [PlanReset] (an operator's reset, with its preview); [Planner] is a machine without I/O,
// clock, goroutine or randomness. Not safe for concurrent use.
//
// Source: KIP-1023 (earliest pending upload offset), KIP-405.
package bootstrap
