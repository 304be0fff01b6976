// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/internal/entrytest"
)

// FuzzPlace feeds any bytes to the whole path from entry to decision, and checks
// what must hold of every decision.
func FuzzPlace(f *testing.F) {
	key := entrytest.Message{Key: "k1", HasKey: true, Ordering: "o"}
	for _, raw := range [][]byte{
		batch(entrytest.Batch{Stamp: true, To: []string{"b"}, Broker: true}),
		batch(entrytest.Batch{Stamped: stamp(7, 70000), Encrypt: true, NoCRC: true}),
		unkeyed(entrytest.Batch{Stamp: true}),
		(&entrytest.Single{Message: key}).Bytes(),
		(&entrytest.Single{Extra: entry.AppendVarintField(entry.AppendStringField(nil, 26, "u"), 29, 2)}).Bytes(),
	} {
		f.Add(raw, uint8(0), uint16(0), uint16(32767), uint16(100), false)
		f.Add(raw, uint8(3), uint16(5), uint16(9), uint16(0), true)
	}
	for _, raw := range entrytest.Vectors(f, "../../tests/interop") {
		f.Add(raw, uint8(0), uint16(0), uint16(65535), uint16(0), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, bits uint8, start, end, limit uint16, m1 bool) {
		fr, err := entry.ParseFrame(raw, 1<<20)
		if err != nil {
			return
		}
		var m entry.Metadata
		if m.Parse(fr.Metadata) != nil {
			return
		}
		p := keyhash.PIP486
		var buckets []uint16
		if m1 {
			p = keyhash.M1
		} else {
			buckets = []uint16{1, 500, 40000}
		}
		src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Range{Start: min(start, end), End: max(start, end)},
			Profile: p, Legacy: bits&4 != 0}
		dst := newLayout(t, segment(1, 0, 9999, p, buckets...), segment(2, 10000, 65535, p, buckets...))
		pol := placement.Policy{PlaceEncryptedBatch: bits&8 != 0, MaxMessageBytes: int(limit)}
		d := placement.Place(src, dst, &fr, &m, placement.Flags(bits&3), &pol)
		checkDecision(t, src, &fr, &m, &pol, d)
		if again := placement.Place(src, dst, &fr, &m, placement.Flags(bits&3), &pol); again != d {
			t.Fatalf("decided %+v, then %+v", d, again)
		}
	})
}

func checkDecision(t *testing.T, src *placement.Source, f *entry.Frame, m *entry.Metadata, pol *placement.Policy, d placement.Decision) {
	t.Helper()
	whole := d.Action == placement.Verbatim || d.Action == placement.Single
	switch {
	case d.Action < placement.Verbatim || d.Action > placement.Drop || d.Action == placement.Unkeyed:
		t.Fatalf("action %v", d.Action)
	case whole != (d.Segment != nil):
		t.Fatalf("%v with segment %v", d.Action, d.Segment)
	case d.Segment != nil && (d.Bucket < 0 || d.Bucket > len(d.Segment.Buckets)):
		t.Fatalf("bucket %d of %d", d.Bucket, len(d.Segment.Buckets)+1)
	case (m.HasReplicatedFrom || m.HasMarker) && d.Action != placement.Drop:
		t.Fatalf("%v an entry that must stay", d.Action)
	case whole && pol.MaxMessageBytes > 0 && 10+len(f.Metadata)+len(f.Payload) > pol.MaxMessageBytes:
		t.Fatalf("%v of an entry that is too large", d.Action)
	case d.Action == placement.Rebatch && (m.Encrypted || !m.HasBatch || m.HasChunk):
		t.Fatal("an entry that can not be opened is to be cut")
	case d.Action == placement.Single && !d.Segment.Range.Contains(d.Route):
		t.Fatalf("route %d is outside %v", d.Route, d.Segment.Range)
	case d.Action == placement.Verbatim && (src.Legacy || !d.Segment.Range.Covers(src.Range)):
		t.Fatal("verbatim without segment fit")
	case d.Action == placement.Verbatim && src.Profile == keyhash.PIP486 && m.HashMax <= 0xffff &&
		(d.Segment.Bucket(uint16(m.HashMin)) != d.Bucket || d.Segment.Bucket(uint16(m.HashMax)) != d.Bucket):
		t.Fatal("verbatim without bucket fit")
	}
}
