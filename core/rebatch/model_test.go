// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// world is a random batch, the segment that it is read from and a layout that it
// is written to.
type world struct {
	messages []entrytest.Message
	entry    []byte
	src      placement.Source
	dst      *layout.Layout
	cut      []int // starts of dst's segments
}

func randomWorld(t testing.TB, rng *rand.Rand) *world {
	t.Helper()
	w := &world{}
	p := keyhash.PIP486
	if rng.IntN(3) == 0 {
		p = keyhash.M1
	}
	start := rng.IntN(40000)
	w.src = placement.Source{Cluster: "a", Remote: "b", Segment: 7, Profile: p,
		Range: layout.Range{Start: uint16(start), End: uint16(start + rng.IntN(65536-start))}}
	for i := range 1 + rng.IntN(60) {
		w.messages = append(w.messages, randomMessage(rng, i))
	}
	w.entry = (&entrytest.Batch{Messages: w.messages, Codec: codec.Codec(rng.IntN(5)), Stamp: rng.IntN(2) == 0}).Bytes()
	w.cut = []int{0}
	for range rng.IntN(6) {
		w.cut = append(w.cut, 1+rng.IntN(65535))
	}
	slices.Sort(w.cut)
	w.cut = slices.Compact(w.cut)
	var segs []layout.Segment
	for i, s := range w.cut {
		segs = append(segs, randomSegment(rng, uint64(i+1), s, w.cut[i:], p))
	}
	dst, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	w.dst = dst
	return w
}

func randomSegment(rng *rand.Rand, id uint64, start int, rest []int, p keyhash.Profile) layout.Segment {
	end := 65535
	if len(rest) > 1 {
		end = rest[1] - 1
	}
	s := layout.Segment{ID: id, Range: layout.Range{Start: uint16(start), End: uint16(end)}, State: layout.Active,
		Profile: p, BucketsKnown: true, CutCap: uint32(rng.IntN(400))}
	if p == keyhash.PIP486 {
		for range rng.IntN(5) {
			s.Buckets = append(s.Buckets, uint16(1+rng.IntN(65535)))
		}
		slices.Sort(s.Buckets)
		s.Buckets = slices.Compact(s.Buckets)
	}
	return s
}

func randomMessage(rng *rand.Rand, i int) entrytest.Message {
	m := entrytest.Message{Seq: int64(1000 + i), Body: make([]byte, rng.IntN(200))}
	for k := range m.Body {
		m.Body[k] = byte(rng.IntN(4) + i)
	}
	switch rng.IntN(10) {
	case 0: // no key
		m.NullKey = rng.IntN(2) == 0
	case 1:
		m.Ordering = fmt.Sprint("o", rng.IntN(5))
	case 2:
		m.Key, m.HasKey, m.Ordering = fmt.Sprint("k", rng.IntN(8)), true, fmt.Sprint("o", rng.IntN(5))
	case 3:
		m.Key, m.HasKey, m.B64 = "AAE=", true, true
	default:
		m.Key, m.HasKey = fmt.Sprint("k", rng.IntN(8)), true
	}
	if rng.IntN(8) == 0 {
		m.NullValue, m.Body = true, nil
	}
	m.CompactedOut = rng.IntN(9) == 0
	if rng.IntN(4) == 0 {
		m.Seq = -1
	}
	if rng.IntN(3) == 0 {
		m.Props = [][2]string{{"p", "v"}}
		m.Extra = entry.AppendStringField(nil, 77, "unknown")
	}
	return m
}

// place is the model of where a message goes: spelled out, from the message alone.
func (w *world) place(m *entrytest.Message) (*layout.Segment, int, uint16) {
	route, bucketHash := int(w.src.Range.Start), uint16(0)
	if m.HasKey {
		h := keyhash.Sum([]byte(m.Key))
		bucketHash = uint16(h)
		if w.src.Profile == keyhash.M1 {
			route = int(h & 0xffff)
		} else {
			route = int(h >> 16)
		}
	}
	if m.Ordering != "" {
		bucketHash = uint16(keyhash.Sum([]byte(m.Ordering)))
	}
	for _, s := range w.dst.Segments() {
		if int(s.Range.Start) <= route && route <= int(s.Range.End) {
			b := 0
			for _, start := range s.Buckets {
				if start <= bucketHash {
					b++
				}
			}
			return s, b, bucketHash
		}
	}
	return nil, 0, 0
}

// modelPart is what Plan must make, found without any of its tricks.
type modelPart struct {
	segment  uint64
	bucket   int
	rank     int64
	messages []int32
}

func (w *world) plan(mask func(int) bool) []modelPart {
	type placed struct{ seg, bucket, index int }
	var all []placed
	for i := range w.messages {
		s, b, _ := w.place(&w.messages[i])
		all = append(all, placed{int(s.ID), b, i})
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(a.seg-b.seg, a.bucket-b.bucket, a.index-b.index)
	})
	var full []modelPart
	size, rank := 0, int64(-1)
	for i, p := range all {
		n := len(w.messages[p.index].Append(nil))
		rank++
		if i > 0 && all[i-1].seg != p.seg {
			rank = 0
		}
		limit := w.dst.Get(uint64(p.seg)).CutBytes()
		if i == 0 || all[i-1].seg != p.seg || all[i-1].bucket != p.bucket || size+n > limit {
			full, size = append(full, modelPart{segment: uint64(p.seg), bucket: p.bucket}), 0
		}
		size += n
		last := &full[len(full)-1]
		last.rank, last.messages = rank, append(last.messages, int32(p.index))
	}
	var out []modelPart
	for _, p := range full {
		p.messages = slices.DeleteFunc(p.messages, func(i int32) bool { return !mask(int(i)) })
		if len(p.messages) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) open(t testing.TB, b *rebatch.Batch) {
	t.Helper()
	f, m := entrytest.Parse(w.entry)
	if err := b.Open(&w.src, &f, &m, rebatch.Limits{}); err != nil {
		t.Fatal(err)
	}
}

func summary(parts []rebatch.Part) []modelPart {
	var out []modelPart
	for _, p := range parts {
		out = append(out, modelPart{p.Segment.ID, p.Bucket, p.Rank, slices.Clone(p.Messages)})
	}
	return out
}

// TestPlanModel compares Plan, whole and masked, and Ranks with the model.
func TestPlanModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var b rebatch.Batch
	for range 2000 {
		w := randomWorld(t, rng)
		w.open(t, &b)
		checkPlan(t, w, &b, nil)
		mask := rebatch.NewMask(len(w.messages))
		for i := range w.messages {
			if rng.IntN(2) == 0 {
				mask.Set(i)
			}
		}
		checkPlan(t, w, &b, mask)
		checkRanks(t, w, &b)
	}
}

func checkPlan(t *testing.T, w *world, b *rebatch.Batch, mask rebatch.Mask) {
	t.Helper()
	parts, err := b.Plan(w.dst, mask, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := w.plan(mask.Has)
	if got := summary(parts); !slices.EqualFunc(got, want, func(a, b modelPart) bool {
		return a.segment == b.segment && a.bucket == b.bucket && a.rank == b.rank && slices.Equal(a.messages, b.messages)
	}) {
		t.Fatalf("plan %v, want %v", got, want)
	}
	for _, p := range parts {
		lo, hi, size := uint16(65535), uint16(0), 0
		for _, i := range p.Messages {
			_, _, h := w.place(&w.messages[i])
			lo, hi, size = min(lo, h), max(hi, h), size+len(w.messages[i].Append(nil))
		}
		if p.HashMin != lo || p.HashMax != hi || p.UncompressedBytes != size {
			t.Fatalf("part %v: %d..%d, %d bytes, want %d..%d, %d", p.Messages, p.HashMin, p.HashMax, p.UncompressedBytes, lo, hi, size)
		}
	}
}

func checkRanks(t *testing.T, w *world, b *rebatch.Batch) {
	t.Helper()
	for _, s := range w.dst.Segments() {
		ranks := b.Ranks(s, []int64{-7})
		if ranks[0] != -7 || len(ranks) != 1+len(w.messages) {
			t.Fatalf("Ranks does not append: %v", ranks)
		}
		for i := range w.messages {
			want := int64(-1)
			if at, bucket, _ := w.place(&w.messages[i]); at == s {
				want = 0
				for j := range w.messages {
					other, ob, _ := w.place(&w.messages[j])
					if other == s && (ob < bucket || ob == bucket && j < i) {
						want++
					}
				}
			}
			if ranks[i+1] != want {
				t.Fatalf("rank of message %d at %d = %d, want %d", i, s.ID, ranks[i+1], want)
			}
		}
	}
}

// TestRankStability: what happens to other destinations changes no part number
// of this one.
func TestRankStability(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var b rebatch.Batch
	changed := 0
	for range 500 {
		w := randomWorld(t, rng)
		kept := w.dst.Active()[rng.IntN(len(w.cut))]
		var segs []layout.Segment
		for _, s := range w.dst.Active() {
			if n := int(s.Range.End) - int(s.Range.Start); s != kept && n > 0 {
				low, high := *s, *s
				mid := s.Range.Start + uint16(n/2)
				low.Range.End, high.Range.Start = mid, mid+1
				low.ID, high.ID = s.ID+100, s.ID+200
				segs = append(segs, low, high)
				continue
			}
			segs = append(segs, *s)
		}
		split, err := layout.New(2, segs)
		if err != nil {
			t.Fatal(err)
		}
		w.open(t, &b)
		of := func(l *layout.Layout) (own, other []modelPart) {
			parts, err := b.Plan(l, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range summary(parts) {
				if p.segment == kept.ID {
					own = append(own, p)
				} else {
					other = append(other, p)
				}
			}
			return own, other
		}
		before, rest := of(w.dst)
		after, restAfter := of(split)
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Fatalf("parts of segment %d changed from %v to %v", kept.ID, before, after)
		}
		if len(rest) != len(restAfter) {
			changed++
		}
	}
	if changed == 0 {
		t.Error("no split ever changed the number of other parts: the test shows nothing")
	}
}

// TestPartsAreTheBatch: the messages of the parts are those of the batch, byte
// for byte; each part lies in one bucket; order per key is kept.
func TestPartsAreTheBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var b rebatch.Batch
	for range 1000 {
		w := randomWorld(t, rng)
		w.open(t, &b)
		parts, err := b.Plan(w.dst, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := entry.Origin{Cluster: "a", Instance: strings.Repeat("|", rng.IntN(40)), Segment: 7, Generation: rng.Uint64(),
			Position: entry.Position{Ledger: math.MaxInt64, Entry: rng.Int64()}, BoundTopic: strings.Repeat("%", rng.IntN(40))}
		seen := make([]int, len(w.messages))
		for k := range parts {
			p := &parts[k]
			raw, head := inPlace(t, &b, p, &o, &rebatch.Options{KeepCodec: rng.IntN(2) == 0})
			f, m := entrytest.Parse(raw)
			if head != len(f.Raw)-len(f.Payload) || !f.HasChecksum || f.Checksum != f.ComputeChecksum() {
				t.Fatalf("header of %d bytes, checksum valid %v", head, f.ChecksumValid())
			}
			checkContent(t, w, p, &f, &m, seen)
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("message %d is in %d parts", i, n)
			}
		}
		checkKeyOrder(t, w, parts)
	}
}

// inPlace writes a part into memory of PartBound's size behind other bytes: it has
// to suffice, and nothing before it may change.
func inPlace(t *testing.T, b *rebatch.Batch, p *rebatch.Part, o *entry.Origin, opt *rebatch.Options) (part []byte, head int) {
	t.Helper()
	const before = "before"
	mem := append(make([]byte, 0, len(before)+b.PartBound(p, o, opt)), before...)
	out, head, err := b.AppendPart(mem, p, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	if cap(out) != cap(mem) || string(out[:len(before)]) != before {
		t.Fatalf("%d bytes do not fit the bound of %d", len(out)-len(before), cap(mem)-len(before))
	}
	return out[len(before):], head
}

func checkContent(t *testing.T, w *world, p *rebatch.Part, f *entry.Frame, m *entry.Metadata, seen []int) {
	t.Helper()
	plain := f.Payload
	if m.Compression != codec.None {
		var err error
		if plain, err = m.Compression.AppendDecode(nil, f.Payload, int(m.UncompressedSize)); err != nil {
			t.Fatal(err)
		}
	}
	var want []byte
	for _, i := range p.Messages {
		seen[i]++
		want = w.messages[i].Append(want)
		s, bucket, h := w.place(&w.messages[i])
		if s != p.Segment || bucket != p.Bucket || p.Segment.Bucket(h) != p.Bucket {
			t.Fatalf("message %d is not in bucket %d of segment %d", i, p.Bucket, p.Segment.ID)
		}
		if w.src.Profile == keyhash.PIP486 && (uint32(h) < m.HashMin || uint32(h) > m.HashMax) {
			t.Fatalf("hash %d is outside the stamp %d..%d", h, m.HashMin, m.HashMax)
		}
	}
	if !bytes.Equal(plain, want) || !m.HasBatch || int(m.NumMessages) != len(p.Messages) {
		t.Fatalf("a part of %d messages does not hold the batch's bytes", len(p.Messages))
	}
	if m.Stamped != (w.src.Profile == keyhash.PIP486) {
		t.Fatalf("stamped: %v under %v", m.Stamped, w.src.Profile)
	}
}

// checkKeyOrder: messages with one (key, ordering key) keep their order across
// the parts in sending order.
func checkKeyOrder(t *testing.T, w *world, parts []rebatch.Part) {
	t.Helper()
	last := map[string]int32{}
	for _, p := range parts {
		for _, i := range p.Messages {
			m := &w.messages[i]
			key := fmt.Sprint(m.HasKey, m.Key, "|", m.Ordering)
			if at, ok := last[key]; ok && at > i {
				t.Fatalf("messages %d and %d of key %q change places", at, i, key)
			}
			last[key] = i
		}
	}
}
