// SPDX-License-Identifier: Apache-2.0

package rebatch

import (
	"slices"

	"georep/core/internal/mutant"
	"georep/core/layout"
	"georep/core/placement"
)

// Part is one entry to write. Messages aliases the batch until the next Plan,
// Open or Release.
type Part struct {
	Segment           *layout.Segment
	Bucket            int
	Rank              int64   // the part number: rank of the last message of the full part
	Messages          []int32 // indexes, rising
	HashMin, HashMax  uint16  // smallest and largest bucket hash
	UncompressedBytes int
}

// Plan appends the parts that the batch makes on dst's active segments to parts
// and returns it: segments by range, parts of one segment in rising Rank. Only
// the messages in mask are in them (nil is all); ranks and cut points are those
// of all messages, and a part without messages is left out.
//
// A part is cut before the message that would take it beyond the segment's cut
// cap, or beyond what [Limits] say that the destination takes; a message larger
// than that is a part of its own. Sizes are those before compression, so what the
// codec makes of a part has no say in it.
//
// Errors are *[Error]: a layout without a ring, a segment with unknown buckets,
// parts that would carry over more metadata than a batch may have bytes.
func (b *Batch) Plan(dst *layout.Layout, mask Mask, parts []Part) ([]Part, error) {
	if !dst.HasRing() {
		return parts, refuse(placement.LegacyDestination, ErrDestination, "the destination routes by modulo")
	}
	if err := b.sortFor(dst); err != nil {
		return parts, err
	}
	active := dst.Active()
	b.list = resize(b.list, b.Len())[:0]
	base := len(parts)
	rank, last := int64(0), -1
	for from := 0; from < len(b.order); {
		place := b.order[from] >> 32 // segment and bucket
		seg := active[place>>16]
		if int(place>>16) != last {
			rank, last = 0, int(place>>16)
		}
		to := b.cut(from, min(seg.CutBytes(), b.room))
		rank += int64(to - from)
		p := Part{Segment: seg, Bucket: int(place & 0xFFFF), Rank: rank - 1}
		if b.fill(&p, from, to, mask); len(p.Messages) > 0 {
			if mutant.On(mutant.PartsCounted) {
				p.Rank = int64(len(parts) - base)
			}
			parts = append(parts, p)
		}
		from = to
	}
	if err := b.checkCarried(len(parts) - base); err != nil {
		return parts[:base], err
	}
	return parts, nil
}

// checkCarried refuses n parts where the metadata that each takes over would
// multiply what came in.
func (b *Batch) checkCarried(n int) error {
	if n < 2 || n*len(b.raw) <= b.carried {
		return nil
	}
	var err error
	if b.pack, err = b.carry(b.pack[:0], false); err != nil {
		return batchError(err, 0)
	}
	if n*len(b.pack) <= b.carried {
		return nil
	}
	return refuse(placement.TooLarge, ErrLimit, "%d parts with %d bytes of metadata each, at most %d in all",
		n, len(b.pack), b.carried)
}

// sortFor fills b.order: segment (place in Active) << 48 | bucket << 32 | index.
func (b *Batch) sortFor(dst *layout.Layout) error {
	active, profile := dst.Active(), dst.Profile()
	buckets := 0
	b.bases = resize(b.bases, len(active))
	for i, seg := range active {
		b.bases[i] = int32(buckets)
		buckets += len(seg.Buckets) + 1
	}
	b.keys = resize(b.keys, b.Len())
	sorted, before := true, uint64(0)
	for i := range b.keys {
		at := dst.Index(profile.Segment(b.hashes[i]))
		seg := active[at]
		if !seg.BucketsKnown {
			return refuse(placement.NoDestination, ErrDestination, "the buckets of segment %d are not known", seg.ID)
		}
		k := uint64(at)<<48 | uint64(seg.Bucket(b.bucket[i]))<<32 | uint64(i)
		sorted = sorted && before <= k
		before, b.keys[i] = k, k
	}
	b.order = resize(b.order, b.Len())
	switch {
	case sorted:
		copy(b.order, b.keys)
	case buckets > countedBuckets+4*b.Len():
		copy(b.order, b.keys)
		slices.Sort(b.order)
	default:
		b.sortCounted(buckets)
	}
	return nil
}

// countedBuckets is the number of buckets of a layout up to which counting is
// cheaper than sorting whatever the number of messages.
const countedBuckets = 256

// sortCounted sorts b.keys into b.order in two passes: the keys of one bucket
// are in order already.
func (b *Batch) sortCounted(buckets int) {
	b.count = resize(b.count, buckets)
	clear(b.count)
	for _, k := range b.keys {
		b.count[b.slot(k)]++
	}
	below := int32(0)
	for i, n := range b.count {
		b.count[i], below = below, below+n
	}
	for _, k := range b.keys {
		i := b.slot(k)
		b.order[b.count[i]] = k
		b.count[i]++
	}
}

// slot numbers the buckets of all active segments through.
func (b *Batch) slot(k uint64) int32 { return b.bases[k>>48] + int32(uint16(k>>32)) }

// cut returns the end of the part that starts at b.order[from].
func (b *Batch) cut(from, capBytes int) int {
	place, size := b.order[from]>>32, 0
	for to := from; to < len(b.order); to++ {
		if b.order[to]>>32 != place {
			return to
		}
		size += b.size(int(uint32(b.order[to])))
		if size > capBytes && to > from {
			return to
		}
	}
	return len(b.order)
}

func (b *Batch) size(i int) int { return int(b.ends[i] - b.start(i)) }

// fill puts the messages of b.order[from:to] that are in mask into p.
func (b *Batch) fill(p *Part, from, to int, mask Mask) {
	start := len(b.list)
	for _, k := range b.order[from:to] {
		i := int(uint32(k))
		if !mask.Has(i) {
			continue
		}
		h := b.bucket[i]
		if len(b.list) == start {
			p.HashMin, p.HashMax = h, h
		}
		p.HashMin, p.HashMax = min(p.HashMin, h), max(p.HashMax, h)
		p.UncompressedBytes += b.size(i)
		b.list = append(b.list, int32(i))
	}
	p.Messages = b.list[start:len(b.list):len(b.list)]
}
