// SPDX-License-Identifier: Apache-2.0

package rebatch

import (
	"encoding/binary"
	"slices"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/placement"
)

// Options says how parts are written.
type Options struct {
	KeepCodec        bool // compress with the entry's codec; else parts go uncompressed
	MaxMessageBytes  int  // the destination's largest header + payload; 0 = no limit
	SetSchemaVersion bool
	SchemaVersion    []byte // the destination's, where it differs
}

// Fields of MessageMetadata that a part does not take over as they are.
const (
	fieldSequenceID       = 2
	fieldReplicatedFrom   = 5
	fieldPartitionKey     = 6
	fieldCompression      = 8
	fieldUncompressedSize = 9
	fieldNumMessages      = 11
	fieldSchemaVersion    = 16
	fieldKeyB64           = 17
	fieldOrderingKey      = 18
	fieldTxnLeast         = 22
	fieldTxnMost          = 23
	fieldHighestSequence  = 24
	fieldNullKey          = 30
	fieldCompactedIndexes = 31
)

const (
	magicChecksum = 0x0e01
	headerFixed   = 2 + 4 + 4    // magic, checksum, metadata size
	maxIndexField = 2 + 5        // one of compacted_batch_indexes
	maxMetadata   = 0x0e01 << 16 // a larger size reads as the checksum's magic
)

// PartBound returns the bytes that AppendPart needs at most: what dst must have
// free for it to be written in place.
func (b *Batch) PartBound(p *Part, origin *entry.Origin, opt *Options) int {
	c := codec.None
	if opt.KeepCodec {
		c = b.meta.Compression
	}
	n := headerFixed + len(b.raw) + b.longestKeys + partReserve + len(opt.SchemaVersion) + origin.NamesBound()
	if b.meta.CompactedIndexes > 0 {
		n += maxIndexField * len(p.Messages)
	}
	return n + c.Bound(p.UncompressedBytes)
}

// AppendPart appends the entry that p makes to dst and returns the result and
// the length of its header, which the payload follows:
//
//	0x0e01 | crc32c | metadata size | metadata | payload
//
// All fields of the source entry's metadata are carried over but those that
// speak of the whole: sequence ids, outer keys, number of messages, sizes,
// stamp and compacted_batch_indexes are the part's own, transaction ids and what
// an earlier replication wrote are cut out, replicated_from and the two
// properties of origin are set. origin.Part is p.Rank, whatever the caller says.
//
// Errors are *[Error]; dst is then returned with its old length.
func (b *Batch) AppendPart(dst []byte, p *Part, origin *entry.Origin, opt *Options) (out []byte, headerLen int, err error) {
	base := len(dst)
	c := codec.None
	if opt.KeepCodec {
		c = b.meta.Compression
	}
	dst = append(dst, make([]byte, headerFixed)...)
	dst, err = b.appendMetadata(dst, p, origin, opt, c)
	if err != nil {
		return dst[:base], 0, err
	}
	headerLen = len(dst) - base
	if headerLen-headerFixed >= maxMetadata {
		return dst[:base], 0, refuse(placement.TooLargeSingle, ErrTooLarge, "%d bytes of metadata", headerLen-headerFixed)
	}
	if dst, err = b.appendPayload(dst, p, c); err != nil {
		return dst[:base], 0, err
	}
	if n := len(dst) - base; opt.MaxMessageBytes > 0 && n > opt.MaxMessageBytes {
		return dst[:base], 0, refuse(placement.TooLargeSingle, ErrTooLarge,
			"segment %d part %d has %d bytes in %d messages, the destination takes %d",
			p.Segment.ID, p.Rank, n, len(p.Messages), opt.MaxMessageBytes)
	}
	h := dst[base:]
	binary.BigEndian.PutUint16(h, magicChecksum)
	binary.BigEndian.PutUint32(h[6:], uint32(headerLen-headerFixed))
	sum := entry.UpdateCRC32C(0, h[6:headerLen])
	if c == codec.None && len(b.sums) > 0 {
		sum = entry.CombineCRC32C(sum, b.sumOf(p), p.UncompressedBytes)
	} else {
		sum = entry.UpdateCRC32C(sum, h[headerLen:])
	}
	binary.BigEndian.PutUint32(h[2:], sum)
	return dst, headerLen, nil
}

// sumOf returns the CRC32C of the part's messages without reading them. That of
// A, then message i, is that of A moved over i, changed by what i changes in the
// entry's; and moving is linear.
func (b *Batch) sumOf(p *Part) uint32 {
	var sum uint32
	for k := 0; k < len(p.Messages); k++ {
		first := int(p.Messages[k])
		for k+1 < len(p.Messages) && p.Messages[k+1] == p.Messages[k]+1 {
			k++
		}
		last := int(p.Messages[k])
		sum = entry.CombineCRC32C(sum^b.sumBefore(first), b.sums[last], int(b.ends[last]-b.start(first)))
	}
	return sum
}

// appendMetadata appends the part's MessageMetadata.
func (b *Batch) appendMetadata(dst []byte, p *Part, origin *entry.Origin, opt *Options, c codec.Codec) ([]byte, error) {
	minTag, maxTag := entry.HashTags()
	dst, err := b.carry(dst, opt.SetSchemaVersion)
	if err != nil {
		return dst, batchError(err, 0)
	}
	dst = b.appendSequence(dst, p)
	if dst, err = b.appendOuterKeys(dst, p); err != nil {
		return dst, err
	}
	if c != codec.None {
		dst = entry.AppendVarintField(dst, fieldCompression, uint64(c))
		dst = entry.AppendVarintField(dst, fieldUncompressedSize, uint64(p.UncompressedBytes))
	}
	dst = entry.AppendVarintField(dst, fieldNumMessages, uint64(len(p.Messages)))
	if opt.SetSchemaVersion {
		dst = entry.AppendBytesField(dst, fieldSchemaVersion, opt.SchemaVersion)
	}
	if b.meta.CompactedIndexes > 0 {
		dst = b.appendCompacted(dst, p)
	}
	if p.Segment.Profile == keyhash.PIP486 {
		dst = entry.AppendVarintField(dst, minTag, uint64(p.HashMin))
		dst = entry.AppendVarintField(dst, maxTag, uint64(p.HashMax))
	}
	o := *origin
	o.Part = p.Rank
	return o.AppendFields(dst), nil
}

// carry appends what a part takes over of the source's metadata.
func (b *Batch) carry(dst []byte, withoutSchema bool) ([]byte, error) {
	minTag, maxTag := entry.HashTags()
	return entry.CopyUserFields(dst, b.raw, func(field int) bool {
		switch field {
		case fieldSequenceID, fieldReplicatedFrom, fieldPartitionKey, fieldCompression, fieldUncompressedSize,
			fieldNumMessages, fieldKeyB64, fieldOrderingKey, fieldTxnLeast, fieldTxnMost, fieldHighestSequence,
			fieldNullKey, fieldCompactedIndexes, minTag, maxTag:
			return true
		case fieldSchemaVersion:
			return withoutSchema
		}
		return false
	})
}

// appendSequence appends the lowest sequence id of the part and, where they
// differ or the source says it, the highest. A message without one has the entry's.
func (b *Batch) appendSequence(dst []byte, p *Part) []byte {
	own := false
	var low, high uint64
	for k, i := range p.Messages {
		lo, hi := b.meta.SequenceID, b.meta.SequenceID
		if b.kinds[i]&hasSequence != 0 {
			own = true
			lo, hi = b.seqs[i], b.seqs[i]
		}
		if k == 0 {
			low, high = lo, hi
		}
		low, high = min(low, lo), max(high, hi)
	}
	if !own && b.meta.HasHighestSequence {
		high = max(high, b.meta.HighestSequenceID)
	}
	dst = entry.AppendVarintField(dst, fieldSequenceID, low)
	if b.meta.HasHighestSequence || high > low {
		dst = entry.AppendVarintField(dst, fieldHighestSequence, high)
	}
	return dst
}

// appendOuterKeys appends the keys of the part's first message, as clients do.
func (b *Batch) appendOuterKeys(dst []byte, p *Part) ([]byte, error) {
	first := int(p.Messages[0])
	r := entry.NewBatchReader(b.Bytes(first), 1)
	var m entry.Message
	if !r.Next(&m) {
		return dst, batchError(r.Err(), -1)
	}
	s := &m.Single
	if s.HasPartitionKey {
		dst = entry.AppendBytesField(dst, fieldPartitionKey, s.PartitionKey)
		if s.PartitionKeyB64 {
			dst = entry.AppendVarintField(dst, fieldKeyB64, 1)
		}
	}
	if s.HasOrderingKey {
		dst = entry.AppendBytesField(dst, fieldOrderingKey, s.OrderingKey)
	}
	if s.NullPartitionKey && b.meta.NullPartitionKey {
		dst = entry.AppendVarintField(dst, fieldNullKey, 1)
	}
	return dst, nil
}

// appendCompacted renumbers compacted_batch_indexes. In spite of its name the
// field lists the messages that compaction has kept.
func (b *Batch) appendCompacted(dst []byte, p *Part) []byte {
	for k, i := range p.Messages {
		if b.kinds[i]&listed != 0 {
			dst = entry.AppendVarintField(dst, fieldCompactedIndexes, uint64(k))
		}
	}
	return dst
}

func (b *Batch) appendPayload(dst []byte, p *Part, c codec.Codec) ([]byte, error) {
	if c == codec.None {
		return b.appendMessages(dst, p), nil
	}
	src := b.run(p)
	if src == nil {
		b.pack = b.appendMessages(b.pack[:0], p)
		src = b.pack
	}
	dst, err := c.AppendEncode(dst, src)
	if err != nil {
		return dst, codecError(err, -1)
	}
	return dst, nil
}

// run returns the part's bytes where its messages stand side by side in the
// batch, else nil.
func (b *Batch) run(p *Part) []byte {
	first, last := int(p.Messages[0]), int(p.Messages[len(p.Messages)-1])
	if last-first != len(p.Messages)-1 {
		return nil
	}
	return b.data[b.start(first):b.ends[last]]
}

func (b *Batch) appendMessages(dst []byte, p *Part) []byte {
	dst = slices.Grow(dst, p.UncompressedBytes)
	for _, i := range p.Messages {
		dst = append(dst, b.data[b.start(int(i)):b.ends[i]]...)
	}
	return dst
}
