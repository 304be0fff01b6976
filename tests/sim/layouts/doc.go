// SPDX-License-Identifier: Apache-2.0

// Package layouts tortures core/converge and core/exchange: two to seven clusters with
// one to three topics, each with a metadata store, controllers that are elected,
// crash and go stale, and policies that split, merge and rebucket as they please,
// while calls between brokers are lost, repeated, delayed and cut one way.
//
//	cluster a                                          cluster b
//	 store x  <- compare-and-set - controller x ┐  ┌ controller x -> store x
//	 store y  <- compare-and-set - controller y ┤  ├ controller y -> store y
//	              [converge.Machine]          broker   [converge.Machine]
//	                       [exchange.Sender] ─calls─► [exchange.Answerer]
//
// A run has two phases. First everything changes and fails. Then the faults stop,
// the policies settle, and within a bounded time all layouts are equal, and what is
// cold everywhere is gone.
package layouts
