// SPDX-License-Identifier: Apache-2.0

// Package check watches a simulated run from outside and says what went wrong.
//
// It knows every message that was published, byte for byte, and is told what the
// destinations stored, what was deleted from cursors, parked and skipped. It
// believes none of the machines: hashes, buckets, fits, ranks, orders and sizes
// are computed again from what was published.
//
// Each checker has a name and the number of the invariant that it holds; the
// first violation of a run is kept, with the simulated time and what it is about.
package check
