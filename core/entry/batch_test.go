// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// single writes a SingleMessageMetadata with a key ("" is none) for a body.
func single(key string, body []byte) []byte {
	var b []byte
	if key != "" {
		b = AppendStringField(b, 2, key)
	}
	return AppendVarintField(b, 3, uint64(len(body)))
}

func TestBatchReader(t *testing.T) {
	var p []byte
	bodies := [][]byte{[]byte("one"), nil, []byte("three")}
	keys := []string{"a", "", "c"}
	for i, body := range bodies {
		p = AppendMessage(p, single(keys[i], body), body)
	}
	r := NewBatchReader(p, 3)
	var m Message
	var joined []byte
	for i := range 3 {
		if !r.Next(&m) {
			t.Fatalf("message %d: %v", i, r.Err())
		}
		if m.Index != i || !bytes.Equal(m.Payload, bodies[i]) || string(m.Single.PartitionKey) != keys[i] || m.Single.HasPartitionKey != (keys[i] != "") {
			t.Errorf("message %d: index %d, key %q, body %q", i, m.Index, m.Single.PartitionKey, m.Payload)
		}
		joined = append(joined, m.Raw...)
	}
	if r.Next(&m) || r.Err() != nil {
		t.Errorf("after the last: %v", r.Err())
	}
	if !bytes.Equal(joined, p) {
		t.Error("the raw messages are not the payload")
	}
	// Known before the first message, so that a caller can size things by it.
	if many := NewBatchReader(p, len(p)/6+1); !errors.Is(many.Err(), ErrFormat) {
		t.Errorf("%d messages in %d bytes: %v", len(p)/6+1, len(p), many.Err())
	}
	empty := NewBatchReader(nil, 0)
	if empty.Next(&m) || empty.Err() != nil {
		t.Errorf("a batch of none: %v", empty.Err())
	}
}

func TestBatchReaderBad(t *testing.T) {
	one := AppendMessage(nil, single("k", []byte("body")), []byte("body"))
	size := func(v uint64) []byte { return AppendVarintField(AppendStringField(nil, 2, "k"), 3, v) }
	for _, c := range []struct {
		name    string
		payload []byte
		n       int
		good    int // messages before the error
		offset  int
		field   string
	}{
		{"count -1", one, -1, 0, 0, "num_messages_in_batch"},
		{"count 2^31-1", one, math.MaxInt32, 0, 0, "num_messages_in_batch"},
		{"count -2^31", one, math.MinInt32, 0, 0, "num_messages_in_batch"},
		{"one counted twice", slices.Concat(one, unhex(t, "000000")), 2, 1, 16, "single message metadata size"},
		{"bytes in a batch of none", one, 0, 0, 0, "num_messages_in_batch"},
		{"bytes after the last", append(bytes.Clone(one), 0), 1, 0, 13, "batch"},
		{"metadata too long", unhex(t, "000000ff0000"), 1, 0, 0, "single message metadata size"},
		{"metadata of 2^32-1", unhex(t, "ffffffff0000"), 1, 0, 0, "single message metadata size"},
		{"body too long", AppendMessage(nil, size(5), []byte("body")), 1, 0, 9, "payload_size"},
		{"negative body", AppendMessage(nil, size(1<<64-1), []byte("body")), 1, 0, 18, "payload_size"},
		{"no payload_size", AppendMessage(nil, []byte{0x20, 1}, nil), 1, 0, 6, "payload_size"},
		{"bad metadata", AppendMessage(nil, []byte{0x18, 0, 0x0b}, nil), 1, 0, 6, "field 1"},
		{"property without key", AppendMessage(nil, unhex(t, "0a0212001800"), nil), 1, 0, 8, "key"},
	} {
		r := NewBatchReader(c.payload, c.n)
		var m Message
		got := 0
		for r.Next(&m) {
			got++
		}
		var f *FormatError
		if !errors.As(r.Err(), &f) || !errors.Is(r.Err(), ErrFormat) {
			t.Errorf("%s: error %v", c.name, r.Err())
			continue
		}
		if got != c.good || f.Offset != c.offset || f.Field != c.field {
			t.Errorf("%s: %d messages, byte %d in %s; want %d, byte %d in %s", c.name, got, f.Offset, f.Field, c.good, c.offset, c.field)
		}
	}
}

func TestSingleAgainstProtobuf(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	good := 0
	for range 20_000 {
		b := randomMessage(r, singleDefs, false)
		if compareSingle(t, b) {
			good++
		}
		if t.Failed() {
			t.Fatalf("metadata %x", b)
		}
	}
	if good < 5000 {
		t.Errorf("only %d good messages", good)
	}
}

func compareSingle(t *testing.T, b []byte) bool {
	ref := newModel("SingleMessageMetadata")
	refErr := ref.parse(b)
	var s Single
	err := s.Parse(b)
	if (err == nil) != (refErr == nil) {
		t.Errorf("error %v, the library says %v", err, refErr)
	}
	if err != nil || refErr != nil {
		return false
	}
	want := Single{
		Properties:      ref.count("properties"),
		HasPartitionKey: ref.has("partition_key"), PartitionKey: ref.bytes("partition_key"),
		PartitionKeyB64: ref.bool("partition_key_b64_encoded"), NullPartitionKey: ref.bool("null_partition_key"),
		HasOrderingKey: ref.has("ordering_key"), OrderingKey: ref.bytes("ordering_key"),
		PayloadSize: int32(ref.i64("payload_size")), CompactedOut: ref.bool("compacted_out"),
		HasEventTime: ref.has("event_time"), EventTime: ref.u64("event_time"),
		HasSequenceID: ref.has("sequence_id"), SequenceID: ref.u64("sequence_id"),
		NullValue: ref.bool("null_value"),
	}
	if diff := diffMetadata(&s, &want); diff != "" {
		t.Errorf("differs in %s", diff)
	}
	var props []string
	_ = EachSingleProperty(b, func(k, v []byte) bool { props = append(props, string(k)+"="+string(v)); return true })
	if w := ref.pairs("properties"); !slices.Equal(props, w) {
		t.Errorf("properties %q, want %q", props, w)
	}
	return true
}

func TestHashes(t *testing.T) {
	k1, order := []byte("k1"), []byte("AAE=")
	for _, c := range []struct {
		name        string
		s           Single
		key, bucket uint32
	}{
		{"no key", Single{}, 0, 0},
		{"key", Single{HasPartitionKey: true, PartitionKey: k1}, 0xfdc6602a, 0xfdc6602a},
		{"ordering key", Single{HasOrderingKey: true, OrderingKey: k1}, 0, 0xfdc6602a},
		{"base64 text is not decoded", Single{HasPartitionKey: true, PartitionKey: order, PartitionKeyB64: true}, 0, 0},
		{"ordering key before key", Single{HasPartitionKey: true, PartitionKey: k1, HasOrderingKey: true, OrderingKey: order}, 0xfdc6602a, 0},
		{"empty ordering key", Single{HasPartitionKey: true, PartitionKey: k1, HasOrderingKey: true}, 0xfdc6602a, 0},
		{"left-over bytes without a key", Single{PartitionKey: k1}, 0, 0},
	} {
		m := Metadata{
			HasPartitionKey: c.s.HasPartitionKey, PartitionKey: c.s.PartitionKey,
			HasOrderingKey: c.s.HasOrderingKey, OrderingKey: c.s.OrderingKey,
		}
		switch c.name {
		case "base64 text is not decoded":
			if got := c.s.BucketHash() & 0xffff; got != 0xb1c4 {
				t.Errorf("%s: %#x", c.name, got)
			}
			continue
		case "ordering key before key":
			c.bucket = KeyHash(true, order)
		}
		if c.s.KeyHash() != c.key || m.KeyHash() != c.key {
			t.Errorf("%s: key hash %#x %#x, want %#x", c.name, c.s.KeyHash(), m.KeyHash(), c.key)
		}
		if c.s.BucketHash() != c.bucket || m.BucketHash() != c.bucket {
			t.Errorf("%s: bucket hash %#x %#x, want %#x", c.name, c.s.BucketHash(), m.BucketHash(), c.bucket)
		}
	}
}
