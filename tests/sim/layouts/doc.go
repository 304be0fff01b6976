// SPDX-License-Identifier: Apache-2.0

// Package layouts tortures core/converge: two to seven clusters, each with a
// metadata store, controllers that are elected, crash and go stale, and policies
// that split, merge and rebucket as they please, while calls between them are
// lost, repeated, delayed and cut one way.
//
//	cluster                                        cluster
//	 store  <- compare-and-set - controller  <-- calls -->  controller -> store
//	                             [converge.Machine]         [converge.Machine]
//
// A run has two phases. First everything changes and fails. Then the faults stop,
// the policies settle, and within a bounded time all layouts are equal, and what is
// cold everywhere is gone.
package layouts
