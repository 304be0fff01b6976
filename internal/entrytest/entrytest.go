// SPDX-License-Identifier: Apache-2.0

// Package entrytest builds entries for tests and benchmarks, as Pulsar's clients
// write them. It is not part of the product. Everything it is given is written
// as it is, wrong values included.
package entrytest

import (
	"encoding/binary"
	"fmt"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
)

// Message is one message of a batch, or the only one of an unbatched entry.
type Message struct {
	Key          string // partition key, where HasKey
	HasKey       bool
	B64          bool
	NullKey      bool
	Ordering     string // ordering key, where not empty
	Seq          int64  // sequence id; negative: none
	EventTime    uint64
	Props        [][2]string
	NullValue    bool
	CompactedOut bool
	Body         []byte
	Extra        []byte // raw fields, appended to the metadata
}

// Keyed returns a message with a key.
func Keyed(key string, seq int64, body []byte) Message {
	return Message{Key: key, HasKey: true, Seq: seq, Body: body}
}

// Append appends the message as it is in a batch.
func (m *Message) Append(dst []byte) []byte {
	return entry.AppendMessage(dst, m.Meta(), m.Body)
}

// Meta returns the SingleMessageMetadata.
func (m *Message) Meta() []byte {
	var b []byte
	for _, p := range m.Props {
		b = entry.AppendPropertyField(b, 1, p[0], p[1])
	}
	if m.HasKey {
		b = entry.AppendStringField(b, 2, m.Key)
	}
	b = entry.AppendVarintField(b, 3, uint64(len(m.Body)))
	if m.CompactedOut {
		b = entry.AppendVarintField(b, 4, 1)
	}
	if m.EventTime != 0 {
		b = entry.AppendVarintField(b, 5, m.EventTime)
	}
	if m.B64 {
		b = entry.AppendVarintField(b, 6, 1)
	}
	if m.Ordering != "" {
		b = entry.AppendStringField(b, 7, m.Ordering)
	}
	if m.Seq >= 0 {
		b = entry.AppendVarintField(b, 8, uint64(m.Seq))
	}
	if m.NullValue {
		b = entry.AppendVarintField(b, 9, 1)
	}
	if m.NullKey {
		b = entry.AppendVarintField(b, 10, 1)
	}
	return append(b, m.Extra...)
}

// BucketHash returns the hash that selects the message's bucket.
func (m *Message) BucketHash() uint16 {
	return keyhash.Bucket(entry.BucketHash(m.Ordering != "", []byte(m.Ordering), m.HasKey, []byte(m.Key)))
}

// Batch describes a batch entry in the shape of the Java client's.
type Batch struct {
	Messages []Message
	Codec    codec.Codec
	Stamp    bool                // write the stamp that a bucketing producer would
	Stamped  *[2]uint32          // write this one instead
	Count    *int32              // num_messages_in_batch instead of the right one
	Size     *uint32             // uncompressed_size instead of the right one
	NoSize   bool                // leave uncompressed_size out
	Encrypt  bool                // claim to be encrypted
	Outer    []Message           // keys of the metadata, from Outer[0] instead of the first message
	NoOuter  bool                // no outer keys
	Extra    []byte              // raw fields, appended to the metadata
	Props    [][2]string         // outer properties
	To       []string            // replicate_to
	Broker   bool                // with broker entry metadata
	NoCRC    bool                // without checksum
	Payload  func([]byte) []byte // changes the packed payload
}

// Bytes returns the entry. It panics where the codec fails.
func (b *Batch) Bytes() []byte {
	var plain []byte
	for i := range b.Messages {
		plain = b.Messages[i].Append(plain)
	}
	payload, err := b.Codec.AppendEncode(nil, plain)
	if err != nil {
		panic(fmt.Sprintf("entrytest: %v", err))
	}
	if b.Payload != nil {
		payload = b.Payload(payload)
	}
	return frame(b.meta(len(plain)), payload, b.Broker, b.NoCRC)
}

func (b *Batch) meta(size int) []byte {
	low, high := b.sequence()
	m := head(low, b.Props, b.To)
	outer := b.Outer
	if outer == nil && len(b.Messages) > 0 && !b.NoOuter {
		outer = b.Messages[:1]
	}
	if len(outer) > 0 {
		m = appendKeys(m, &outer[0])
	}
	if b.Codec != codec.None {
		m = entry.AppendVarintField(m, 8, uint64(b.Codec))
	}
	if b.Size != nil {
		m = entry.AppendVarintField(m, 9, uint64(*b.Size))
	} else if b.Codec != codec.None && !b.NoSize {
		m = entry.AppendVarintField(m, 9, uint64(size))
	}
	count := int32(len(b.Messages))
	if b.Count != nil {
		count = *b.Count
	}
	m = entry.AppendVarintField(m, 11, uint64(int64(count)))
	m = entry.AppendVarintField(m, 24, high)
	return append(b.stamp(b.encrypt(m)), b.Extra...)
}

func (b *Batch) encrypt(m []byte) []byte {
	if b.Encrypt {
		m = entry.AppendPropertyField(m, 13, "k", "v")
	}
	return m
}

func (b *Batch) stamp(m []byte) []byte {
	minTag, maxTag := entry.HashTags()
	lo, hi := uint32(0), uint32(0)
	switch {
	case b.Stamped != nil:
		lo, hi = b.Stamped[0], b.Stamped[1]
	case b.Stamp:
		for i := range b.Messages {
			h := uint32(b.Messages[i].BucketHash())
			if i == 0 {
				lo, hi = h, h
			}
			lo, hi = min(lo, h), max(hi, h)
		}
	default:
		return m
	}
	m = entry.AppendVarintField(m, minTag, uint64(lo))
	return entry.AppendVarintField(m, maxTag, uint64(hi))
}

func (b *Batch) sequence() (low, high uint64) {
	for i := range b.Messages {
		s := uint64(max(b.Messages[i].Seq, 0))
		if i == 0 {
			low, high = s, s
		}
		low, high = min(low, s), max(high, s)
	}
	return low, high
}

// Single describes an unbatched entry.
type Single struct {
	Message Message
	Extra   []byte // raw fields, appended to the metadata
	Stamped *[2]uint32
	Encrypt bool
	To      []string
	NoCRC   bool
}

// Bytes returns the entry.
func (s *Single) Bytes() []byte {
	m := head(uint64(max(s.Message.Seq, 0)), s.Message.Props, s.To)
	m = appendKeys(m, &s.Message)
	b := Batch{Stamped: s.Stamped, Encrypt: s.Encrypt}
	m = append(b.stamp(b.encrypt(m)), s.Extra...)
	return frame(m, s.Message.Body, false, s.NoCRC)
}

func head(seq uint64, props [][2]string, to []string) []byte {
	m := entry.AppendStringField(nil, 1, "producer-1")
	m = entry.AppendVarintField(m, 2, seq)
	m = entry.AppendVarintField(m, 3, 1700000000000)
	for _, p := range props {
		m = entry.AppendPropertyField(m, 4, p[0], p[1])
	}
	for _, t := range to {
		m = entry.AppendStringField(m, 7, t)
	}
	return m
}

func appendKeys(m []byte, s *Message) []byte {
	if s.HasKey {
		m = entry.AppendStringField(m, 6, s.Key)
		if s.B64 {
			m = entry.AppendVarintField(m, 17, 1)
		}
	}
	if s.Ordering != "" {
		m = entry.AppendStringField(m, 18, s.Ordering)
	}
	return m
}

func frame(meta, payload []byte, broker, noCRC bool) []byte {
	var out []byte
	if broker {
		b := entry.AppendVarintField(nil, 1, 1700000000001)
		b = entry.AppendVarintField(b, 2, 41)
		out = binary.BigEndian.AppendUint16(out, 0x0e02)
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	at := len(out)
	out = entry.AppendHeaderForPayload(out, meta, payload)
	if noCRC {
		out = append(out[:at], out[at+6:]...)
	}
	return append(out, payload...)
}

// Parse takes an entry apart. It panics where that fails.
func Parse(raw []byte) (f entry.Frame, m entry.Metadata) {
	f, err := entry.ParseFrame(raw, 0)
	if err == nil {
		err = m.Parse(f.Metadata)
	}
	if err != nil {
		panic(fmt.Sprintf("entrytest: %v", err))
	}
	return f, m
}
