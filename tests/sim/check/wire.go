// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"google.golang.org/protobuf/encoding/protowire"

	"georep/core/entry"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a stored entry, taken apart without the product's reader.
type frame struct {
	meta, payload []byte
	crcOK         bool
}

func parse(raw []byte) (f frame, ok bool) {
	if len(raw) < 10 || raw[0] != 0x0e || raw[1] != 0x01 {
		return f, false
	}
	n := binary.BigEndian.Uint32(raw[6:])
	if uint64(n) > uint64(len(raw)-10) {
		return f, false
	}
	f.meta, f.payload = raw[10:10+n], raw[10+n:]
	f.crcOK = crc32.Checksum(raw[6:], castagnoli) == binary.BigEndian.Uint32(raw[2:])
	return f, true
}

// field is one occurrence of a field.
type field struct {
	num   protowire.Number
	value []byte // of length-delimited ones
	v     uint64 // of varints
	raw   []byte // tag included
}

func fields(meta []byte) (out []field, ok bool) {
	for len(meta) > 0 {
		num, typ, n := protowire.ConsumeTag(meta)
		if n < 0 {
			return nil, false
		}
		m := protowire.ConsumeFieldValue(num, typ, meta[n:])
		if m < 0 {
			return nil, false
		}
		f := field{num: num, raw: meta[:n+m]}
		switch typ {
		case protowire.BytesType:
			f.value, _ = protowire.ConsumeBytes(meta[n:])
		case protowire.VarintType:
			f.v, _ = protowire.ConsumeVarint(meta[n:])
		}
		out = append(out, f)
		meta = meta[n+m:]
	}
	return out, true
}

// ours says whether the field is one that replication writes or cuts out.
func ours(f *field, schema bool) bool {
	switch f.num {
	case 5, 22, 23:
		return true
	case 16:
		return schema
	case 4:
		key, _ := property(f.value)
		return key == entry.OriginProperty || key == entry.SourcePositionProperty
	}
	return false
}

func property(b []byte) (key, value string) {
	fs, _ := fields(b)
	for i := range fs {
		switch fs[i].num {
		case 1:
			key = string(fs[i].value)
		case 2:
			value = string(fs[i].value)
		}
	}
	return key, value
}

// rest returns the metadata's bytes without what is ours.
func rest(fs []field, schema bool, skip func(protowire.Number) bool) []byte {
	var out []byte
	for i := range fs {
		if !ours(&fs[i], schema) && !(skip != nil && skip(fs[i].num)) {
			out = append(out, fs[i].raw...)
		}
	}
	return out
}

// last returns the last occurrence of a field.
func last(fs []field, num protowire.Number) (f *field, n int) {
	for i := range fs {
		if fs[i].num == num {
			f, n = &fs[i], n+1
		}
	}
	return f, n
}

// occurrences counts a property and returns its last value.
func occurrences(fs []field, key string) (value string, n int) {
	for i := range fs {
		if fs[i].num == 4 {
			if k, v := property(fs[i].value); k == key {
				value, n = v, n+1
			}
		}
	}
	return value, n
}

// cutMessages matches the framed messages in payload with those of the entry, in
// rising order, and returns their indexes.
func cutMessages(payload []byte, e *Entry) (idx []int, ok bool) {
	at := 0
	for len(payload) > 0 {
		for at < len(e.Messages) && !bytes.HasPrefix(payload, e.Messages[at].Raw) {
			at++
		}
		if at == len(e.Messages) {
			return idx, false
		}
		idx = append(idx, at)
		payload = payload[len(e.Messages[at].Raw):]
		at++
	}
	return idx, true
}
