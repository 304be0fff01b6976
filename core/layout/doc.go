// SPDX-License-Identifier: Apache-2.0

// Package layout holds the shape of a scalable topic in one cluster: its
// segments with their hash ranges, buckets, state and lineage.
//
//	0                          32767 32768                      65535   segment half of the hash
//	[ segment 1 active              ][ segment 2 sealed              ]
//	                                 [ 3 active      ][ 4 active     ]
//	  | bucket 0 | 1 | 2 |             | bucket 0    |                  bucket half of the hash
//
// A [Layout] is immutable once [New] has returned it, so any number of
// goroutines may read it. The active segments tile the whole ring; sealed ones
// are history. A topic that still runs on active legacy segments (PIP-475,
// routed by modulo) has no ring, and no lookup by hash succeeds on it.
//
// Lookups are binary searches and allocate nothing, except for the few that
// return a list.
//
// Source: PIP-460, PIP-486 (buckets), PIP-475 (legacy segments);
// org.apache.pulsar.common.scalable.SegmentInfo.
package layout
