// SPDX-License-Identifier: Apache-2.0

// Package rebatch cuts one batch entry into parts, each of which lies in one
// bucket of one destination segment.
//
//	entry    [ m0 m1 m2 m3 m4 m5 m6 ]          Open: decompress, hash every message
//	              │
//	segment 1, bucket 0:  m1 m4     -> part 1  Plan: by segment, bucket, index;
//	segment 1, bucket 3:  m0 m5 m6  -> part 4        cut where the cut cap is reached
//	segment 2, bucket 0:  m2 m3     -> part 1  AppendPart: metadata, header, payload
//
// A part's number is the rank of its last message among all messages of the
// entry that are routed to its segment, in the order (bucket, index): above, m6
// is the fifth of segment 1, so its part is number 4. It depends on the entry
// and on that segment's range, buckets and cut cap alone, so it means the same
// whenever it is computed again: after a failure, for a part of the messages
// (see [Mask]), by another owner, or after the rest of the layout has changed.
//
// The messages' own bytes, SingleMessageMetadata and body, are copied as they
// are. A message without a partition key goes where the start of the source
// segment's range goes, as a whole entry without a key does.
//
// A [Batch] holds the memory of one re-batch, which all batches share, and is used over
// and over; it is not safe for concurrent use. After warming up, no step allocates per
// message.
//
// Source: PIP-495, "The replicator" (slow path); BatchMessageContainerImpl.
package rebatch
