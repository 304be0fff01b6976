// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// BenchmarkTick is what an idle topic of 4,096 segments with three peers costs each
// time that it is woken.
func BenchmarkTick(b *testing.B) {
	m, err := New(DefaultConfig("a"))
	if err != nil {
		b.Fatal(err)
	}
	shape := layout.Shape{Profile: keyhash.PIP486, Starts: append([]uint16{0}, layout.EqualWidth(4096)...)}
	shape.Buckets = make([][]uint16, shape.Len())
	segs := make([]layout.Segment, shape.Len())
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i), Range: shape.Range(i), State: layout.Active, Profile: keyhash.PIP486,
			BucketsKnown: true}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		b.Fatal(err)
	}
	m.Store(0, Local{Layout: l, Instance: "a-1"})
	m.Members(0, []string{"a", "b", "c", "d"})
	m.Lead(0, 1)
	for i, name := range []string{"b", "c", "d"} {
		m.Received(0, uint64(i), &State{Cluster: name, Instance: name, Version: Version{Epoch: 1}, Shape: shape,
			Caps: layout.Caps{MaxSegments: 8, MaxBuckets: 8}})
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Tick(1)
		m.Ready()
	}
}
