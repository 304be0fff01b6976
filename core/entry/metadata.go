// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"errors"
	"math"

	"georep/core/codec"
)

// Metadata is a decoded MessageMetadata. Byte slices alias what was parsed and
// are meaningful only where the Has field beside them is true. Numbers whose
// field is absent have protobuf's default.
type Metadata struct {
	ProducerName            []byte
	SequenceID, PublishTime uint64 // PublishTime and EventTime in ms since 1970

	HasReplicatedFrom bool
	ReplicatedFrom    []byte // name of the cluster that the entry was copied from
	ReplicateTo       int    // occurrences of replicate_to; see ReplicatesTo
	Properties        int    // occurrences of properties; see EachProperty

	HasPartitionKey  bool
	PartitionKey     []byte // the text, base64 not decoded
	PartitionKeyB64  bool
	NullPartitionKey bool
	HasOrderingKey   bool
	OrderingKey      []byte

	Compression         codec.Codec // numbers without a codec too, which LightProto drops; above 255 it is 255
	HasUncompressedSize bool
	UncompressedSize    uint32 // bytes; of the whole message on a chunk

	HasBatch    bool  // num_messages_in_batch is present
	NumMessages int32 // its value as it is; 1 where absent

	Encrypted       bool // encryption_keys are present
	EncryptionKeys  int  // their number
	EncryptionAlgo  []byte
	EncryptionParam []byte

	HasSchemaVersion bool
	SchemaVersion    []byte
	HasSchemaID      bool
	SchemaID         []byte

	HasDeliverAt bool
	DeliverAt    int64 // ms since 1970
	HasMarker    bool
	Marker       int32 // 10-13 replicated subscriptions, 20-22 transactions

	HasTxn             bool // both halves of the id are present
	TxnLeast, TxnMost  uint64
	hasLeast, hasMost  bool
	HasEventTime       bool
	EventTime          uint64
	HasHighestSequence bool
	HighestSequenceID  uint64
	NullValue          bool

	HasUUID        bool
	UUID           []byte
	HasChunk       bool // the entry is one chunk of a larger message
	HasChunkID     bool
	HasNumChunks   bool
	NumChunks      int32
	ChunkID        int32
	TotalChunkSize int32

	CompactedIndexes int // numbers in compacted_batch_indexes; see EachCompactedIndex

	Stamped          bool   // both stamp fields are present
	HashMin, HashMax uint32 // as written; a sane stamp is HashMin <= HashMax <= 65535
	hasMin, hasMax   bool

	fields        uint64 // bit n: field n is there, of whatever wire type; 63 for all above 62
	ownProperties bool   // some property is one that replication writes
}

// spliced says whether the splice may have to cut something out of what m was
// parsed from: replicated_from, a transaction's id, what an earlier replication
// wrote, and schema_version where that is replaced.
func (m *Metadata) spliced(schemaToo bool) bool {
	cut := uint64(1<<fieldReplicatedFrom | 1<<fieldTxnLeast | 1<<fieldTxnMost)
	if schemaToo {
		cut |= 1 << fieldSchemaVersion
	}
	return m.fields&cut != 0 || m.ownProperties
}

// Parse reads a MessageMetadata into m, replacing what m held. It allocates
// nothing unless it fails. Properties and encryption keys are checked too.
//
// Errors are a *FormatError over ErrFormat; the offset counts from b's start.
func (m *Metadata) Parse(b []byte) error {
	*m = Metadata{NumMessages: 1}
	tags := hashTags.Load()
	var seen uint // of the required fields 1..3
	r := reader{b: b}
	for r.next() {
		m.fields |= 1 << min(r.num, 63)
		switch r.typ {
		case wireVarint:
			if r.num > lastKnownField {
				m.setStamp(tags, r.num, uint32(r.v))
				continue
			}
			if r.num == fieldSequenceID || r.num == fieldPublishTime {
				seen |= 1 << r.num
			}
			m.setVarint(r.num, r.v)
		case wireBytes:
			if r.num == fieldProducerName {
				seen |= 1 << fieldProducerName
			}
			if err := m.setBytes(r.num, r.data); err != nil {
				return shifted(err, r.pos-len(r.data))
			}
		}
	}
	if r.err != nil {
		return named(r.err, r.num)
	}
	for f := fieldProducerName; f <= fieldPublishTime; f++ {
		if seen&(1<<f) == 0 {
			return malformed(len(b), fieldNames[f], "required and absent")
		}
	}
	m.HasTxn = m.hasLeast && m.hasMost
	m.Stamped = m.hasMin && m.hasMax
	m.HasChunk = m.HasChunkID || m.NumChunks > 1
	return nil
}

// named puts Pulsar's name of the field into a reader's error.
func named(err error, num int) error {
	if f, ok := errors.AsType[*FormatError](err); ok && f.Field == fieldName(num) {
		if n := FieldName(num); n != "" {
			f.Field = n
		}
	}
	return err
}

func (m *Metadata) setStamp(tags uint64, num int, v uint32) {
	switch num {
	case int(tags >> 32):
		m.hasMin, m.HashMin = true, v
	case int(uint32(tags)):
		m.hasMax, m.HashMax = true, v
	}
}

func (m *Metadata) setVarint(num int, v uint64) {
	switch num {
	case fieldSequenceID:
		m.SequenceID = v
	case fieldPublishTime:
		m.PublishTime = v
	case fieldCompression:
		m.Compression = codec.Codec(min(uint32(v), math.MaxUint8)) // an int32, as LightProto reads it
	case fieldUncompressedSize:
		m.HasUncompressedSize, m.UncompressedSize = true, uint32(v)
	case fieldNumMessages:
		m.HasBatch, m.NumMessages = true, int32(v)
	case fieldEventTime:
		m.HasEventTime, m.EventTime = true, v
	case fieldKeyB64:
		m.PartitionKeyB64 = isTrue(v)
	case fieldDeliverAt:
		m.HasDeliverAt, m.DeliverAt = true, int64(v)
	case fieldMarker:
		m.HasMarker, m.Marker = true, int32(v)
	case fieldTxnLeast:
		m.hasLeast, m.TxnLeast = true, v
	case fieldTxnMost:
		m.hasMost, m.TxnMost = true, v
	case fieldHighestSequence:
		m.HasHighestSequence, m.HighestSequenceID = true, v
	case fieldNullValue:
		m.NullValue = isTrue(v)
	case fieldNumChunks:
		m.HasNumChunks, m.NumChunks = true, int32(v)
	case fieldTotalChunkSize:
		m.TotalChunkSize = int32(v)
	case fieldChunkID:
		m.HasChunkID, m.ChunkID = true, int32(v)
	case fieldNullKey:
		m.NullPartitionKey = isTrue(v)
	case fieldCompactedIndexes:
		m.CompactedIndexes++
	}
}

// setBytes takes a length-delimited field; the offset of an error counts from
// b's start.
func (m *Metadata) setBytes(num int, b []byte) error {
	switch num {
	case fieldProducerName:
		m.ProducerName = b
	case fieldProperties:
		m.Properties++
		key, _, err := keyValue(b)
		m.ownProperties = m.ownProperties || isOwnKey(key)
		return err
	case fieldReplicatedFrom:
		m.HasReplicatedFrom, m.ReplicatedFrom = true, b
	case fieldPartitionKey:
		m.HasPartitionKey, m.PartitionKey = true, b
	case fieldReplicateTo:
		m.ReplicateTo++
	case fieldEncryptionKeys:
		m.Encrypted = true
		m.EncryptionKeys++
		return checkEncryptionKey(b)
	case fieldEncryptionAlgo:
		m.EncryptionAlgo = b
	case fieldEncryptionParam:
		m.EncryptionParam = b
	case fieldSchemaVersion:
		m.HasSchemaVersion, m.SchemaVersion = true, b
	case fieldOrderingKey:
		m.HasOrderingKey, m.OrderingKey = true, b
	case fieldUUID:
		m.HasUUID, m.UUID = true, b
	case fieldCompactedIndexes: // packed
		return eachPacked(b, func(int32) bool { m.CompactedIndexes++; return true })
	case fieldSchemaID:
		m.HasSchemaID, m.SchemaID = true, b
	}
	return nil
}
