// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"georep/core/entry"
	"georep/core/keyhash"
)

// shift moves the offset of a format error by base.
func shift(err error, base int) error {
	if f, ok := errors.AsType[*entry.FormatError](err); ok {
		c := *f
		c.Offset += base
		return &c
	}
	return err
}

var codecNames = [...]string{"NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"}

// describeMetadata lists the fields of a MessageMetadata that are present, in the
// order of the bytes. Of fields that are no lists, the last occurrence counts.
func describeMetadata(meta []byte) (object, error) {
	out := object{}
	for at := 0; at < len(meta); {
		num, typ, n := protowire.ConsumeField(meta[at:])
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		raw := meta[at : at+n]
		at += n
		_, _, tag := protowire.ConsumeTag(raw)
		name := entry.FieldName(int(num))
		switch {
		case name != "" && typ == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(raw[tag:])
			if isList(name) {
				out.add(name, int32(v))
			} else {
				out.set(name, number(name, v))
			}
		case name != "" && typ == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(raw[tag:])
			if err := describeBytes(&out, name, v); err != nil {
				return nil, shift(err, at-len(v))
			}
		default:
			out.add("unknown_fields", object{{"number", int(num)}, {"hex", hex.EncodeToString(raw[tag:])}})
		}
	}
	return out, nil
}

func isList(name string) bool { return name == "compacted_batch_indexes" }

// number gives a varint the type that it has in PulsarApi.proto.
func number(name string, v uint64) any {
	switch name {
	case "compression":
		if n := uint32(v); n < uint32(len(codecNames)) {
			return codecNames[n]
		}
	case "partition_key_b64_encoded", "null_value", "null_partition_key":
		return uint32(v) == 1
	case "num_messages_in_batch", "marker_type", "num_chunks_from_msg", "total_chunk_msg_size", "chunk_id":
		return int32(v)
	case "deliver_at_time":
		return int64(v)
	case "uncompressed_size", "entry_hash_min", "entry_hash_max":
		return uint32(v)
	}
	return v
}

func describeBytes(out *object, name string, v []byte) error {
	switch name {
	case "properties", "encryption_keys":
		var key, value string
		for rest := v; len(rest) > 0; {
			num, typ, n := protowire.ConsumeField(rest)
			if n < 0 {
				return protowire.ParseError(n)
			}
			if typ == protowire.BytesType {
				_, _, tag := protowire.ConsumeTag(rest)
				text, _ := protowire.ConsumeString(rest[tag:n])
				switch num {
				case 1:
					key = text
				case 2:
					value = text
				}
			}
			rest = rest[n:]
		}
		if name == "encryption_keys" {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		out.add(name, object{{"key", key}, {"value", value}})
	case "replicate_to":
		out.add(name, string(v))
	case "compacted_batch_indexes":
		for len(v) > 0 {
			index, n := protowire.ConsumeVarint(v)
			if n < 0 {
				return protowire.ParseError(n)
			}
			out.add(name, int32(index))
			v = v[n:]
		}
	case "producer_name", "replicated_from", "partition_key", "uuid", "encryption_algo":
		out.set(name, string(v))
	default:
		out.set(name, base64.StdEncoding.EncodeToString(v))
	}
	return nil
}

// describeBatched describes message i of a batch.
func describeBatched(i int, meta, body []byte, p keyhash.Profile) (object, error) {
	var s entry.Single
	if err := s.Parse(meta); err != nil {
		return nil, err
	}
	o := keys(i, s.HasPartitionKey, s.PartitionKey, s.PartitionKeyB64, s.NullPartitionKey, s.HasOrderingKey, s.OrderingKey, p)
	o.put("sequenceId", optional(s.HasSequenceID, s.SequenceID))
	o.put("eventTime", optional(s.HasEventTime, s.EventTime))
	props := object{}
	err := entry.EachSingleProperty(meta, func(key, value []byte) bool {
		props.set(string(key), string(value))
		return true
	})
	o.put("properties", props)
	content(&o, body, true)
	o.put("nullValue", s.NullValue)
	o.put("compactedOut", s.CompactedOut)
	return o, err
}

// describeSingle describes an entry that is no batch as its only message. body is
// nil where it can not be read.
func describeSingle(f *entry.Frame, m *entry.Metadata, body []byte, p keyhash.Profile) (object, error) {
	o := keys(0, m.HasPartitionKey, m.PartitionKey, m.PartitionKeyB64, m.NullPartitionKey, m.HasOrderingKey, m.OrderingKey, p)
	o.put("sequenceId", m.SequenceID)
	o.put("eventTime", optional(m.HasEventTime, m.EventTime))
	props := object{}
	err := entry.EachProperty(f.Metadata, func(key, value []byte) bool {
		props.set(string(key), string(value))
		return true
	})
	o.put("properties", props)
	content(&o, body, !m.Encrypted && !m.HasChunk)
	o.put("nullValue", m.NullValue)
	o.put("compactedOut", false)
	return o, err
}

func keys(i int, hasKey bool, key []byte, b64, null, hasOrdering bool, ordering []byte, p keyhash.Profile) object {
	hash := entry.KeyHash(hasKey, key)
	return object{
		{"index", i},
		{"key", optional(hasKey, string(key))},
		{"keyB64", b64},
		{"nullKey", null},
		{"orderingKey", optional(hasOrdering, base64.StdEncoding.EncodeToString(ordering))},
		{"hash", hash},
		{"segmentHash", segmentHash(p, hasKey, hash)},
		{"bucketHash", keyhash.Bucket(entry.BucketHash(hasOrdering, ordering, hasKey, key))},
	}
}

func segmentHash(p keyhash.Profile, hasKey bool, hash uint32) uint16 {
	if !hasKey {
		return 0
	}
	return p.Segment(hash)
}

func content(o *object, body []byte, readable bool) {
	if !readable {
		o.put("payloadSize", nil)
		o.put("payloadSha256", nil)
		return
	}
	sum := sha256.Sum256(body)
	o.put("payloadSize", len(body))
	o.put("payloadSha256", hex.EncodeToString(sum[:]))
}

// optional is v, or null where it is absent.
func optional(has bool, v any) any {
	if !has {
		return nil
	}
	return v
}
