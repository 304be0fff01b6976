// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"compress/zlib"
	"math"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
)

// BenchmarkHostile measures what bad input costs: it must be refused fast and
// without memory that the input does not pay for.
func BenchmarkHostile(b *testing.B) {
	zeros := make([]byte, 8<<20)
	var bomb bytes.Buffer
	w, _ := zlib.NewWriterLevel(&bomb, zlib.BestCompression)
	_, _ = w.Write(zeros)
	_ = w.Close()
	zstdBomb, err := codec.Zstd.AppendEncode(nil, zeros)
	if err != nil {
		b.Fatal(err)
	}
	lz4Bomb, err := codec.LZ4.AppendEncode(nil, zeros)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, 64<<10)
	decode := func(c codec.Codec, src []byte, want int) func() bool {
		return func() bool {
			_, err := c.AppendDecode(dst, src, want)
			return err != nil
		}
	}
	required := entry.AppendVarintField(entry.AppendVarintField(entry.AppendStringField(nil, 1, "p"), 2, 1), 3, 1)
	fields := bytes.Clone(required)
	for i := range 100_000 {
		fields = entry.AppendVarintField(fields, 100+i%100, uint64(i))
	}
	fields = append(fields, 0x0b) // a group at the very end
	payload := make([]byte, 1<<20)
	for _, c := range []struct {
		name string
		run  func() bool // reports whether the input was refused
	}{
		{"zlib-8MiB-declared-64KiB", decode(codec.Zlib, bomb.Bytes(), 64<<10)},
		{"zstd-8MiB-declared-64KiB", decode(codec.Zstd, zstdBomb, 64<<10)},
		{"lz4-8MiB-declared-64KiB", decode(codec.LZ4, lz4Bomb, 64<<10)},
		{"zstd-window-3TiB", decode(codec.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xff, 1, 0, 0}, 64<<10)},
		{"snappy-claims-4GiB", decode(codec.Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0}, 64<<10)},
		{"none-claims-1GiB", decode(codec.None, payload, 1<<30)},
		{"batch-count-2^31-1", func() bool {
			r := entry.NewBatchReader(payload, math.MaxInt32)
			return r.Err() != nil
		}},
		{"metadata-100k-fields", func() bool {
			var m entry.Metadata
			return m.Parse(fields) != nil
		}},
		{"metadata-size-4GiB", func() bool {
			_, err := entry.ParseFrame([]byte{0xff, 0xff, 0xff, 0xff, 0}, 5<<20)
			return err != nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !c.run() {
					b.Fatal("accepted")
				}
			}
		})
	}
}
