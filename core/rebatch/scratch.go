// SPDX-License-Identifier: Apache-2.0

package rebatch

import (
	"sync"

	"georep/core/entry"
	"georep/core/placement"
)

// scratch is the memory of an opened batch. Batches borrow it from a pool, because
// there are as many of them as segments are replicated, and only as many are open at
// a time as there are slots: each keeping its own would hold a lot, each making its
// own costs as much as cutting does. What nobody borrows the collector takes.
type scratch struct {
	buf    []byte   // decoded messages, where they were compressed
	ends   []uint32 // end of message i in data
	hashes []uint32 // raw hash that selects the segment
	bucket []uint16 // hash that selects the bucket
	kinds  []uint8
	seqs   []uint64
	sums   []uint32 // CRC32C of the entry up to the end of message i; empty: parts are read for theirs

	order []uint64 // Plan: (segment, bucket, index) of every message, sorted
	keys  []uint64 // Plan: the same by index
	bases []int32  // Plan: number of buckets of the segments before each active one
	list  []int32  // Plan: what the parts' Messages alias
	count []int32  // Ranks, Plan: messages below each bucket
	pack  []byte   // AppendPart: messages before compression
}

// keepScratch is how large a buffer may be that the pool takes back, in bytes: well
// above the batches of clients, well below what [Limits] allow.
const keepScratch = 8 << 20

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrow gives the batch memory, where it has none.
func (b *Batch) borrow() {
	if b.lent == nil {
		b.lent = scratches.Get().(*scratch)
		b.scratch = *b.lent
	}
}

// Release ends the use of the opened entry and gives the memory back. What aliases
// the batch is no longer good. It may be opened again.
func (b *Batch) Release() {
	b.reset()
	b.meta, b.src = entry.Metadata{}, placement.Source{}
	if b.lent == nil {
		return
	}
	*b.lent = b.scratch
	b.lent.shrink(keepScratch)
	scratches.Put(b.lent)
	b.scratch, b.lent = scratch{}, nil
}

// shrink drops every buffer of more than keep bytes.
func (s *scratch) shrink(keep int) {
	s.buf, s.pack, s.kinds = shrink(s.buf, keep), shrink(s.pack, keep), shrink(s.kinds, keep)
	s.ends, s.hashes, s.bucket = shrink(s.ends, keep/4), shrink(s.hashes, keep/4), shrink(s.bucket, keep/2)
	s.bases, s.list, s.count = shrink(s.bases, keep/4), shrink(s.list, keep/4), shrink(s.count, keep/4)
	s.seqs, s.order, s.keys = shrink(s.seqs, keep/8), shrink(s.order, keep/8), shrink(s.keys, keep/8)
	s.sums = shrink(s.sums, keep/4)
}

func shrink[T any](s []T, keep int) []T {
	if cap(s) > keep {
		return nil
	}
	return s[:0]
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
