// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"georep/core/budget"
	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// TestFault24ConcurrentZstd: forty segments want to open a zstd batch of 8 MiB at
// the same time, and there are two slots. What is decompressed at any time is two
// batches, and nothing is left of them afterwards.
func TestFault24ConcurrentZstd(t *testing.T) {
	const segments, slots, size = 40, 2, 8 << 20
	b := batchOf()
	for i := range 8 {
		b.Messages = append(b.Messages, entrytest.Keyed(keyAt(keyhash.M1, i%4, 1), int64(i), make([]byte, size/8)))
	}
	b.Codec = codec.Zstd
	raw := b.Bytes()
	bud, err := budget.New(budget.Config{BytesPerSecond: 1 << 40, Slots: slots})
	if err != nil {
		t.Fatal(err)
	}
	bud.Advance(0)
	for k := range budget.Key(segments) {
		bud.Request(k, 1, size)
	}
	src := placement.Source{Cluster: "a", Remote: "b", Profile: keyhash.M1, Range: layout.Range{End: 0xffff}}
	dst := ring(t, keyhash.M1, 4)
	before := heap()
	open := make(map[budget.Key]*rebatch.Batch)
	served, most := 0, uint64(0)
	for served < segments {
		for _, k := range bud.Granted(nil) {
			f, m := entrytest.Parse(raw)
			one := new(rebatch.Batch)
			if err := one.Open(&src, &f, &m, rebatch.Limits{}); err != nil {
				t.Fatal(err)
			}
			if parts, err := one.Plan(dst, nil, nil); err != nil || len(parts) < 4 {
				t.Fatalf("%d parts, %v", len(parts), err)
			}
			open[k] = one
		}
		if len(open) == 0 || len(open) > slots {
			t.Fatalf("%d batches are open, %d slots", len(open), slots)
		}
		most = max(most, heap()-min(before, heap()))
		for k, one := range open {
			one.Release()
			delete(open, k)
			bud.Return(k)
			served++
		}
	}
	if limit := uint64(slots*size + size); most > limit {
		t.Errorf("%d bytes were resident, want at most %d", most, limit)
	}
	if left := heap(); left > before+size/2 {
		t.Errorf("%d bytes are left", left-before)
	}
}

// heap is what is reachable, bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFault25HostileStreams: cut, flipped and repeated bytes of every codec end
// in an error or in exactly the declared size, never in a panic, and never in
// more memory than was declared. (core/codec has the fuzz targets.)
func TestFault25HostileStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	plain := make([]byte, 3000)
	for i := range plain {
		plain[i] = byte(rng.IntN(5))
	}
	bombs := map[codec.Codec]string{ // what the decoders' own reports were about
		codec.LZ4:    "0f0000ffffffffffffffffffffffff00",       // a match before the first byte
		codec.Snappy: "ffffffff0f00",                           // 4 GiB, in six bytes
		codec.Zstd:   "28b52ffd00f00000000000000000",           // a window of 2 TiB
		codec.Zlib:   "789cedc1010100000080901fac00000000ff01", // ends in the middle
	}
	for c := codec.LZ4; c <= codec.Snappy; c++ {
		good, err := c.AppendEncode(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		bomb, err := hex.DecodeString(bombs[c])
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3000 {
			bad := append([]byte(nil), good...)
			if round%50 == 0 {
				bad = append([]byte(nil), bomb...)
			}
			for range 1 + rng.IntN(4) {
				bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
			}
			if rng.IntN(3) == 0 {
				bad = bad[:rng.IntN(len(bad)+1)]
			}
			want := []int{len(plain), len(plain) + 1, len(plain) - 1, 0, 1, math.MaxInt32}[rng.IntN(6)]
			if want > 1<<20 && round%100 != 0 {
				continue
			}
			guard := []byte("guard")
			out, err := c.AppendDecode(guard[:5:5], bad, want)
			if err == nil && len(out) != 5+want || err != nil && len(out) != 5 || string(out[:5]) != "guard" {
				t.Fatalf("%v, %d bytes of %x: %d bytes out, %v", c, want, bad, len(out), err)
			}
		}
	}
}

// TestFault26NegativeAndHugeCounts: num_messages_in_batch of -1 or 2^31-1 is
// parked before anything is sized by it, whether the entry would fit or not.
func TestFault26NegativeAndHugeCounts(t *testing.T) {
	for _, n := range []int32{-1, math.MinInt32, 0, 5, 1000, math.MaxInt32} {
		for segments := 1; segments <= 4; segments += 3 {
			r := newRig(t, ring(t, keyhash.M1, segments), nil)
			b := spread(keyhash.M1)
			b.Count = &n
			before := heap()
			p := r.offer(b.Bytes())
			if grown := heap() - min(before, heap()); grown > 1<<20 {
				t.Errorf("count %d took %d bytes", n, grown)
			}
			// one message more than there is can not be seen without opening it
			if n != 5 || segments > 1 {
				if len(r.sends) > 0 || r.parked[p] != placement.Malformed {
					t.Errorf("%d segments, count %d: %d sends, parked %v", segments, n, len(r.sends), r.parked)
				}
			}
			for _, s := range r.sends {
				if s.messages < 1 || s.messages > 5 {
					t.Errorf("count %d is published as %d messages", n, s.messages)
				}
			}
		}
	}
}

// TestFault27TextOrBytes: the hash is that of the key's text, base64 or not, on
// every path that looks at a key.
func TestFault27TextOrBytes(t *testing.T) {
	const text = "AAE=" // the bytes 00 01
	if b := keyhash.Bucket(keyhash.Sum([]byte(text))); b != 0xb1c4 {
		t.Fatalf("bucket hash of the text: %#x", b)
	}
	if b := keyhash.Bucket(keyhash.Sum([]byte{0, 1})); b != 0xa2c0 {
		t.Fatalf("bucket hash of the bytes: %#x", b)
	}
	dst := ring(t, keyhash.PIP486, 1, 0xb000) // the text lies above, the bytes below
	for _, b64 := range []bool{true, false} {
		one := entrytest.Message{Key: text, HasKey: true, B64: b64, Seq: 1, Body: []byte("v")}
		r := newRig(t, dst, nil)
		r.offer((&entrytest.Single{Message: one}).Bytes())
		if got := r.sends[0].bucket; got != 1 {
			t.Errorf("base64 %v: a single one is sent to bucket %d", b64, got)
		}
		low := entrytest.Keyed("k2", 2, []byte("w")) // below, so that the batch straddles
		r.offer((&entrytest.Batch{Messages: []entrytest.Message{one, low}}).Bytes())
		r.storeAll()
		r.drained()
		for _, raw := range r.log[1] {
			_, m := entrytest.Parse(raw)
			for _, x := range opened(t, raw) {
				if m.HasBatch && (x.body == "v") != (m.Stamped && m.HashMin == 0xb1c4 && m.HashMax == 0xb1c4) {
					t.Errorf("base64 %v: %q is stamped %#x to %#x", b64, x.body, m.HashMin, m.HashMax)
				}
			}
		}
		if len(r.log[1]) != 3 {
			t.Errorf("%d entries stored, want the single one and two parts", len(r.log[1]))
		}
	}
}

// TestFault28WrongMurmur: keys that real clients and brokers have hashed. The
// sign bit is not cut away, and the tail of a key counts.
func TestFault28WrongMurmur(t *testing.T) {
	for key, want := range map[string]uint32{"": 0, "k1": 0xfdc6602a} {
		if got := keyhash.Sum([]byte(key)); got != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
	for key, masked := range map[string]uint32{"k1": 2110152746, "k2": 1479966664} {
		if got := keyhash.Sum([]byte(key)) & 0x7fffffff; got != masked {
			t.Errorf("%q: %d as a number, want %d", key, got, masked)
		}
	}
	k := keyhash.Sum([]byte("k1"))
	if s := keyhash.PIP486.Segment(k); s != 0xfdc6 {
		t.Errorf("pip486 segment %#x", s)
	}
	if s := keyhash.M1.Segment(k); s != 0x602a {
		t.Errorf("m1 segment %#x", s)
	}
	if h := entry.BucketHash(true, []byte("k1"), true, []byte("k2")); h != k {
		t.Errorf("the ordering key does not select the bucket: %#x", h)
	}
}
