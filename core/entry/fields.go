// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"errors"
	"strconv"
	"sync/atomic"
)

// Field numbers of MessageMetadata that this package or its users write.
const (
	fieldProducerName     = 1
	fieldSequenceID       = 2
	fieldPublishTime      = 3
	fieldProperties       = 4
	fieldReplicatedFrom   = 5
	fieldPartitionKey     = 6
	fieldReplicateTo      = 7
	fieldCompression      = 8
	fieldUncompressedSize = 9
	fieldNumMessages      = 11
	fieldEventTime        = 12
	fieldEncryptionKeys   = 13
	fieldEncryptionAlgo   = 14
	fieldEncryptionParam  = 15
	fieldSchemaVersion    = 16
	fieldKeyB64           = 17
	fieldOrderingKey      = 18
	fieldDeliverAt        = 19
	fieldMarker           = 20
	fieldTxnLeast         = 22
	fieldTxnMost          = 23
	fieldHighestSequence  = 24
	fieldNullValue        = 25
	fieldUUID             = 26
	fieldNumChunks        = 27
	fieldTotalChunkSize   = 28
	fieldChunkID          = 29
	fieldNullKey          = 30
	fieldCompactedIndexes = 31
	fieldSchemaID         = 32

	lastKnownField = fieldSchemaID
)

var fieldNames = [...]string{
	fieldProducerName:     "producer_name",
	fieldSequenceID:       "sequence_id",
	fieldPublishTime:      "publish_time",
	fieldProperties:       "properties",
	fieldReplicatedFrom:   "replicated_from",
	fieldPartitionKey:     "partition_key",
	fieldReplicateTo:      "replicate_to",
	fieldCompression:      "compression",
	fieldUncompressedSize: "uncompressed_size",
	fieldNumMessages:      "num_messages_in_batch",
	fieldEventTime:        "event_time",
	fieldEncryptionKeys:   "encryption_keys",
	fieldEncryptionAlgo:   "encryption_algo",
	fieldEncryptionParam:  "encryption_param",
	fieldSchemaVersion:    "schema_version",
	fieldKeyB64:           "partition_key_b64_encoded",
	fieldOrderingKey:      "ordering_key",
	fieldDeliverAt:        "deliver_at_time",
	fieldMarker:           "marker_type",
	fieldTxnLeast:         "txnid_least_bits",
	fieldTxnMost:          "txnid_most_bits",
	fieldHighestSequence:  "highest_sequence_id",
	fieldNullValue:        "null_value",
	fieldUUID:             "uuid",
	fieldNumChunks:        "num_chunks_from_msg",
	fieldTotalChunkSize:   "total_chunk_msg_size",
	fieldChunkID:          "chunk_id",
	fieldNullKey:          "null_partition_key",
	fieldCompactedIndexes: "compacted_batch_indexes",
	fieldSchemaID:         "schema_id",
}

// fieldName names a field in an error. Small messages (SingleMessageMetadata,
// KeyValue) have names of their own only in their required fields.
func fieldName(num int) string { return "field " + strconv.Itoa(num) }

// FieldName returns the name of a MessageMetadata field in Pulsar's .proto, or
// "" for a number that it does not have.
func FieldName(num int) string {
	tags := hashTags.Load()
	switch {
	case num == int(tags>>32):
		return "entry_hash_min"
	case num == int(uint32(tags)):
		return "entry_hash_max"
	case num > 0 && num < len(fieldNames):
		return fieldNames[num]
	}
	return ""
}

// Default numbers of the two stamp fields of PIP-486, as merged after 5.0.0-M1.
const (
	TagHashMin = 33
	TagHashMax = 34
)

// hashTags holds the stamp's field numbers: minimum in the high half.
var hashTags atomic.Uint64

func init() { hashTags.Store(TagHashMin<<32 | TagHashMax) }

// ErrHashTags is returned by SetHashTags for numbers that cannot be the stamp's.
var ErrHashTags = errors.New("entry: bad field numbers for the entry's hash range")

// SetHashTags replaces the field numbers of entry_hash_min and entry_hash_max.
// It is called once at start, before the first entry is parsed, where the
// broker's own MessageMetadata uses others.
func SetHashTags(minTag, maxTag int) error {
	if minTag <= lastKnownField || maxTag <= lastKnownField ||
		minTag > maxFieldNumber || maxTag > maxFieldNumber || minTag == maxTag {
		return ErrHashTags
	}
	hashTags.Store(uint64(minTag)<<32 | uint64(maxTag))
	return nil
}

// HashTags returns the field numbers of the stamp, for writers.
func HashTags() (minTag, maxTag int) {
	t := hashTags.Load()
	return int(t >> 32), int(uint32(t))
}
