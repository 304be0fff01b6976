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
// What is not known is never guessed: P unknown is not 0 and not the end. Then the
// cursor is held at the log start, so that retention cannot trim what may still be
// wanted, and the plan is tried again.
//
// Decide is a pure function; Planner is a machine without I/O, clock, goroutine or
// randomness. Not safe for concurrent use.
//
// Source: KIP-1023 (earliest pending upload offset), KIP-405.
package bootstrap
