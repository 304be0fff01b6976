// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

var source = placement.Source{Cluster: "a", Remote: "b", Segment: 7, Range: layout.Range{Start: 0x1234, End: 0xffff}, Profile: keyhash.PIP486}

func two() []entrytest.Message {
	return []entrytest.Message{entrytest.Keyed("k1", 1, []byte("one")), entrytest.Keyed("k2", 2, []byte("two"))}
}

func ptr[T any](v T) *T { return &v }

// TestOpenRefuses: each kind of bad batch has its reason, its sentinel and its byte.
func TestOpenRefuses(t *testing.T) {
	all := func(b entrytest.Batch) []byte {
		if b.Messages == nil {
			b.Messages = two()
		}
		return b.Bytes()
	}
	flip := func(p []byte) []byte { p[0] ^= 0x55; return p }
	for _, c := range []struct {
		name   string
		raw    []byte
		lim    rebatch.Limits
		reason placement.Reason
		err    error
		text   string
	}{
		{"no batch", (&entrytest.Single{Message: two()[0]}).Bytes(), rebatch.Limits{}, placement.Malformed, rebatch.ErrNotBatch, "num_messages_in_batch is absent"},
		{"chunk", all(entrytest.Batch{Extra: entry.AppendVarintField(nil, 29, 1)}), rebatch.Limits{}, placement.Malformed, rebatch.ErrNotBatch, "chunk"},
		{"encrypted", all(entrytest.Batch{Encrypt: true}), rebatch.Limits{}, placement.EncryptedBatch, rebatch.ErrNotBatch, "encrypted"},
		{"encrypted lz4", all(entrytest.Batch{Encrypt: true, Codec: codec.LZ4}), rebatch.Limits{}, placement.EncryptedBatch, rebatch.ErrNotBatch, "encrypted"},
		{"none", all(entrytest.Batch{Count: ptr[int32](0)}), rebatch.Limits{}, placement.Malformed, rebatch.ErrNotBatch, "num_messages_in_batch is 0"},
		{"minus one", all(entrytest.Batch{Count: ptr[int32](-1)}), rebatch.Limits{}, placement.Malformed, rebatch.ErrNotBatch, "num_messages_in_batch is -1"},
		{"2^31-1", all(entrytest.Batch{Count: ptr[int32](1<<31 - 1)}), rebatch.Limits{}, placement.TooLarge, rebatch.ErrLimit, "2147483647 messages"},
		{"2^20 in 20 bytes", all(entrytest.Batch{Count: ptr[int32](1 << 20)}), rebatch.Limits{}, placement.Malformed, entry.ErrFormat, "num_messages_in_batch"},
		{"one too many", all(entrytest.Batch{Count: ptr[int32](3)}), rebatch.Limits{}, placement.Malformed, entry.ErrFormat, "single message metadata size"},
		{"one too few", all(entrytest.Batch{Count: ptr[int32](1)}), rebatch.Limits{}, placement.Malformed, entry.ErrFormat, "bytes after the last message"},
		{"message cap", all(entrytest.Batch{}), rebatch.Limits{MaxMessages: 1}, placement.TooLarge, rebatch.ErrLimit, "2 messages, at most 1"},
		{"byte cap", all(entrytest.Batch{}), rebatch.Limits{MaxDecompressed: 10}, placement.TooLarge, rebatch.ErrLimit, "at most 10"},
		{"declared cap", all(entrytest.Batch{Codec: codec.Zstd, Size: ptr[uint32](1 << 30)}), rebatch.Limits{}, placement.TooLarge, rebatch.ErrLimit, "uncompressed_size 1073741824"},
		{"no size", all(entrytest.Batch{Codec: codec.LZ4, NoSize: true}), rebatch.Limits{}, placement.Codec, rebatch.ErrSize, "codec lz4 without uncompressed_size"},
		{"size of plain bytes", all(entrytest.Batch{Size: ptr[uint32](1)}), rebatch.Limits{}, placement.SizeMismatch, rebatch.ErrSize, "uncompressed_size says 1"},
		{"unknown codec", all(entrytest.Batch{Extra: entry.AppendVarintField(entry.AppendVarintField(nil, 8, 9), 9, 40)}), rebatch.Limits{}, placement.Codec, codec.ErrUnknown, "9"},
		{"size 0", all(entrytest.Batch{Codec: codec.LZ4, Size: ptr[uint32](0)}), rebatch.Limits{}, placement.SizeMismatch, codec.ErrSize, "size"},
		{"compressed, called plain", all(entrytest.Batch{Codec: codec.LZ4, Extra: entry.AppendVarintField(nil, 8, 0)}), rebatch.Limits{}, placement.SizeMismatch, rebatch.ErrSize, "uncompressed_size says"},
		{"zlib broken", all(entrytest.Batch{Codec: codec.Zlib, Payload: flip}), rebatch.Limits{}, placement.Codec, codec.ErrCorrupt, "of the entry"},
		{"snappy broken", all(entrytest.Batch{Codec: codec.Snappy, Payload: func(p []byte) []byte { return p[:len(p)-2] }}), rebatch.Limits{}, placement.Codec, codec.ErrCorrupt, "of the entry"},
	} {
		var b rebatch.Batch
		f, m := entrytest.Parse(c.raw)
		err := b.Open(&source, &f, &m, c.lim)
		var e *rebatch.Error
		if !errors.As(err, &e) || e.ParkReason() != c.reason || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (reason %v), want %v (%v) with %q", c.name, err, e, c.err, c.reason, c.text)
		}
		if b.Len() != 0 || b.DecodedBytes() != 0 {
			t.Errorf("%s: a refused batch has %d messages", c.name, b.Len())
		}
	}
}

// TestOpenSizeLies: for every codec, a declared size that is off by one is found.
func TestOpenSizeLies(t *testing.T) {
	for c := codec.LZ4; c <= codec.Snappy; c++ {
		msgs := two()
		plain := uint32(len(msgs[0].Append(nil)) + len(msgs[1].Append(nil)))
		for _, d := range []int{-1, 0, 1, 1000} {
			raw := (&entrytest.Batch{Messages: msgs, Codec: c, Size: ptr(uint32(int(plain) + d))}).Bytes()
			f, m := entrytest.Parse(raw)
			var b rebatch.Batch
			err := b.Open(&source, &f, &m, rebatch.Limits{})
			if d == 0 && (err != nil || b.Len() != 2 || b.DecodedBytes() != int(plain)) {
				t.Errorf("%v: %v, %d messages", c, err, b.Len())
			}
			if d != 0 && err == nil {
				t.Errorf("%v: a size that is wrong by %d is accepted", c, d)
			}
		}
	}
}

// TestOpenErrorByte: the byte counts in the entry where the batch is not
// compressed, so that it can be found in a dump.
func TestOpenErrorByte(t *testing.T) {
	msgs := two()
	raw := (&entrytest.Batch{Messages: msgs, Broker: true, Payload: func(p []byte) []byte {
		p[len(msgs[0].Append(nil))+3] = 0xff // size of the second message's metadata
		return p
	}}).Bytes()
	f, m := entrytest.Parse(raw)
	var b rebatch.Batch
	err := b.Open(&source, &f, &m, rebatch.Limits{})
	var e *rebatch.Error
	want := len(raw) - len(f.Payload) + len(msgs[0].Append(nil))
	if !errors.As(err, &e) || e.Offset != want || e.Decoded {
		t.Errorf("%v, want byte %d", err, want)
	}
}

// TestOpenWhatItSays checks what a batch says of itself.
func TestOpenWhatItSays(t *testing.T) {
	key, ordered, none := entrytest.Keyed("k1", 1, nil), entrytest.Message{Ordering: "k1"}, entrytest.Message{}
	gone := entrytest.Message{CompactedOut: true}
	goneKey := entrytest.Message{Key: "k1", HasKey: true, CompactedOut: true}
	for _, c := range []struct {
		name               string
		messages           []entrytest.Message
		unkeyed, compacted bool
	}{
		{"keys", []entrytest.Message{key, none}, false, false},
		{"ordering key", []entrytest.Message{none, ordered}, false, false},
		{"no key", []entrytest.Message{none, {NullKey: true}}, true, false},
		{"one compacted out", []entrytest.Message{gone, key}, false, false},
		{"all compacted out", []entrytest.Message{gone, goneKey}, false, true},
	} {
		f, m := entrytest.Parse((&entrytest.Batch{Messages: c.messages}).Bytes())
		var b rebatch.Batch
		if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
			t.Fatal(err)
		}
		if b.Unkeyed() != c.unkeyed || b.AllCompactedOut() != c.compacted {
			t.Errorf("%s: unkeyed %v, compacted out %v", c.name, b.Unkeyed(), b.AllCompactedOut())
		}
	}
	f, m := entrytest.Parse((&entrytest.Batch{Messages: []entrytest.Message{key, ordered, none}}).Bytes())
	var b rebatch.Batch
	if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
		t.Fatal(err)
	}
	const k1 = 0xfdc6602a
	for i, want := range []struct {
		route, bucket uint16
	}{{k1 >> 16, k1 & 0xffff}, {0x1234, k1 & 0xffff}, {0x1234, 0}} {
		if b.Route(i) != want.route || b.BucketHash(i) != want.bucket {
			t.Errorf("message %d: route %#x bucket %#x, want %#x %#x", i, b.Route(i), b.BucketHash(i), want.route, want.bucket)
		}
	}
	if b.Hash(0) != k1 || keyhash.M1.Segment(b.Hash(2)) != 0x1234 {
		t.Errorf("hashes %#x, %#x", b.Hash(0), b.Hash(2))
	}
}

// TestRelease: memory goes from batch to batch, but not that of a very large one.
func TestRelease(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	open := func(b *rebatch.Batch, size int) func() {
		msgs := []entrytest.Message{entrytest.Keyed("k1", 1, make([]byte, size))}
		f, m := entrytest.Parse((&entrytest.Batch{Messages: msgs, Codec: codec.LZ4}).Bytes())
		return func() {
			if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var a, b rebatch.Batch
	first, second := open(&a, 1<<20), open(&b, 1<<20)
	first()
	if n := testing.AllocsPerRun(10, first); n != 0 {
		t.Errorf("%v allocations to open it again", n)
	}
	a.Release()
	if a.Len() != 0 || a.DecodedBytes() != 0 {
		t.Error("the batch is still open")
	}
	if n := testing.AllocsPerRun(10, func() { second(); b.Release() }); n != 0 {
		t.Errorf("%v allocations to open another", n)
	}
	large := open(&a, 9<<20)
	if n := testing.AllocsPerRun(10, func() { large(); a.Release() }); n < 1 {
		t.Error("a buffer of 9 MiB was kept")
	}
}

// TestBatchesShareNothing: while a batch is open, nobody else has its memory.
func TestBatchesShareNothing(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				body := bytes.Repeat([]byte{byte(g)}, 100+i)
				f, m := entrytest.Parse((&entrytest.Batch{Codec: codec.Snappy, Messages: []entrytest.Message{
					entrytest.Keyed(fmt.Sprint(g, i), int64(i), body), entrytest.Keyed("k", int64(i), body)}}).Bytes())
				var b rebatch.Batch
				if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				if got := b.Bytes(0); b.Len() != 2 || !bytes.HasSuffix(got, body) || b.Hash(0) != keyhash.Sum([]byte(fmt.Sprint(g, i))) {
					t.Errorf("%d messages, the first %x", b.Len(), got)
				}
				b.Release()
				b.Release() // a second time it has nothing to give
			}
		})
	}
	all.Wait()
}

func TestMask(t *testing.T) {
	var all rebatch.Mask
	if !all.Has(0) || !all.Has(1<<20) || all.Count() != 0 {
		t.Error("a nil mask is not the set of all")
	}
	m := rebatch.NewMask(65)
	if len(m) != 2 || m.Has(0) || m.Has(64) || m.Has(1000) || m.Count() != 0 {
		t.Errorf("a new mask is not empty: %v", m)
	}
	m.Set(0)
	m.Set(63)
	m.Set(64)
	if !m.Has(0) || !m.Has(63) || !m.Has(64) || m.Has(1) || m.Count() != 3 {
		t.Errorf("mask %b", m)
	}
	if m.Clear(63); m.Has(63) || m.Count() != 2 {
		t.Errorf("mask %b", m)
	}
}
