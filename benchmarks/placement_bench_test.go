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
	"georep/internal/entrytest"
)

// ringOf returns a layout of n segments of equal width, each with b buckets.
func ringOf(tb testing.TB, n, buckets int) *layout.Layout {
	tb.Helper()
	segs := make([]layout.Segment, n)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.PIP486,
			Range:   layout.Range{Start: uint16(i << 16 / n), End: uint16((i+1)<<16/n - 1)},
			Buckets: layout.EqualWidth(buckets), BucketsKnown: true}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func messages(n, size int) []entrytest.Message {
	out := make([]entrytest.Message, n)
	for i := range out {
		body := make([]byte, size)
		for k := range body { // text-like: compresses to about a third
			body[k] = "the quick brown fox, 0123456789 "[(k*7+i*k/11)%32]
		}
		out[i] = entrytest.Keyed(fmt.Sprintf("key-%d", i%500), int64(i), body)
	}
	return out
}

// BenchmarkPlacement decides on 64 entries at a time, as the replicator offers
// them: parse the frame, parse the metadata, place. One operation is 64 entries.
func BenchmarkPlacement(b *testing.B) {
	dst := ringOf(b, 16, 8)
	src := &placement.Source{Cluster: "a", Remote: "b", Segment: 1, Range: layout.Range{Start: 0, End: 4095}, Profile: keyhash.PIP486}
	pol := &placement.Policy{MaxMessageBytes: 5 << 20}
	msgs := messages(100, 100)
	key := entrytest.Message{Key: "key-1", HasKey: true, Body: make([]byte, 100)}
	for _, c := range []struct {
		name   string
		raw    []byte
		action placement.Action
	}{
		{"verbatim", (&entrytest.Batch{Messages: msgs[:1], Stamp: true, Codec: codec.LZ4}).Bytes(), placement.Verbatim},
		{"misfit", (&entrytest.Batch{Messages: msgs, Stamp: true, Codec: codec.LZ4}).Bytes(), placement.Rebatch},
		{"single", (&entrytest.Single{Message: key}).Bytes(), placement.Single},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var m entry.Metadata
			for b.Loop() {
				for range 64 {
					f, err := entry.ParseFrame(c.raw, 5<<20)
					if err != nil {
						b.Fatal(err)
					}
					if err := m.Parse(f.Metadata); err != nil {
						b.Fatal(err)
					}
					if d := placement.Place(src, dst, &f, &m, 0, pol); d.Action != c.action {
						b.Fatalf("%v %v", d.Action, d.Reason)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/entry")
		})
	}
}
