// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"encoding/binary"
	"math/bits"
)

// Protobuf wire types.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

const maxFieldNumber = 1<<29 - 1

// reader walks over the fields of a protobuf message. It turns bad once, and
// is asked once at the end.
type reader struct {
	b     []byte
	pos   int    // of the next field
	start int    // of the current field's tag
	num   int    // field number
	typ   int    // wire type
	v     uint64 // value of a varint
	data  []byte // value of a length-delimited field, aliasing b
	err   error
}

// is reports whether the current field is number num with wire type typ.
func (r *reader) is(num, typ int) bool { return r.num == num && r.typ == typ }

// next reads a field and reports whether there was one. Nearly every field has a
// tag of one byte and a value or length of one or two; all else is nextLong's.
func (r *reader) next() bool {
	b, at := r.b, r.pos
	if len(b)-at < 3 {
		return at < len(b) && r.nextLong()
	}
	tag, v, end := b[at], int(b[at+1]), at+2
	if v >= 0x80 {
		v, end = v&0x7f|int(b[at+2])<<7, at+3
	}
	switch {
	case tag >= 0x80 || tag < 1<<3 || v > 0x3fff: // a longer tag, no field, a longer number
	case tag&7 == wireVarint:
		r.start, r.pos, r.num, r.typ, r.v = at, end, int(tag>>3), wireVarint, uint64(v)
		return true
	case tag&7 == wireBytes && v <= len(b)-end:
		r.start, r.pos, r.num, r.typ, r.data = at, end+v, int(tag>>3), wireBytes, b[end:end+v:end+v]
		return true
	}
	return r.nextLong()
}

func (r *reader) nextLong() bool {
	at := r.pos
	r.start = at
	tag, n := uint64(r.b[at]), 1
	if tag >= 0x80 {
		if tag, n = uvarint(r.b[at:]); n == 0 {
			return r.fail(at, "field tag", "bad varint")
		}
	}
	if tag>>3 == 0 || tag>>3 > maxFieldNumber {
		return r.fail(at, "field tag", "bad field number")
	}
	at += n
	r.pos, r.num, r.typ = at, int(tag>>3), int(tag&7)
	if r.typ == wireVarint || r.typ == wireBytes {
		v, n := uvarint(r.b[at:])
		if n == 0 {
			return r.fail(at, fieldName(r.num), "bad varint")
		}
		at += n
		r.pos, r.v = at, v
		if r.typ == wireVarint {
			return true
		}
		if v > uint64(len(r.b)-at) {
			return r.fail(at-n, fieldName(r.num), "longer than what is left")
		}
		r.pos = at + int(v)
		r.data = r.b[at:r.pos:r.pos]
		return true
	}
	switch r.typ {
	case wireFixed64:
		return r.skip(8)
	case wireFixed32:
		return r.skip(4)
	}
	return r.fail(r.start, fieldName(r.num), "group or reserved wire type")
}

func (r *reader) skip(n int) bool {
	if len(r.b)-r.pos < n {
		return r.fail(r.pos, fieldName(r.num), "longer than what is left")
	}
	r.pos += n
	return true
}

func (r *reader) fail(off int, field, cause string) bool {
	r.err = malformed(off, field, cause)
	r.pos = len(r.b)
	return false
}

// uvarint reads a varint of at most ten bytes; bits beyond the 64th are lost,
// as in LightProto. n is 0 where b has none.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 1 { // one and two bytes are nearly all there is
		if b[0] < 0x80 {
			return uint64(b[0]), 1
		}
		if b[1] < 0x80 {
			return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
		}
	}
	return uvarintSlow(b)
}

func uvarintSlow(b []byte) (v uint64, n int) {
	for i := 0; i < len(b) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// isTrue reads a bool: LightProto takes the low 32 bits, and 1 alone is true.
func isTrue(v uint64) bool { return uint32(v) == 1 }

// VarintLen returns the number of bytes of v as a varint: 1..10.
func VarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// AppendVarintField appends field (number 1..2^29-1) with the value v. Negative
// int32 values are given as uint64(int64(v)), ten bytes, as protobuf has it.
func AppendVarintField(dst []byte, field int, v uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|wireVarint)
	return binary.AppendUvarint(dst, v)
}

// AppendBytesField appends field with the bytes b.
func AppendBytesField(dst []byte, field int, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// AppendStringField appends field with the string s.
func AppendStringField(dst []byte, field int, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// AppendPropertyField appends a KeyValue as field: 4 in MessageMetadata, 1 in
// SingleMessageMetadata.
func AppendPropertyField(dst []byte, field int, key, value string) []byte {
	dst = appendPropertyHead(dst, field, key, len(value))
	return append(dst, value...)
}

// appendPropertyHead appends a KeyValue up to its value, which has n bytes and
// is for the caller to append.
func appendPropertyHead(dst []byte, field int, key string, n int) []byte {
	size := 1 + VarintLen(uint64(len(key))) + len(key) + 1 + VarintLen(uint64(n)) + n
	dst = binary.AppendUvarint(dst, uint64(field)<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = AppendStringField(dst, 1, key)
	dst = append(dst, 2<<3|wireBytes)
	return binary.AppendUvarint(dst, uint64(n))
}

// CopyFields appends the fields of meta to dst, byte for byte and in order,
// without those whose number drop reports. On an error (ErrFormat) dst is
// returned with its old length.
func CopyFields(dst, meta []byte, drop func(field int) bool) ([]byte, error) {
	return copyFields(dst, meta, func(r *reader) bool { return drop(r.num) })
}

// CopyUserFields is CopyFields that also drops the properties which replication
// itself writes (OriginProperty and SourcePositionProperty in field 4).
func CopyUserFields(dst, meta []byte, drop func(field int) bool) ([]byte, error) {
	return copyFields(dst, meta, func(r *reader) bool {
		return drop(r.num) || r.is(fieldProperties, wireBytes) && isOwnProperty(r.data)
	})
}

func copyFields(dst, meta []byte, drop func(r *reader) bool) ([]byte, error) {
	base := len(dst)
	r := reader{b: meta}
	from := 0 // start of the run of fields that is not copied yet
	for r.next() {
		if drop(&r) {
			dst = append(dst, meta[from:r.start]...)
			from = r.pos
		}
	}
	if r.err != nil {
		return dst[:base], r.err
	}
	return append(dst, meta[from:]...), nil
}
