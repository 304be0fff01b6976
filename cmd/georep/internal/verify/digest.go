// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"

	"georep/core/codec"
	"georep/core/entry"
)

// maxDecoded caps what one entry may decompress to, in bytes.
const maxDecoded = 512 << 20

var errUnreadable = errors.New("verify: unreadable entry")

// digest is the first half of a SHA-256 over everything of a message that
// replication must keep.
type digest [16]byte

func (d digest) compare(o digest) int { return bytes.Compare(d[:], o[:]) }

// opener takes entries apart and digests what is in them; it reuses its memory.
type opener struct {
	frame entry.Frame
	meta  entry.Metadata
	data  []byte
	sum   hash.Hash
	text  []byte
}

func (o *opener) parse(raw []byte) (*entry.Frame, *entry.Metadata, error) {
	var err error
	if o.frame, err = entry.ParseFrame(raw, 0); err != nil {
		return nil, nil, err
	}
	return &o.frame, &o.meta, o.meta.Parse(o.frame.Metadata)
}

// body returns the decompressed payload. What is encrypted, or a chunk, stays
// as it is.
func (o *opener) body(f *entry.Frame, m *entry.Metadata) ([]byte, error) {
	if m.Encrypted || m.HasChunk || m.Compression == codec.None {
		return f.Payload, nil
	}
	if !m.HasUncompressedSize || m.UncompressedSize > maxDecoded {
		return nil, errUnreadable
	}
	var err error
	o.data, err = m.Compression.AppendDecode(o.data[:0], f.Payload, int(m.UncompressedSize))
	return o.data, err
}

// bytes digests raw as it is.
func (o *opener) bytes(raw []byte) digest {
	full := sha256.Sum256(raw)
	return digest(full[:16])
}

// message digests one message: body, and the texts that describe it. Texts are
// written with their lengths, so that no two lists look alike.
func (o *opener) message(body []byte) digest {
	if o.sum == nil {
		o.sum = sha256.New()
	}
	o.sum.Reset()
	o.sum.Write(o.text)
	o.sum.Write(body)
	var full [sha256.Size]byte
	return digest(o.sum.Sum(full[:0])[:16])
}

func (o *opener) bytesField(has bool, b []byte) {
	if !has {
		o.text = append(o.text, 0)
		return
	}
	o.text = append(o.text, 1)
	o.text = binary.AppendUvarint(o.text, uint64(len(b)))
	o.text = append(o.text, b...)
}

func (o *opener) number(v uint64) { o.text = binary.AppendUvarint(o.text, v) }

func (o *opener) flags(bits ...bool) {
	for _, b := range bits {
		o.text = append(o.text, 0)
		if b {
			o.text[len(o.text)-1] = 1
		}
	}
}

// properties writes those that replication did not add.
func (o *opener) properties(each func(fn func(key, value []byte) bool) error) error {
	err := each(func(key, value []byte) bool {
		if string(key) != entry.OriginProperty && string(key) != entry.SourcePositionProperty {
			o.bytesField(true, key)
			o.bytesField(true, value)
		}
		return true
	})
	o.flags(false)
	return err
}

// outer writes what the entry's metadata says for all of its messages.
func (o *opener) outer(f *entry.Frame, m *entry.Metadata) error {
	o.bytesField(true, m.ProducerName)
	o.number(m.PublishTime)
	o.flags(m.HasBatch, m.HasDeliverAt, m.Encrypted, m.HasChunk)
	o.number(uint64(m.DeliverAt))
	return o.properties(func(fn func(key, value []byte) bool) error { return entry.EachProperty(f.Metadata, fn) })
}

// single writes the rest of an entry that is no batch, or that stays closed.
func (o *opener) single(m *entry.Metadata) {
	o.bytesField(m.HasPartitionKey, m.PartitionKey)
	o.bytesField(m.HasOrderingKey, m.OrderingKey)
	o.flags(m.PartitionKeyB64, m.NullPartitionKey, m.NullValue, m.HasEventTime)
	o.number(m.EventTime)
	o.number(m.SequenceID)
	o.bytesField(m.HasUUID, m.UUID)
	o.number(uint64(m.ChunkID))
	o.number(uint64(m.NumMessages))
	o.bytesField(m.Encrypted, m.EncryptionParam)
}

// batched writes one message of a batch.
func (o *opener) batched(m *entry.Message) error {
	s := &m.Single
	o.bytesField(s.HasPartitionKey, s.PartitionKey)
	o.bytesField(s.HasOrderingKey, s.OrderingKey)
	o.flags(s.PartitionKeyB64, s.NullPartitionKey, s.NullValue, s.CompactedOut, s.HasEventTime, s.HasSequenceID)
	o.number(s.EventTime)
	o.number(s.SequenceID)
	return o.properties(func(fn func(key, value []byte) bool) error { return entry.EachSingleProperty(m.Meta, fn) })
}
