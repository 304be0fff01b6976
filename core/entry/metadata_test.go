// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"georep/core/codec"
)

// sampleMetadata is what a producer writes at least.
func sampleMetadata() []byte {
	b := AppendStringField(nil, fieldProducerName, "p")
	b = AppendVarintField(b, fieldSequenceID, 7)
	return AppendVarintField(b, fieldPublishTime, 1_700_000_000_000)
}

func TestMetadataEveryField(t *testing.T) {
	b := sampleMetadata()
	b = AppendPropertyField(b, fieldProperties, "k", "v")
	b = AppendStringField(b, fieldReplicatedFrom, "east")
	b = AppendStringField(b, fieldPartitionKey, "key")
	b = AppendStringField(b, fieldReplicateTo, "west")
	b = AppendStringField(b, fieldReplicateTo, "north")
	b = AppendVarintField(b, fieldCompression, 3)
	b = AppendVarintField(b, fieldUncompressedSize, 4_000_000_000)
	b = AppendVarintField(b, fieldNumMessages, 12)
	b = AppendVarintField(b, fieldEventTime, 99)
	b = AppendPropertyField(b, fieldEncryptionKeys, "app.key", "bytes")
	b = AppendStringField(b, fieldEncryptionAlgo, "RSA")
	b = AppendBytesField(b, fieldEncryptionParam, []byte{1, 2})
	b = AppendBytesField(b, fieldSchemaVersion, []byte{0, 0, 0, 9})
	b = AppendVarintField(b, fieldKeyB64, 1)
	b = AppendStringField(b, fieldOrderingKey, "order")
	b = AppendVarintField(b, fieldDeliverAt, 1<<64-5)
	b = AppendVarintField(b, fieldMarker, 20)
	b = AppendVarintField(b, fieldTxnLeast, 3)
	b = AppendVarintField(b, fieldTxnMost, 1<<63)
	b = AppendVarintField(b, fieldHighestSequence, 18)
	b = AppendVarintField(b, fieldNullValue, 1)
	b = AppendStringField(b, fieldUUID, "u-1")
	b = AppendVarintField(b, fieldNumChunks, 5)
	b = AppendVarintField(b, fieldTotalChunkSize, 5000)
	b = AppendVarintField(b, fieldChunkID, 4)
	b = AppendVarintField(b, fieldNullKey, 1)
	b = AppendVarintField(b, fieldCompactedIndexes, 1)
	b = AppendBytesField(b, fieldCompactedIndexes, []byte{2, 3})
	b = AppendBytesField(b, fieldSchemaID, []byte{8})
	b = AppendVarintField(b, TagHashMin, 100)
	b = AppendVarintField(b, TagHashMax, 200)
	b = AppendStringField(b, 77, "what nobody knows")
	want := Metadata{
		ProducerName: []byte("p"), SequenceID: 7, PublishTime: 1_700_000_000_000,
		HasReplicatedFrom: true, ReplicatedFrom: []byte("east"), ReplicateTo: 2, Properties: 1,
		HasPartitionKey: true, PartitionKey: []byte("key"), PartitionKeyB64: true, NullPartitionKey: true,
		HasOrderingKey: true, OrderingKey: []byte("order"),
		Compression: codec.Zstd, HasUncompressedSize: true, UncompressedSize: 4_000_000_000,
		HasBatch: true, NumMessages: 12,
		Encrypted: true, EncryptionKeys: 1, EncryptionAlgo: []byte("RSA"), EncryptionParam: []byte{1, 2},
		HasSchemaVersion: true, SchemaVersion: []byte{0, 0, 0, 9}, HasSchemaID: true, SchemaID: []byte{8},
		HasDeliverAt: true, DeliverAt: -5, HasMarker: true, Marker: 20,
		HasTxn: true, TxnLeast: 3, TxnMost: 1 << 63, hasLeast: true, hasMost: true,
		HasEventTime: true, EventTime: 99, HasHighestSequence: true, HighestSequenceID: 18, NullValue: true,
		HasUUID: true, UUID: []byte("u-1"), HasChunk: true, HasChunkID: true, HasNumChunks: true,
		NumChunks: 5, ChunkID: 4, TotalChunkSize: 5000, CompactedIndexes: 3,
		Stamped: true, HashMin: 100, HashMax: 200, hasMin: true, hasMax: true,
	}
	var m Metadata
	if err := m.Parse(b); err != nil {
		t.Fatal(err)
	}
	if diff := diffMetadata(&m, &want); diff != "" {
		t.Errorf("differs in %s", diff)
	}
	if err := m.Parse(sampleMetadata()); err != nil {
		t.Fatal(err)
	}
	plain := Metadata{ProducerName: []byte("p"), SequenceID: 7, PublishTime: 1_700_000_000_000, NumMessages: 1}
	if diff := diffMetadata(&m, &plain); diff != "" {
		t.Errorf("Parse kept something of the entry before: %s", diff)
	}
	var indexes []int32
	if err := EachCompactedIndex(b, func(i int32) bool { indexes = append(indexes, i); return true }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(indexes, []int32{1, 2, 3}) {
		t.Errorf("compacted indexes %v", indexes)
	}
}

func TestMetadataBad(t *testing.T) {
	ok := sampleMetadata()
	n := len(ok)
	for _, c := range []struct {
		name, tail string // hex after a good start
		offset     int
		field      string
	}{
		{"group start", "0b", n, "producer_name"},
		{"group end", "3c", n, "replicate_to"},
		{"reserved wire type", "0e", n, "producer_name"},
		{"field number 0", "0001", n, "field tag"},
		{"field number 2^29", "808080801001", n, "field tag"},
		{"tag without end", "ff", n, "field tag"},
		{"tag of eleven bytes", "8080808080808080808001", n, "field tag"},
		{"varint without end", "58ff", n + 1, "num_messages_in_batch"},
		{"varint of eleven bytes", "58" + "8080808080808080808001", n + 1, "num_messages_in_batch"},
		{"no value", "58", n + 1, "num_messages_in_batch"},
		{"length beyond the end", "3205616263", n + 1, "partition_key"},
		{"length of 2^63", "32ffffffffffffffff7f", n + 1, "partition_key"},
		{"length of 2^32+1", "32818080801061", n + 1, "partition_key"},
		{"fixed64 cut", "c10401020304", n + 2, "field 72"},
		{"fixed32 cut", "c504010203", n + 2, "field 72"},
		{"property without key", "22021200", n + 4, "key"},
		{"property without value", "22020a00", n + 4, "value"},
		{"property with a bad field", "22030a0561", n + 3, "field 1"},
		{"encryption key without value", "6a020a00", n + 4, "value"},
		{"encryption key with bad metadata", "6a080a0012001a020a00", n + 10, "value"},
		{"packed numbers with a bad varint", "fa01020180", n + 4, "compacted_batch_indexes"},
	} {
		tail, err := hex.DecodeString(c.tail)
		if err != nil {
			t.Fatal(err)
		}
		var m Metadata
		err = m.Parse(append(bytes.Clone(ok), tail...))
		var f *FormatError
		if !errors.As(err, &f) || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if f.Offset != c.offset || f.Field != c.field {
			t.Errorf("%s: at byte %d in %s, want byte %d in %s", c.name, f.Offset, f.Field, c.offset, c.field)
		}
	}
	for name, b := range map[string][]byte{
		"producer_name": AppendVarintField(AppendVarintField(nil, 2, 1), 3, 1),
		"sequence_id":   AppendVarintField(AppendStringField(nil, 1, "p"), 3, 1),
		"publish_time":  AppendVarintField(AppendStringField(nil, 1, "p"), 2, 1),
	} {
		var m Metadata
		if err := m.Parse(b); err == nil || !strings.Contains(err.Error(), name+": required and absent") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestMetadataLastOneWins(t *testing.T) {
	b := AppendStringField(sampleMetadata(), fieldPartitionKey, "first")
	b = AppendVarintField(b, fieldNumMessages, 3)
	b = append(b, 6<<3|wireFixed32, 1, 2, 3, 4) // another type: an unknown field
	b = append(b, 11<<3|wireBytes, 1, 'x')
	b = AppendStringField(b, fieldPartitionKey, "second")
	b = AppendVarintField(b, fieldNumMessages, 4)
	// Negative int32 values are ten bytes; wider ones lose their upper bits.
	b = AppendVarintField(b, fieldMarker, 1<<40|21)
	b = AppendVarintField(b, fieldNumChunks, 1<<64-1)
	b = AppendVarintField(b, fieldCompression, 1<<32|1)
	// Ten bytes whose last has bits beyond the 64th: LightProto drops them.
	b = append(b, fieldEventTime<<3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f)
	var m Metadata
	if err := m.Parse(b); err != nil {
		t.Fatal(err)
	}
	if string(m.PartitionKey) != "second" || m.NumMessages != 4 || m.Marker != 21 || m.NumChunks != -1 ||
		m.Compression != codec.LZ4 || m.EventTime != 1<<63 {
		t.Errorf("key %q, messages %d, marker %d, chunks %d, codec %v, event time %#x",
			m.PartitionKey, m.NumMessages, m.Marker, m.NumChunks, m.Compression, m.EventTime)
	}
}

func TestMetadataAgainstProtobuf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	good, bad := 0, 0
	for range 30_000 {
		b := randomMessage(r, metadataDefs, false)
		if r.IntN(20) == 0 && len(b) > 0 {
			b = b[:r.IntN(len(b))]
		}
		if compareMetadata(t, b) {
			good++
		} else {
			bad++
		}
		if t.Failed() {
			t.Fatalf("metadata %x", b)
		}
	}
	if good < 5000 || bad < 1000 {
		t.Errorf("%d good and %d bad messages: the generator leans to one side", good, bad)
	}
}

// compareMetadata reads b with both readers and reports whether it is good.
func compareMetadata(t *testing.T, b []byte) bool {
	ref := newModel("MessageMetadata")
	refErr := ref.parse(b)
	var m Metadata
	err := m.Parse(b)
	if (err == nil) != (refErr == nil) {
		t.Errorf("error %v, the library says %v", err, refErr)
		return false
	}
	if err != nil {
		return false
	}
	want := Metadata{
		ProducerName: ref.bytes("producer_name"), SequenceID: ref.u64("sequence_id"), PublishTime: ref.u64("publish_time"),
		HasReplicatedFrom: ref.has("replicated_from"), ReplicatedFrom: ref.bytes("replicated_from"),
		ReplicateTo: ref.count("replicate_to"), Properties: ref.count("properties"),
		HasPartitionKey: ref.has("partition_key"), PartitionKey: ref.bytes("partition_key"),
		PartitionKeyB64: ref.bool("partition_key_b64_encoded"), NullPartitionKey: ref.bool("null_partition_key"),
		HasOrderingKey: ref.has("ordering_key"), OrderingKey: ref.bytes("ordering_key"),
		HasUncompressedSize: ref.has("uncompressed_size"), UncompressedSize: uint32(ref.u64("uncompressed_size")),
		HasBatch: ref.has("num_messages_in_batch"), NumMessages: int32(ref.i64("num_messages_in_batch")),
		Encrypted: ref.count("encryption_keys") > 0, EncryptionKeys: ref.count("encryption_keys"),
		EncryptionAlgo: ref.bytes("encryption_algo"), EncryptionParam: ref.bytes("encryption_param"),
		HasSchemaVersion: ref.has("schema_version"), SchemaVersion: ref.bytes("schema_version"),
		HasSchemaID: ref.has("schema_id"), SchemaID: ref.bytes("schema_id"),
		HasDeliverAt: ref.has("deliver_at_time"), DeliverAt: ref.i64("deliver_at_time"),
		HasMarker: ref.has("marker_type"), Marker: int32(ref.i64("marker_type")),
		hasLeast: ref.has("txnid_least_bits"), hasMost: ref.has("txnid_most_bits"),
		TxnLeast: ref.u64("txnid_least_bits"), TxnMost: ref.u64("txnid_most_bits"),
		HasEventTime: ref.has("event_time"), EventTime: ref.u64("event_time"),
		HasHighestSequence: ref.has("highest_sequence_id"), HighestSequenceID: ref.u64("highest_sequence_id"),
		NullValue: ref.bool("null_value"), HasUUID: ref.has("uuid"), UUID: ref.bytes("uuid"),
		HasNumChunks: ref.has("num_chunks_from_msg"), NumChunks: int32(ref.i64("num_chunks_from_msg")),
		HasChunkID: ref.has("chunk_id"), ChunkID: int32(ref.i64("chunk_id")),
		TotalChunkSize: int32(ref.i64("total_chunk_msg_size")), CompactedIndexes: ref.count("compacted_batch_indexes"),
		hasMin: ref.has("entry_hash_min"), hasMax: ref.has("entry_hash_max"),
		HashMin: uint32(ref.u64("entry_hash_min")), HashMax: uint32(ref.u64("entry_hash_max")),
	}
	if !want.HasBatch {
		want.NumMessages = 1
	}
	want.HasTxn = want.hasLeast && want.hasMost
	want.Stamped = want.hasMin && want.hasMax
	want.HasChunk = want.HasChunkID || want.NumChunks > 1
	want.Compression = codec.Codec(min(uint32(ref.u64("compression")), 255))
	if diff := diffMetadata(&m, &want); diff != "" {
		t.Errorf("differs in %s", diff)
	}
	var props []string
	if err := EachProperty(b, func(k, v []byte) bool { props = append(props, string(k)+"="+string(v)); return true }); err != nil {
		t.Error(err)
	}
	if w := ref.pairs("properties"); !slices.Equal(props, w) {
		t.Errorf("properties %q, want %q", props, w)
	}
	return true
}

func TestReplicatesTo(t *testing.T) {
	base := sampleMetadata()
	local := AppendStringField(bytes.Clone(base), fieldReplicateTo, "__local__")
	two := AppendStringField(AppendStringField(bytes.Clone(base), fieldReplicateTo, "west"), fieldReplicateTo, "north")
	for _, c := range []struct {
		name            string
		meta            []byte
		cluster         string
		present, listed bool
	}{
		{"absent", base, "west", false, false},
		{"local only", local, "west", true, false},
		{"first", two, "west", true, true},
		{"second", two, "north", true, true},
		{"not in the list", two, "nor", true, false},
		{"empty name", AppendStringField(bytes.Clone(base), fieldReplicateTo, ""), "west", true, false},
	} {
		present, listed := ReplicatesTo(c.meta, c.cluster)
		if present != c.present || listed != c.listed {
			t.Errorf("%s: %v %v, want %v %v", c.name, present, listed, c.present, c.listed)
		}
	}
}

func TestHashTags(t *testing.T) {
	defer func() {
		if err := SetHashTags(TagHashMin, TagHashMax); err != nil {
			t.Fatal(err)
		}
	}()
	for _, bad := range [][2]int{{32, 33}, {33, 33}, {40, 0}, {-1, 40}, {1 << 29, 40}, {40, 1 << 29}} {
		if err := SetHashTags(bad[0], bad[1]); !errors.Is(err, ErrHashTags) {
			t.Errorf("SetHashTags(%d, %d) = %v", bad[0], bad[1], err)
		}
	}
	if err := SetHashTags(40, 41); err != nil {
		t.Fatal(err)
	}
	b := AppendVarintField(AppendVarintField(sampleMetadata(), 40, 0), 41, 65535)
	b = AppendVarintField(AppendVarintField(b, TagHashMin, 1), TagHashMax, 2)
	var m Metadata
	if err := m.Parse(b); err != nil || !m.Stamped || m.HashMin != 0 || m.HashMax != 65535 {
		t.Errorf("%v: stamped %v %d..%d", err, m.Stamped, m.HashMin, m.HashMax)
	}
	if lo, hi := HashTags(); lo != 40 || hi != 41 || FieldName(40) != "entry_hash_min" || FieldName(41) != "entry_hash_max" {
		t.Errorf("tags %d %d, names %q %q", lo, hi, FieldName(40), FieldName(41))
	}
}

func TestStampNeedsBoth(t *testing.T) {
	var m Metadata
	if err := m.Parse(AppendVarintField(sampleMetadata(), TagHashMin, 5)); err != nil || m.Stamped {
		t.Errorf("%v: half a stamp counts as %v", err, m.Stamped)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	b := AppendStringField(AppendPropertyField(sampleMetadata(), 4, "k", "v"), fieldPartitionKey, "key")
	b = AppendVarintField(AppendVarintField(b, TagHashMin, 1), TagHashMax, 2)
	var m Metadata
	if n := testing.AllocsPerRun(100, func() { _ = m.Parse(b) }); n != 0 {
		t.Errorf("%.1f allocations", n)
	}
}
