// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The reference: the same messages, read by the protobuf library from a
// descriptor. Enums and bools are plain numbers there, because it and LightProto
// disagree about values that nobody writes.

type fieldDef struct {
	name     string
	num      int32
	typ      descriptorpb.FieldDescriptorProto_Type
	label    descriptorpb.FieldDescriptorProto_Label
	typeName string
}

const (
	opt = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	req = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED
	rep = descriptorpb.FieldDescriptorProto_LABEL_REPEATED

	u64t   = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	i64t   = descriptorpb.FieldDescriptorProto_TYPE_INT64
	u32t   = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	i32t   = descriptorpb.FieldDescriptorProto_TYPE_INT32
	boolt  = u64t                                         // LightProto: 1 alone is true
	bytest = descriptorpb.FieldDescriptorProto_TYPE_BYTES // strings too: neither reader checks UTF-8
	msgt   = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
)

var metadataDefs = []fieldDef{
	{"producer_name", 1, bytest, req, ""}, {"sequence_id", 2, u64t, req, ""}, {"publish_time", 3, u64t, req, ""},
	{"properties", 4, msgt, rep, ".t.KeyValue"}, {"replicated_from", 5, bytest, opt, ""},
	{"partition_key", 6, bytest, opt, ""}, {"replicate_to", 7, bytest, rep, ""},
	{"compression", 8, u64t, opt, ""}, {"uncompressed_size", 9, u32t, opt, ""},
	{"num_messages_in_batch", 11, i32t, opt, ""}, {"event_time", 12, u64t, opt, ""},
	{"encryption_keys", 13, msgt, rep, ".t.EncryptionKeys"}, {"encryption_algo", 14, bytest, opt, ""},
	{"encryption_param", 15, bytest, opt, ""}, {"schema_version", 16, bytest, opt, ""},
	{"partition_key_b64_encoded", 17, boolt, opt, ""}, {"ordering_key", 18, bytest, opt, ""},
	{"deliver_at_time", 19, i64t, opt, ""}, {"marker_type", 20, i32t, opt, ""},
	{"txnid_least_bits", 22, u64t, opt, ""}, {"txnid_most_bits", 23, u64t, opt, ""},
	{"highest_sequence_id", 24, u64t, opt, ""}, {"null_value", 25, boolt, opt, ""},
	{"uuid", 26, bytest, opt, ""}, {"num_chunks_from_msg", 27, i32t, opt, ""},
	{"total_chunk_msg_size", 28, i32t, opt, ""}, {"chunk_id", 29, i32t, opt, ""},
	{"null_partition_key", 30, boolt, opt, ""}, {"compacted_batch_indexes", 31, i32t, rep, ""},
	{"schema_id", 32, bytest, opt, ""}, {"entry_hash_min", 33, u32t, opt, ""}, {"entry_hash_max", 34, u32t, opt, ""},
}

var singleDefs = []fieldDef{
	{"properties", 1, msgt, rep, ".t.KeyValue"}, {"partition_key", 2, bytest, opt, ""},
	{"payload_size", 3, i32t, req, ""}, {"compacted_out", 4, boolt, opt, ""}, {"event_time", 5, u64t, opt, ""},
	{"partition_key_b64_encoded", 6, boolt, opt, ""}, {"ordering_key", 7, bytest, opt, ""},
	{"sequence_id", 8, u64t, opt, ""}, {"null_value", 9, boolt, opt, ""}, {"null_partition_key", 10, boolt, opt, ""},
}

var keyValueDefs = []fieldDef{{"key", 1, bytest, req, ""}, {"value", 2, bytest, req, ""}}

var encryptionKeyDefs = append(slices.Clone(keyValueDefs), fieldDef{"metadata", 3, msgt, rep, ".t.KeyValue"})

var modelFile = buildModel()

func buildModel() protoreflect.FileDescriptor {
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto2"),
	}
	for _, m := range []struct {
		name string
		defs []fieldDef
	}{{"KeyValue", keyValueDefs}, {"EncryptionKeys", encryptionKeyDefs}, {"MessageMetadata", metadataDefs}, {"SingleMessageMetadata", singleDefs}} {
		d := &descriptorpb.DescriptorProto{Name: proto.String(m.name)}
		for _, f := range m.defs {
			fd := &descriptorpb.FieldDescriptorProto{
				Name: proto.String(f.name), Number: proto.Int32(f.num), Type: f.typ.Enum(), Label: f.label.Enum(),
			}
			if f.typeName != "" {
				fd.TypeName = proto.String(f.typeName)
			}
			d.Field = append(d.Field, fd)
		}
		file.MessageType = append(file.MessageType, d)
	}
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		panic(err)
	}
	return fd
}

// model is a message read by the protobuf library.
type model struct{ m *dynamicpb.Message }

func newModel(name protoreflect.Name) model {
	return model{dynamicpb.NewMessage(modelFile.Messages().ByName(name))}
}

func (d model) parse(b []byte) error { return proto.Unmarshal(b, d.m) }

func (d model) fd(name string) protoreflect.FieldDescriptor {
	fd := d.m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if fd == nil {
		panic("no field " + name)
	}
	return fd
}

func (d model) has(name string) bool     { return d.m.Has(d.fd(name)) }
func (d model) bytes(name string) []byte { return d.m.Get(d.fd(name)).Bytes() }
func (d model) u64(name string) uint64   { return d.m.Get(d.fd(name)).Uint() }
func (d model) i64(name string) int64    { return d.m.Get(d.fd(name)).Int() }
func (d model) bool(name string) bool    { return uint32(d.u64(name)) == 1 }
func (d model) count(name string) int    { return d.m.Get(d.fd(name)).List().Len() }

// pairs returns a repeated KeyValue as "key=value" strings.
func (d model) pairs(name string) []string {
	var out []string
	l := d.m.Get(d.fd(name)).List()
	for i := range l.Len() {
		kv := model{l.Get(i).Message().Interface().(*dynamicpb.Message)}
		out = append(out, fmt.Sprintf("%s=%s", kv.bytes("key"), kv.bytes("value")))
	}
	return out
}

// randomMessage writes fields of defs at random: repeated, out of order, with
// values of all sizes, with unknown fields and known ones of another type.
func randomMessage(r *rand.Rand, defs []fieldDef, required bool) []byte {
	var b []byte
	for range r.IntN(12) {
		if r.IntN(8) == 0 {
			b = appendUnknown(b, r, protowire.Number(1+r.IntN(60)))
			continue
		}
		b = appendField(b, r, defs[r.IntN(len(defs))])
	}
	for _, f := range defs {
		if f.label == req && (required || r.IntN(8) > 0) {
			b = appendField(b, r, f)
		}
	}
	return b
}

func appendField(b []byte, r *rand.Rand, f fieldDef) []byte {
	num := protowire.Number(f.num)
	switch f.typ {
	case msgt:
		defs := keyValueDefs
		if f.typeName == ".t.EncryptionKeys" {
			defs = encryptionKeyDefs
		}
		kv := randomMessage(r, defs, r.IntN(30) > 0)
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), kv)
	case i32t:
		if f.label == rep && r.IntN(2) == 0 { // packed
			v := protowire.AppendVarint(protowire.AppendVarint(nil, r.Uint64()), 3)
			return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		}
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), r.Uint64()>>r.IntN(64))
	case bytest:
		v := make([]byte, r.IntN(20))
		for i := range v {
			v[i] = byte('a' + r.IntN(26))
		}
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
	default:
		v := r.Uint64() >> r.IntN(64)
		if r.IntN(3) == 0 {
			v = 1 // the one value that makes a bool true
		}
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
	}
}

func appendUnknown(b []byte, r *rand.Rand, num protowire.Number) []byte {
	switch r.IntN(3) {
	case 0:
		return protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), r.Uint32())
	case 1:
		return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), r.Uint64())
	default:
		num += 100
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), "unknown")
	}
}
