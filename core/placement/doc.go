// SPDX-License-Identifier: Apache-2.0

// Package placement decides, from an entry's metadata alone, where the entry
// goes on the remote cluster and by which path. It never reads the payload.
//
//	metadata ─┬─ must not travel ───────────────────────────────────────> drop
//	          ├─ no batch, or a chunk ──> by its outer key ─────────────> single
//	          ├─ batch ─┬─ source range ⊆ D and stamp ⊆ a bucket of D ──> verbatim
//	          │         ├─ encrypted ───────────────────────────────────> park (or single)
//	          │         └─ everything else ─────────────────────────────> rebatch
//	          └─ no rule places it ─────────────────────────────────────> park
//
// A batch without keys goes whole too (unkeyed), but that is only known once it
// has been opened: its metadata says no more than that it may be one, and
// [Place] answers rebatch with reason [UnkeyedUnproven] where it does not fit.
//
// All functions are pure and may be called from any thread; [Place] allocates
// nothing.
//
// Source: PIP-495, "The replicator"; PIP-486 (stamps and buckets).
package placement
