// SPDX-License-Identifier: Apache-2.0

// Package budget shares the broker's slow path between all replicated
// segments and remotes.
//
// Re-batching costs decompressed bytes of CPU and memory. A window asks for
// one operation at a time; the budget grants it when all three hold:
//
//	tokens     bytes a second, a bucket of BurstBytes   (CPU)
//	slots      operations at once                       (scratch memory)
//	in flight  bytes not yet acknowledged, per remote   (send memory)
//
//	Request ──► waiting (one queue per remote, one ticket order over all)
//	                │ Granted: lowest ticket whose remote is below its cap
//	                ▼
//	             holding a slot ── Return ──► free again
//
// Waiting keys are served round-robin: a key that was served queues behind
// all that wait. A request larger than the bucket waits for a full bucket and
// takes it into debt; it is never refused. The head of the order is never
// overtaken for lack of tokens, so no request starves; it is overtaken only
// while its own remote is at its cap, so one dead remote starves nobody.
//
// Entries that were read and not released (Hold) have the same caps for Room,
// which bounds reading, and do not count for a slot: they may be waiting for it.
// So the memory of sends and reads together is at most twice the caps.
//
// A remote with nothing in flight may always have one operation, whatever the
// others hold: the bytes in flight are bounded by InFlightBytes plus one
// operation per remote.
//
// Budget is a machine: no clock, lock or goroutine. The driver gives the time
// with Advance and serialises all calls.
package budget
