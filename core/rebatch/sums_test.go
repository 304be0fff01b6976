// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// largeBatch has n uncompressed messages large enough that their checksums are moved.
func largeBatch(rng *rand.Rand, n int) []byte {
	msgs := make([]entrytest.Message, n)
	for i := range msgs {
		body := make([]byte, 1024+rng.IntN(9000))
		for k := range body {
			body[k] = byte(rng.Uint32())
		}
		msgs[i] = entrytest.Keyed(fmt.Sprintf("k%d", rng.IntN(n)), int64(i), body)
	}
	return (&entrytest.Batch{Messages: msgs, Broker: n%2 == 0}).Bytes()
}

func quarters(t testing.TB) *layout.Layout {
	t.Helper()
	segs := make([]layout.Segment, 4)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i << 14), End: uint16(i<<14 + 0x3fff)}, Buckets: layout.EqualWidth(2)}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSumsAreThoseOfTheBytes: parts of batches whose bytes were read once, as a
// whole, have the checksum that reading each part gives, masked ones too.
func TestSumsAreThoseOfTheBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	dst := quarters(t)
	var b rebatch.Batch
	for round := range 200 {
		n := 1 + rng.IntN(40)
		f, m := entrytest.Parse(largeBatch(rng, n))
		if err := b.OpenVerified(&source, &f, &m, rebatch.Limits{}); err != nil {
			t.Fatal(err)
		}
		var mask rebatch.Mask
		if round%2 == 0 {
			mask = rebatch.NewMask(n)
			for i := range n {
				if rng.IntN(3) > 0 {
					mask.Set(i)
				}
			}
		}
		parts, err := b.Plan(dst, mask, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			raw, _ := inPlace(t, &b, &parts[i], &origin, &rebatch.Options{KeepCodec: true})
			if p, _ := entrytest.Parse(raw); !p.HasChecksum || p.Checksum != p.ComputeChecksum() {
				t.Fatalf("%d messages, part of %v: checksum %#x, the bytes have %#x", n, parts[i].Messages, p.Checksum,
					p.ComputeChecksum())
			}
		}
	}
}

// TestWrongChecksumIsNeverCoveredUp changes a byte of the payload anywhere, where
// the batch stays readable and where it does not.
func TestWrongChecksumIsNeverCoveredUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	small := (&entrytest.Batch{Messages: []entrytest.Message{entrytest.Keyed("k", 0, []byte("body"))}, Codec: codec.LZ4}).Bytes()
	unreadable := 0
	for _, raw := range [][]byte{largeBatch(rng, 3), largeBatch(rng, 4), small} {
		f, m := entrytest.Parse(raw)
		for k := range min(600, len(f.Payload)) {
			at := k
			if k >= 100 && len(f.Payload) > 600 {
				at = rng.IntN(len(f.Payload))
			}
			f.Payload[at] ^= 0x40
			var b rebatch.Batch
			if b.Open(&source, &f, &m, rebatch.Limits{}) != nil {
				unreadable++
			}
			err := b.OpenVerified(&source, &f, &m, rebatch.Limits{})
			f.Payload[at] ^= 0x40
			var re *rebatch.Error
			if !errors.As(err, &re) || !errors.Is(err, rebatch.ErrChecksum) || re.Reason != placement.Checksum {
				t.Fatalf("byte %d of the payload: %v", at, err)
			}
			if b.Len() != 0 {
				t.Fatalf("byte %d of the payload: %d messages are left", at, b.Len())
			}
		}
	}
	if unreadable == 0 {
		t.Error("no change made a batch unreadable")
	}
	f, m := entrytest.Parse(largeBatch(rng, 5))
	f.HasChecksum = false
	f.Payload[len(f.Payload)-1]++
	var b rebatch.Batch
	if err := b.OpenVerified(&source, &f, &m, rebatch.Limits{}); err != nil {
		t.Errorf("an entry without a checksum: %v", err)
	}
	parts, err := b.Plan(quarters(t), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := inPlace(t, &b, &parts[0], &entry.Origin{}, &rebatch.Options{})
	if p, _ := entrytest.Parse(raw); !p.HasChecksum || !p.ChecksumValid() {
		t.Error("its part has no valid checksum")
	}
}
