// SPDX-License-Identifier: Apache-2.0

package entry

import "encoding/binary"

// BoundOrigin is the text of the origin records that one (source segment,
// destination topic) writes, made once: only position and part differ from one
// entry to the next. Between two calls of Set it may be used by any thread.
type BoundOrigin struct {
	from   []byte // replicated_from
	source []byte // of SourcePositionProperty: the key and the tag of the value
	origin []byte // of OriginProperty: the same
	head   []byte // of the origin record, up to the position
	tail   []byte // after it
}

// Bind makes the constant text of o; its Position and Part play no part.
func (o Origin) Bind() *BoundOrigin {
	b := new(BoundOrigin)
	b.Set(&o)
	return b
}

// Set makes b what o.Bind returns, in b's memory. Nothing of o is kept.
func (b *BoundOrigin) Set(o *Origin) {
	b.from = AppendStringField(b.from[:0], fieldReplicatedFrom, o.Cluster)
	b.source = append(AppendStringField(b.source[:0], 1, SourcePositionProperty), 2<<3|wireBytes)
	b.origin = append(AppendStringField(b.origin[:0], 1, OriginProperty), 2<<3|wireBytes)
	b.head = o.appendHead(b.head[:0])
	b.tail = o.appendTail(b.tail[:0])
}

// AppendFields appends what [Origin.AppendFields] appends for the position and
// the part, byte for byte.
func (b *BoundOrigin) AppendFields(dst []byte, p Position, part int64) []byte {
	var buf [64]byte
	pos := Origin{Position: p, Part: part}.AppendSourcePosition(buf[:0])
	dst = append(dst, b.from...)
	dst = appendProperty(dst, b.source, len(pos))
	dst = append(dst, pos...)
	dst = appendProperty(dst, b.origin, len(b.head)+len(pos)+len(b.tail))
	dst = append(dst, b.head...)
	dst = append(dst, pos...)
	return append(dst, b.tail...)
}

// appendProperty appends a KeyValue up to its value of n bytes; key is the
// encoded key with the value's tag.
func appendProperty(dst, key []byte, n int) []byte {
	dst = append(dst, fieldProperties<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(key)+VarintLen(uint64(n))+n))
	dst = append(dst, key...)
	return binary.AppendUvarint(dst, uint64(n))
}
