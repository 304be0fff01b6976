// SPDX-License-Identifier: Apache-2.0

// Package world is a deterministic simulator around the real machines of core:
// window, gate, budget, dedup, placement and rebatch, on real entry bytes.
//
//	producers ──► source segments (logs, cursors, owners) ──► window + gate
//	                  │ split, merge, prune                      │ sends
//	                  ▼                                          ▼
//	               layouts ──────────────► remotes: connections ► segments
//	                                        (dedup, snapshot, log, seal, prune)
//
// Everything else is a small model: logs, replication cursors with individual
// deletes that are persisted late, connections that break, brokers that unload.
// One seed gives one run, event for event; time is simulated milliseconds, and
// nothing runs concurrently.
package world
