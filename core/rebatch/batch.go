// SPDX-License-Identifier: Apache-2.0

package rebatch

import (
	"math"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
)

// Limits caps what one entry may ask for. A limit of 0 is the package's own.
type Limits struct {
	MaxDecompressed int // bytes; 0 = DefaultMaxDecompressed
	MaxMessages     int // 0 = DefaultMaxMessages
	MaxMessageBytes int // the destination's largest header + payload: parts are cut to fit; 0 = no limit
}

// Limits that hold where the caller sets none.
const (
	DefaultMaxDecompressed = 128 << 20 // bytes
	DefaultMaxMessages     = 1 << 20
)

// partReserve is what a part's metadata has beyond the source entry's and the
// keys of its first message: origin, position, counts and stamp, in bytes.
const partReserve = 640

// What is kept of a message besides its hashes.
const (
	hasKey = 1 << iota
	hasOrdering
	hasSequence
	compactedOut
	listed // in compacted_batch_indexes
)

// Batch is an opened batch entry. Open replaces what it held. It aliases the entry
// that it was opened from until the next Open or [Batch.Release].
type Batch struct {
	scratch
	lent *scratch // where scratch has been borrowed; nil: it is empty

	src  placement.Source
	raw  []byte         // MessageMetadata of the entry
	meta entry.Metadata // decoded
	data []byte         // decoded messages: buf, or the entry's payload

	keyed, compacted int    // number of messages with any key; compacted out
	longestKeys      int    // bytes of partition and ordering key of one message
	carried          int    // bytes of metadata that all parts together may carry over
	room             int    // uncompressed bytes of a part that the destination surely takes
	sum              uint32 // CRC32C of the entry up to the start of message 0, where there are sums
}

// Open decompresses the batch in f and hashes every message in it. m is f's
// decoded metadata, src the segment that it was read from.
//
// Errors are *[Error]: not a batch, encrypted or a chunk; more messages or bytes
// than lim allows, checked before anything is allocated; a codec without
// uncompressed_size; a size that differs from the declared one; a batch that
// does not use up its bytes.
func (b *Batch) Open(src *placement.Source, f *entry.Frame, m *entry.Metadata, lim Limits) error {
	b.reset()
	about := f.MetadataOffset()
	switch {
	case m.Encrypted:
		return refuseAt(about, placement.EncryptedBatch, ErrNotBatch, "it is encrypted")
	case !m.HasBatch || m.HasChunk:
		return refuseAt(about, placement.Malformed, ErrNotBatch, "num_messages_in_batch is absent, or it is a chunk")
	case m.NumMessages < 1:
		return refuseAt(about, placement.Malformed, ErrNotBatch, "num_messages_in_batch is %d", m.NumMessages)
	}
	maxMessages, maxBytes := lim.MaxMessages, lim.MaxDecompressed
	if maxMessages <= 0 {
		maxMessages = DefaultMaxMessages
	}
	if maxBytes <= 0 {
		maxBytes = DefaultMaxDecompressed
	}
	if int(m.NumMessages) > maxMessages {
		return refuseAt(about, placement.TooLarge, ErrLimit, "%d messages, at most %d", m.NumMessages, maxMessages)
	}
	b.borrow()
	at, err := b.decode(f, m, min(maxBytes, math.MaxInt32))
	if err != nil {
		return err
	}
	b.src, b.raw, b.meta = *src, f.Metadata, *m
	if err := b.index(int(m.NumMessages), at); err != nil {
		b.reset()
		return err
	}
	if m.CompactedIndexes > 0 {
		if err := b.listKept(); err != nil {
			b.reset()
			return err
		}
	}
	b.room, b.carried = b.partRoom(lim.MaxMessageBytes), maxBytes
	return nil
}

// OpenVerified is Open for an entry whose parts are going to be stored: they get
// checksums of their own, which would cover up a wrong one. It refuses an entry
// whose checksum is wrong, whatever else is wrong with it, and reads the bytes of
// an uncompressed one once for that and for the checksums of its parts.
//
// Errors are those of Open, and ErrChecksum.
func (b *Batch) OpenVerified(src *placement.Source, f *entry.Frame, m *entry.Metadata, lim Limits) error {
	if !f.HasChecksum || m.Compression != codec.None || len(f.Payload) < summedBytes*int(max(m.NumMessages, 1)) {
		if !f.ChecksumValid() {
			b.reset()
			return wrongChecksum(f)
		}
		return b.Open(src, f, m, lim)
	}
	if err := b.Open(src, f, m, lim); err != nil {
		if !f.ChecksumValid() {
			return wrongChecksum(f)
		}
		return err
	}
	b.sums = resize(b.sums, b.Len())
	b.sum = f.HeaderChecksum()
	sum := b.sum
	for i := range b.sums {
		sum = entry.UpdateCRC32C(sum, b.data[b.start(i):b.ends[i]])
		b.sums[i] = sum
	}
	if sum != f.Checksum {
		b.reset()
		return wrongChecksum(f)
	}
	return nil
}

// sumBefore is the CRC32C of the entry up to the start of message i.
func (b *Batch) sumBefore(i int) uint32 {
	if i == 0 {
		return b.sum
	}
	return b.sums[i-1]
}

// summedBytes is the size of a message from which it is cheaper to move its
// checksum than to compute it again.
const summedBytes = 1024

func wrongChecksum(f *entry.Frame) error {
	return refuseAt(f.MetadataOffset(), placement.Checksum, ErrChecksum, "it says %#x", f.Checksum)
}

// listKept marks what compacted_batch_indexes lists, once for all parts.
func (b *Batch) listKept() error {
	err := entry.EachCompactedIndex(b.raw, func(index int32) bool {
		if index >= 0 && int(index) < len(b.ends) {
			b.kinds[index] |= listed
		}
		return true
	})
	if err != nil {
		return batchError(err, 0)
	}
	return nil
}

// partRoom returns the uncompressed bytes that a part may have if no part is to
// be above maxMessage. It looks at the entry alone, not at what a codec makes of
// a part, so the cut points are the same every time.
func (b *Batch) partRoom(maxMessage int) int {
	if maxMessage <= 0 {
		return math.MaxInt
	}
	room := maxMessage - headerFixed - len(b.raw) - b.longestKeys - partReserve
	if b.meta.Compression != codec.None {
		room -= room/7 + 64 // what does not compress grows, by a sixth at worst
	}
	return max(room, 1)
}

// decode fills b.data, and returns where it starts in the entry, -1 if it was decompressed.
func (b *Batch) decode(f *entry.Frame, m *entry.Metadata, maxBytes int) (at int, err error) {
	at = len(f.Raw) - len(f.Payload)
	if m.Compression == codec.None {
		if len(f.Payload) > maxBytes {
			return at, refuseAt(at, placement.TooLarge, ErrLimit, "%d bytes, at most %d", len(f.Payload), maxBytes)
		}
		if m.HasUncompressedSize && int(m.UncompressedSize) != len(f.Payload) {
			return at, refuseAt(at, placement.SizeMismatch, ErrSize, "%d bytes, uncompressed_size says %d",
				len(f.Payload), m.UncompressedSize)
		}
		b.data = f.Payload
		return at, nil
	}
	if !m.HasUncompressedSize {
		return at, refuseAt(f.MetadataOffset(), placement.Codec, ErrSize, "codec %s without uncompressed_size", m.Compression)
	}
	if int64(m.UncompressedSize) > int64(maxBytes) {
		return at, refuseAt(f.MetadataOffset(), placement.TooLarge, ErrLimit, "uncompressed_size %d, at most %d", m.UncompressedSize, maxBytes)
	}
	b.buf, err = m.Compression.AppendDecode(b.buf[:0], f.Payload, int(m.UncompressedSize))
	if err != nil {
		return at, codecError(err, at)
	}
	b.data = b.buf
	return -1, nil
}

// index walks over the n messages. The reader refuses an n that data can not
// hold before anything is sized by it.
func (b *Batch) index(n, at int) error {
	r := entry.NewBatchReader(b.data, n)
	if err := r.Err(); err != nil {
		return batchError(err, at)
	}
	b.ends, b.hashes, b.seqs = resize(b.ends, n), resize(b.hashes, n), resize(b.seqs, n)
	b.bucket, b.kinds = resize(b.bucket, n), resize(b.kinds, n)
	start := b.src.Range.Start
	noKey := uint32(start)<<16 | uint32(start) // selects the start of the range under either profile
	end, read := 0, 0
	var msg entry.Message
	for r.Next(&msg) {
		s := &msg.Single
		kind, hash, bucket := uint8(0), noKey, uint16(0)
		if s.HasPartitionKey {
			kind, hash = hasKey, keyhash.Sum(s.PartitionKey)
			bucket = keyhash.Bucket(hash)
		}
		if s.HasOrderingKey {
			kind |= hasOrdering
			bucket = keyhash.Bucket(keyhash.Sum(s.OrderingKey))
		}
		if kind != 0 {
			b.keyed++
			b.longestKeys = max(b.longestKeys, len(s.PartitionKey)+len(s.OrderingKey))
		}
		if s.HasSequenceID {
			kind |= hasSequence
		}
		if s.CompactedOut {
			kind |= compactedOut
			b.compacted++
		}
		end += len(msg.Raw)
		b.ends[read], b.hashes[read], b.bucket[read] = uint32(end), hash, bucket
		b.kinds[read], b.seqs[read] = kind, s.SequenceID
		read++
	}
	if err := r.Err(); err != nil {
		return batchError(err, at)
	}
	return nil
}

func (b *Batch) reset() {
	b.raw, b.data = nil, nil
	b.ends, b.sums = b.ends[:0], b.sums[:0]
	b.keyed, b.compacted, b.longestKeys = 0, 0, 0
}

// Len returns the number of messages.
func (b *Batch) Len() int { return len(b.ends) }

// DecodedBytes returns the size of the decompressed batch.
func (b *Batch) DecodedBytes() int { return len(b.data) }

// Unkeyed says that no message has a partition or an ordering key: the entry
// goes whole to the segment at the start of the source's range, bucket 0.
func (b *Batch) Unkeyed() bool { return b.keyed == 0 }

// AllCompactedOut says that nothing in the batch is left: the entry is dropped.
func (b *Batch) AllCompactedOut() bool { return b.Len() > 0 && b.compacted == b.Len() }

// Hash returns the raw hash of message i's key text. Without a partition key it
// is one that selects the start of the source segment's range.
func (b *Batch) Hash(i int) uint32 { return b.hashes[i] }

// Route returns where message i lies on the source's ring of segments.
func (b *Batch) Route(i int) uint16 { return b.src.Profile.Segment(b.hashes[i]) }

// BucketHash returns the hash that selects message i's bucket.
func (b *Batch) BucketHash(i int) uint16 { return b.bucket[i] }

// Bytes returns message i as it is in the batch: size, SingleMessageMetadata and
// body. It aliases the batch.
func (b *Batch) Bytes(i int) []byte {
	start := b.start(i)
	return b.data[start:b.ends[i]:b.ends[i]]
}

func (b *Batch) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// Ranks appends, for every message in order, its rank among the messages routed
// to d's range, ordered by (bucket, index), or -1 where it is not routed there.
// d may be sealed: its range, buckets and profile never change.
func (b *Batch) Ranks(d *layout.Segment, dst []int64) []int64 {
	n := len(d.Buckets) + 1
	b.count = resize(b.count, n)
	clear(b.count)
	for i, h := range b.hashes[:b.Len()] {
		if d.Range.Contains(d.Profile.Segment(h)) {
			b.count[d.Bucket(b.bucket[i])]++
		}
	}
	below := int32(0)
	for k, c := range b.count {
		b.count[k], below = below, below+c
	}
	for i, h := range b.hashes[:b.Len()] {
		if !d.Range.Contains(d.Profile.Segment(h)) {
			dst = append(dst, -1)
			continue
		}
		k := d.Bucket(b.bucket[i])
		dst = append(dst, int64(b.count[k]))
		b.count[k]++
	}
	return dst
}
