// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// TestVectors cuts every stored entry of a real client that is a readable batch,
// and puts the parts together again.
func TestVectors(t *testing.T) {
	dst, err := layout.New(1, []layout.Segment{
		{ID: 1, Range: layout.Range{Start: 0, End: 0x7fff}, State: layout.Active, Profile: keyhash.PIP486, Buckets: layout.EqualWidth(4), BucketsKnown: true},
		{ID: 2, Range: layout.Range{Start: 0x8000, End: 0xffff}, State: layout.Active, Profile: keyhash.PIP486, Buckets: layout.EqualWidth(3), BucketsKnown: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for name, raw := range entrytest.Vectors(t, "../../tests/interop") {
		f, m := entrytest.Parse(raw)
		var b rebatch.Batch
		err := b.Open(&source, &f, &m, rebatch.Limits{})
		if readable := m.HasBatch && !m.Encrypted && !m.HasChunk; readable != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		opened++
		t.Run(name, func(t *testing.T) {
			checkParts(t, &b, dst, nil, true)
			checkParts(t, &b, dst, nil, false)
		})
	}
	if opened < 10 {
		t.Errorf("only %d batches among the vectors", opened)
	}
}
