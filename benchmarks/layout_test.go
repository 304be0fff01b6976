// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// ring returns a shape of n segments of equal width from start on, each with buckets.
func ring(n, offset, buckets int) layout.Shape {
	s := layout.Shape{Profile: keyhash.PIP486, Starts: make([]uint16, n), Buckets: make([][]uint16, n)}
	list := layout.EqualWidth(buckets)
	for i := range n {
		if i > 0 {
			s.Starts[i] = uint16(i*65536/n + offset)
		}
		s.Buckets[i] = list
	}
	return s
}

// BenchmarkJoinAndPlan folds a peer's layout without one common boundary into the
// local one: n boundaries each.
func BenchmarkJoinAndPlan(b *testing.B) {
	for _, n := range []int{16, 256, 4096} {
		b.Run(fmt.Sprintf("boundaries=%d", n), func(b *testing.B) {
			local, peer := ring(n, 0, 4), ring(n, 3, 8)
			segs := make([]layout.Segment, n)
			for i := range segs {
				segs[i] = layout.Segment{ID: uint64(i), Range: local.Range(i), State: layout.Active,
					Profile: local.Profile, Buckets: local.Buckets[i], BucketsKnown: true}
			}
			l, err := layout.New(1, segs)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				target, err := layout.Join(local, peer)
				if err != nil {
					b.Fatal(err)
				}
				ops, err := layout.Plan(l, target)
				if err != nil || len(ops) != n {
					b.Fatal(len(ops), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/boundary")
		})
	}
}
