// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"fmt"
	"testing"

	"georep/core/entry"
)

// spliceEntry is an entry as a producer writes it: a keyed batch with a stamp
// and two properties, and a payload of n bytes.
func spliceEntry(n int) []byte {
	meta := entry.AppendStringField(nil, 1, "producer-7f3a")
	meta = entry.AppendVarintField(meta, 2, 123_456)
	meta = entry.AppendVarintField(meta, 3, 1_700_000_000_000)
	meta = entry.AppendPropertyField(meta, 4, "trace", "4bf92f3577b34da6a3ce929d0e0e4736")
	meta = entry.AppendPropertyField(meta, 4, "tenant", "acme")
	meta = entry.AppendStringField(meta, 6, "customer-000123")
	meta = entry.AppendVarintField(meta, 8, 3)
	meta = entry.AppendVarintField(meta, 9, uint64(4*n))
	meta = entry.AppendVarintField(meta, 11, 64)
	meta = entry.AppendBytesField(meta, 16, []byte{0, 0, 0, 0, 0, 0, 0, 3})
	meta = entry.AppendVarintField(meta, entry.TagHashMin, 17)
	meta = entry.AppendVarintField(meta, entry.TagHashMax, 65_000)
	payload := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
	return append(entry.AppendHeaderForPayload(nil, meta, payload), payload...)
}

var spliceOrigin = entry.Origin{
	Cluster: "east", Instance: "00112233445566778899aabbccddeeff", Segment: 3, Generation: 1,
	Position: entry.Position{Ledger: 1_234_567, Entry: 8_910}, Part: entry.Whole,
	BoundTopic: "segment://public/default/orders/0000-7fff-5",
}

// BenchmarkSplice is the verbatim path's work on one entry: frame, metadata,
// new header. "combined" derives the checksum from the old one and must take
// the same time for every payload; its peer "read" computes it over the payload.
func BenchmarkSplice(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		raw := spliceEntry(size)
		for _, combined := range []bool{true, false} {
			name := fmt.Sprintf("%dKiB/%s", size>>10, map[bool]string{true: "combined", false: "read"}[combined])
			b.Run(name, func(b *testing.B) {
				dst := make([]byte, 0, 4096)
				s := entry.Splice{Origin: spliceOrigin}
				var m entry.Metadata
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					f, err := entry.ParseFrame(raw, 5<<20)
					if err != nil {
						b.Fatal(err)
					}
					if err = m.Parse(f.Metadata); err != nil {
						b.Fatal(err)
					}
					f.HasChecksum = combined
					if _, err = entry.AppendHeader(dst, &f, &s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkParse is the part of it that every entry pays, dropped ones too.
func BenchmarkParse(b *testing.B) {
	raw := spliceEntry(1 << 10)
	var m entry.Metadata
	b.ReportAllocs()
	for b.Loop() {
		f, err := entry.ParseFrame(raw, 5<<20)
		if err == nil {
			err = m.Parse(f.Metadata)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCombine is the checksum alone; lengths with more non-zero bytes take
// more multiplications.
func BenchmarkCombine(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 20, 0x123457} {
		b.Run(fmt.Sprintf("%#x", n), func(b *testing.B) {
			b.ReportAllocs()
			crc := uint32(1)
			for b.Loop() {
				crc = entry.CombineCRC32C(crc, 0xdeadbeef, n)
			}
		})
	}
}
