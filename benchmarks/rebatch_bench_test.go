// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

var rebatchSource = placement.Source{Cluster: "a", Remote: "b", Segment: 1, Range: layout.Ring, Profile: keyhash.PIP486}

// BenchmarkRebatch opens a batch of 1,000 messages, cuts it into 4 parts and
// writes them with the entry's codec. MB/s is of decompressed bytes; allocations
// are per batch, not per message.
func BenchmarkRebatch(b *testing.B) {
	dst := ringOf(b, 4, 1)
	for _, size := range []int{1024, 100} {
		msgs := messages(1000, size)
		for c := codec.None; c <= codec.Snappy; c++ {
			raw := (&entrytest.Batch{Messages: msgs, Codec: c}).Bytes()
			b.Run(fmt.Sprintf("%s/1000x%d", c, size), func(b *testing.B) {
				benchRebatch(b, raw, dst, 4)
			})
		}
	}
}

func benchRebatch(b *testing.B, raw []byte, dst *layout.Layout, wantParts int) {
	f, m := entrytest.Parse(raw)
	o := entry.Origin{Cluster: "a", Instance: "0123456789abcdef0123456789abcdef", Segment: 1, Generation: 1,
		Position: entry.Position{Ledger: 12, Entry: 345}, BoundTopic: "segment://public/default/orders/0000-3fff-1"}
	opt := &rebatch.Options{KeepCodec: true}
	var batch rebatch.Batch
	var parts []rebatch.Part
	var out []byte
	var err error
	bytes := 0
	once := func() {
		if err = batch.Open(&rebatchSource, &f, &m, rebatch.Limits{}); err != nil {
			b.Fatal(err)
		}
		bytes = batch.DecodedBytes()
		if parts, err = batch.Plan(dst, nil, parts[:0]); err != nil {
			b.Fatal(err)
		}
		if len(parts) != wantParts {
			b.Fatalf("%d parts", len(parts))
		}
		out = out[:0]
		for i := range parts {
			if out, _, err = batch.AppendPart(out, &parts[i], &o, opt); err != nil {
				b.Fatal(err)
			}
		}
	}
	once()
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

// BenchmarkRebatchPlan is the core's own work in a re-batch, without codecs and
// copying: read the batch, hash every key, group.
func BenchmarkRebatchPlan(b *testing.B) {
	dst := ringOf(b, 4, 1)
	f, m := entrytest.Parse((&entrytest.Batch{Messages: messages(1000, 100)}).Bytes())
	var batch rebatch.Batch
	var parts []rebatch.Part
	b.ReportAllocs()
	for b.Loop() {
		err := batch.Open(&rebatchSource, &f, &m, rebatch.Limits{})
		if err == nil {
			parts, err = batch.Plan(dst, nil, parts[:0])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/message")
}

// BenchmarkRebatchHostile is what refusing bad input costs: it must be cheap, and must
// not allocate by what the input claims.
func BenchmarkRebatchHostile(b *testing.B) {
	msgs := messages(1000, 100)
	huge, many, minus := uint32(1<<31), int32(1<<31-1), int32(-1)
	million := int32(1 << 20)
	short := func(p []byte) []byte { return p[:len(p)-1] }
	for _, c := range []struct {
		name  string
		batch entrytest.Batch
	}{
		{"size-2GiB", entrytest.Batch{Messages: msgs, Codec: codec.LZ4, Size: &huge}},
		{"count-max", entrytest.Batch{Messages: msgs, Count: &many}},
		{"count-negative", entrytest.Batch{Messages: msgs, Count: &minus}},
		{"count-1Mi", entrytest.Batch{Messages: msgs[:10], Count: &million}},
		{"lz4-cut", entrytest.Batch{Messages: msgs, Codec: codec.LZ4, Payload: short}},
		{"zstd-cut", entrytest.Batch{Messages: msgs, Codec: codec.Zstd, Payload: short}},
		{"last-message-cut", entrytest.Batch{Messages: msgs, Payload: short}},
		{"no-size", entrytest.Batch{Messages: msgs, Codec: codec.Zstd, NoSize: true}},
	} {
		f, m := entrytest.Parse(c.batch.Bytes())
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var batch rebatch.Batch
			for b.Loop() {
				if err := batch.Open(&rebatchSource, &f, &m, rebatch.Limits{MaxDecompressed: 64 << 20}); err == nil {
					b.Fatal("accepted")
				}
			}
		})
	}
}
