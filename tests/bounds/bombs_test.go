// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/internal/entrytest"
)

// bomb is an entry that claims or hides more than it is, and what may come of it.
type bomb struct {
	name   string
	raw    []byte
	cutCap uint32 // 0 = the layout's default
	want   string
	parts  int
	alloc  int // bytes that a warm slot may allocate for it
	out    int // bytes that it may write
}

const (
	many  = 10_000
	coder = 2 * mib    // a codec's own state: the collector empties pools
	each  = 160 * many // a part is planned and written with one small allocation
)

// tiny is a batch of n messages of a few bytes, each with a key of its own.
func tiny(n int) *entrytest.Batch {
	b := &entrytest.Batch{Messages: make([]entrytest.Message, n)}
	for i := range b.Messages {
		b.Messages[i] = entrytest.Keyed(fmt.Sprint("k", i), int64(i), []byte("x"))
	}
	return b
}

func ptr[T any](v T) *T { return &v }

// two straddle the boundary between the two segments.
func two() []entrytest.Message {
	return []entrytest.Message{entrytest.Keyed("k1", 1, []byte("one")), entrytest.Keyed("k3", 2, []byte("two"))}
}

func bombs(tb testing.TB) []bomb {
	tb.Helper()
	var all []bomb
	for _, group := range [][]bomb{codecBombs(tb), zstdBombs(), countBombs(), stampBombs(), metadataBombs(), partBombs()} {
		all = append(all, group...)
	}
	return all
}

// pack compresses hard, so that the ratio is the codec's best.
func pack(tb testing.TB, c codec.Codec, plain []byte) []byte {
	tb.Helper()
	if c == codec.Zlib {
		var b bytes.Buffer
		w, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
		_, _ = w.Write(plain)
		_ = w.Close()
		return b.Bytes()
	}
	out, err := c.AppendEncode(nil, plain)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// packed is a batch entry with that payload, which declares size bytes.
func packed(c codec.Codec, payload []byte, size uint32) []byte {
	b := entrytest.Batch{Messages: two(), Codec: c, Size: &size, Payload: func([]byte) []byte { return payload }}
	return b.Bytes()
}

// codecBombs are zeros: 255 to 1 in LZ4, 1000 to 1 in zlib, more in zstd.
func codecBombs(tb testing.TB) []bomb {
	var all []bomb
	for _, c := range []codec.Codec{codec.LZ4, codec.Zlib, codec.Zstd, codec.Snappy} {
		full := pack(tb, c, make([]byte, maxPlain))
		twice := pack(tb, c, make([]byte, 2*maxPlain))
		short := "park size-mismatch"
		if c == codec.LZ4 {
			short = "park codec" // a block that outgrows the output looks broken
		}
		all = append(all,
			bomb{name: c.String() + " zeros, as declared", raw: packed(c, full, maxPlain), want: "park malformed", alloc: coder},
			bomb{name: c.String() + " zeros, above the cap", raw: packed(c, twice, 2*maxPlain), want: "park too-large", alloc: 16 * kib},
			bomb{name: c.String() + " zeros, declared 64 KiB", raw: packed(c, full, 64*kib), want: short, alloc: coder},
			bomb{name: c.String() + " zeros, declared 2^31", raw: packed(c, full, 1<<31), want: "park too-large", alloc: 16 * kib})
		// A real batch with a body of zeros: it is cut, and packed again.
		large := entrytest.Batch{Messages: append(two(), entrytest.Keyed("k1", 3, make([]byte, maxPlain-kib))), Codec: c}
		all = append(all, bomb{name: c.String() + " a body of zeros", raw: large.Bytes(), want: "cut", parts: 3, alloc: coder, out: mib})
	}
	return all
}

// zstdBombs say in the frame's header how much memory they want.
func zstdBombs() []bomb {
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	var plain []byte
	for _, m := range two() {
		plain = m.Append(plain)
	}
	raw := func(window byte) []byte {
		b := append(bytes.Clone(magic), 0, window)
		n := uint32(len(plain))<<3 | 1 // the last block, raw
		b = append(b, byte(n), byte(n>>8), byte(n>>16))
		return append(b, plain...)
	}
	size := uint32(len(plain))
	return []bomb{
		{name: "zstd window of 3.75 TiB", raw: packed(codec.Zstd, raw(0xff), size), want: "park codec", alloc: coder},
		{name: "zstd window of 256 MiB", raw: packed(codec.Zstd, raw(18<<3), size), want: "park codec", alloc: coder},
		{name: "zstd window of 128 MiB", raw: packed(codec.Zstd, raw(17<<3), size), want: "cut", parts: 2, alloc: coder, out: 4 * kib},
	}
}

// countBombs lie about numbers and sizes.
func countBombs() []bomb {
	count := func(n int32, c codec.Codec) []byte {
		return (&entrytest.Batch{Messages: two(), Codec: c, Count: &n}).Bytes()
	}
	body := func(meta []byte) []byte {
		b := entrytest.Batch{Messages: two(), Payload: func([]byte) []byte { return entry.AppendMessage(nil, meta, []byte("x")) }, Count: ptr[int32](1)}
		return b.Bytes()
	}
	inner := body(entry.AppendVarintField(nil, 3, 1))
	binary.BigEndian.PutUint32(inner[len(inner)-7:], math.MaxUint32)
	frame := (&entrytest.Batch{Messages: two(), NoCRC: true}).Bytes()
	binary.BigEndian.PutUint32(frame, math.MaxUint32)
	var all []bomb
	for name, raw := range map[string][]byte{
		"num_messages -1":            count(-1, codec.None),
		"num_messages -1, lz4":       count(-1, codec.LZ4),
		"num_messages 0":             count(0, codec.None),
		"num_messages 2^31-1":        count(math.MaxInt32, codec.None),
		"num_messages 2^31-1, zlib":  count(math.MaxInt32, codec.Zlib),
		"payload_size -1":            body(entry.AppendVarintField(nil, 3, math.MaxUint64)),
		"payload_size 2^31-1":        body(entry.AppendVarintField(nil, 3, math.MaxInt32)),
		"message's metadata 2^32-1":  inner,
		"entry's metadata 2^32-1":    frame,
		"uncompressed_size negative": packed(codec.None, []byte("x"), math.MaxUint32),
	} {
		want := "park malformed"
		if name == "uncompressed_size negative" {
			want = "park size-mismatch"
		}
		all = append(all, bomb{name: name, raw: raw, want: want, alloc: 16 * kib})
	}
	return all
}

// stampBombs can not be trusted, and are not: what can be opened is opened.
func stampBombs() []bomb {
	var all []bomb
	for _, s := range [][2]uint32{{9, 3}, {0, 65536}, {65536, 70000}, {math.MaxUint32, math.MaxUint32}, {0x3fff, 0x4000}} {
		name := fmt.Sprintf("stamp %d-%d", s[0], s[1])
		all = append(all,
			bomb{name: name, raw: (&entrytest.Batch{Messages: two(), Stamped: &s}).Bytes(), want: "cut", parts: 2, alloc: 16 * kib, out: 4 * kib},
			bomb{name: name + ", encrypted", raw: (&entrytest.Batch{Messages: two(), Stamped: &s, Encrypt: true}).Bytes(), want: "park encrypted-batch", alloc: 16 * kib})
	}
	return all
}

// metadataBombs have more around their messages than in them.
func metadataBombs() []bomb {
	props := make([][2]string, 100_000)
	for i := range props {
		props[i] = [2]string{"key", "value"}
	}
	wide := (&entrytest.Batch{Messages: two(), Props: props}).Bytes()
	var nested []byte
	for range 100_000 {
		nested = entry.AppendPropertyField(nested, 3, "k", "v")
	}
	nested = entry.AppendStringField(entry.AppendStringField(nested, 1, "k"), 2, "v")
	digits := "99999999999999999999:18446744073709551616"
	preset := (&entrytest.Batch{Messages: two(), Props: [][2]string{
		{entry.SourcePositionProperty, digits}, {entry.OriginProperty, "1|a|b|1|1|" + digits + "|t"}}}).Bytes()
	heavy := tiny(many)
	heavy.Props = [][2]string{{"large", string(make([]byte, mib))}}
	var indexes []byte
	for i := range 1_000_000 {
		indexes = binary.AppendUvarint(indexes, uint64(i%many))
	}
	listed := tiny(many)
	listed.Extra = entry.AppendBytesField(nil, 31, indexes)
	return []bomb{
		{name: "100000 properties", raw: wide, want: "cut", parts: 2, alloc: 16 * kib, out: 4 * mib},
		{name: "100000 pairs in an encryption key", raw: (&entrytest.Batch{Messages: two(),
			Extra: entry.AppendBytesField(nil, 13, nested)}).Bytes(), want: "park encrypted-batch", alloc: 16 * kib},
		{name: "positions of 20 digits", raw: preset, want: "cut", parts: 2, alloc: 16 * kib, out: 4 * kib},
		{name: "10000 parts with 1 MiB of metadata", raw: heavy.Bytes(), cutCap: 1, want: "park too-large", alloc: 16 * kib},
		{name: "10000 parts, 1000000 indexes", raw: listed.Bytes(), cutCap: 1, want: "cut", parts: many, alloc: each, out: 4 * mib},
		{name: "8 parts, 1000000 indexes", raw: listed.Bytes(), want: "cut", parts: 8, alloc: 16 * kib, out: mib},
	}
}

// partBombs become as many entries as they have messages.
func partBombs() []bomb {
	return []bomb{
		{name: "10000 parts of one message", raw: tiny(many).Bytes(), cutCap: 1, want: "cut", parts: many, alloc: each, out: 4 * mib},
		{name: "100000 messages", raw: tiny(maxCount).Bytes(), want: "cut", parts: 8, alloc: 64 * kib, out: 4 * mib},
		{name: "100001 messages", raw: tiny(maxCount + 1).Bytes(), want: "park too-large", alloc: 16 * kib},
	}
}
