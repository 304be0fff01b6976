// SPDX-License-Identifier: Apache-2.0

// Package starts tortures core/bootstrap, with core/window's gate behind it: segments
// whose ledgers are rolled, offloaded, deleted from bookkeeper and trimmed, that split and
// merge, while remotes join, owners change and the store cannot be read.
//
//	segment:  [10 offloaded, deleted][11 offloaded][12 incomplete][13 open ...
//	           ^ hold                               ^ plan
//	cursor of (segment, remote), durable:  next, hold, plan
//	owner of it, forgotten in a crash:     [bootstrap.Planner] then [window.Gate] and a copier
//
// What the store says is masked (an offload that cannot be read, a copy that nobody
// knows of) before a planner sees it; the checkers look at the ledgers themselves.
//
// A run has two phases. First everything changes and fails. Then the faults stop, and
// within a bounded time every cursor stands at the end of its log.
package starts
