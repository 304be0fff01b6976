// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"bytes"
	"errors"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// FuzzRebatch opens any bytes as an entry, cuts what opens, and reads the parts
// again: together they must hold every message once, unchanged.
func FuzzRebatch(f *testing.F) {
	for c := codec.None; c <= codec.Snappy; c++ {
		f.Add((&entrytest.Batch{Messages: sample(), Codec: c, Stamp: true}).Bytes(), uint16(0x602a), uint16(40), uint64(5))
	}
	f.Add((&entrytest.Batch{Messages: sample(), Count: ptr[int32](-1)}).Bytes(), uint16(1), uint16(0), uint64(0))
	f.Add((&entrytest.Batch{Messages: sample(), Codec: codec.LZ4, Size: ptr[uint32](1 << 31)}).Bytes(), uint16(1), uint16(0), uint64(1))
	for _, raw := range entrytest.Vectors(f, "../../tests/interop") {
		f.Add(raw, uint16(0x602a), uint16(100), uint64(7))
	}
	f.Fuzz(func(t *testing.T, raw []byte, start, cutCap uint16, bits uint64) {
		fr, err := entry.ParseFrame(raw, 1<<20)
		if err != nil {
			return
		}
		var m entry.Metadata
		if m.Parse(fr.Metadata) != nil {
			return
		}
		var b rebatch.Batch
		if err := b.Open(&source, &fr, &m, rebatch.Limits{MaxDecompressed: 1 << 20, MaxMessages: 10000}); err != nil {
			var e *rebatch.Error
			if !errors.As(err, &e) || e.ParkReason() < placement.TooLarge {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		half := layout.Segment{ID: 1, Range: layout.Range{Start: 0, End: 0x7fff}, State: layout.Active, Profile: keyhash.PIP486,
			Buckets: []uint16{max(start, 1)}, BucketsKnown: true, CutCap: uint32(cutCap)}
		other := half
		other.ID, other.Range, other.Buckets = 2, layout.Range{Start: 0x8000, End: 0xffff}, nil
		dst, err := layout.New(1, []layout.Segment{half, other})
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, &b, dst, rebatch.Mask{bits}, bits&1 == 0)
		checkParts(t, &b, dst, nil, true)
	})
}

func checkParts(t *testing.T, b *rebatch.Batch, dst *layout.Layout, mask rebatch.Mask, keep bool) {
	t.Helper()
	parts, err := b.Plan(dst, mask, nil)
	if errors.Is(err, rebatch.ErrLimit) && len(parts) == 0 {
		return // too much metadata for so many parts
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := rebatch.NewMask(b.Len())
	for i := range parts {
		p := &parts[i]
		if i > 0 && parts[i-1].Segment == p.Segment && parts[i-1].Rank >= p.Rank {
			t.Fatalf("ranks %d, %d", parts[i-1].Rank, p.Rank)
		}
		out, head := inPlace(t, b, p, &origin, &rebatch.Options{KeepCodec: keep, SetSchemaVersion: keep, SchemaVersion: []byte("v")})
		f, m := entrytest.Parse(out)
		if !f.ChecksumValid() || head != len(out)-len(f.Payload) || int(m.NumMessages) != len(p.Messages) {
			t.Fatal("the part is no entry of its messages")
		}
		var again rebatch.Batch
		if err := again.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
			t.Fatal(err)
		}
		for k, index := range p.Messages {
			if !bytes.Equal(again.Bytes(k), b.Bytes(int(index))) || seen.Has(int(index)) || !mask.Has(int(index)) {
				t.Fatalf("message %d changed, or is there twice", index)
			}
			seen.Set(int(index))
			if p.Segment.Bucket(b.BucketHash(int(index))) != p.Bucket || !p.Segment.Range.Contains(b.Route(int(index))) {
				t.Fatalf("message %d is in the wrong part", index)
			}
		}
	}
	for i := range b.Len() {
		if mask.Has(i) && !seen.Has(i) {
			t.Fatalf("message %d is lost", i)
		}
	}
}
