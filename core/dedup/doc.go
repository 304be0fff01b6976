// SPDX-License-Identifier: Apache-2.0

// Package dedup decides on the destination side, for one segment topic, whether
// a replicated entry is new.
//
// Per origin it keeps two places in the origin's log, each (position, part):
//
//	         persisted          pushed
//	────────────┴──────────────────┴───────────────►  origin's log
//	  Duplicate         Unknown         Fresh
//
// persisted is the watermark: the highest place that is stored in this topic.
// pushed is the highest that was given to the storage. What lies between is
// being written; it becomes persisted, or Failed takes pushed back.
//
// This is sound because an origin sends to one topic in rising order and never
// anything later after a refusal (PIP-495, "Dedup and loops"). The part number
// is the rank of a part's last message at this topic, [entry.Whole] for an entry
// sent in one piece, so places compare the same whenever they are computed.
//
// The generation belongs to the key: an origin that moves its cursor back starts
// a new generation, or everything it sends again would count as duplicate.
//
// A watermark never rests on a snapshot alone. On load the driver applies the
// snapshot and then Replay for every entry stored after it; both only raise.
//
// Table is a machine: no I/O, clock or lock; calls are serialised by the driver.
package dedup
