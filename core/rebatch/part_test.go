// SPDX-License-Identifier: Apache-2.0

package rebatch_test

import (
	"bytes"
	"errors"
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

var origin = entry.Origin{Cluster: "a", Instance: "inst", Segment: 7, Generation: 2,
	Position: entry.Position{Ledger: 3, Entry: 4}, Part: entry.Whole, BoundTopic: "segment://t/n/x/0000-ffff-1"}

// oneSegment is a destination with buckets from 0 and 0x602a, the bucket hash of "k1".
func oneSegment(t testing.TB, p keyhash.Profile) *layout.Layout {
	t.Helper()
	s := layout.Segment{ID: 1, Range: layout.Ring, State: layout.Active, Profile: p, BucketsKnown: true}
	if p == keyhash.PIP486 {
		s.Buckets = []uint16{0x602a}
	} else {
		s.CutCap = 1 // one message per part
	}
	l, err := layout.New(1, []layout.Segment{s})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cut opens raw and returns its parts as entries.
func cut(t *testing.T, raw []byte, dst *layout.Layout, opt rebatch.Options) (frames []entry.Frame, metas []entry.Metadata) {
	t.Helper()
	var b rebatch.Batch
	f, m := entrytest.Parse(raw)
	src := source
	src.Profile = dst.Profile()
	if err := b.Open(&src, &f, &m, rebatch.Limits{}); err != nil {
		t.Fatal(err)
	}
	parts, err := b.Plan(dst, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		out, _, err := b.AppendPart(nil, &parts[i], &origin, &opt)
		if err != nil {
			t.Fatal(err)
		}
		pf, pm := entrytest.Parse(out)
		frames, metas = append(frames, pf), append(metas, pm)
	}
	return frames, metas
}

// sample has, in bucket 1, messages 0 and 2 with key k1 and, in bucket 0, message
// 1 without a key and 3 with ordering key "" (none) and null key.
func sample() []entrytest.Message {
	return []entrytest.Message{
		{Key: "k1", HasKey: true, Ordering: "k1", Seq: 12, Body: []byte("zero")},
		{Seq: 9, Body: []byte("one")},
		{Key: "AAE=", HasKey: true, B64: true, Ordering: "k1", Seq: 10, Body: []byte("two")},
		{NullKey: true, NullValue: true, Seq: 11},
	}
}

// hasField says whether a field with this number is in a message.
func hasField(meta []byte, number int) bool {
	rest, err := entry.CopyFields(nil, meta, func(field int) bool { return field == number })
	return err != nil || len(rest) != len(meta)
}

func properties(t *testing.T, meta []byte) (out [][2]string) {
	t.Helper()
	err := entry.EachProperty(meta, func(k, v []byte) bool {
		out = append(out, [2]string{string(k), string(v)})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPartMetadata is the list "Splitting a batch into parts": what is carried,
// set, cleared and recomputed.
func TestPartMetadata(t *testing.T) {
	extra := entry.AppendStringField(nil, 16, "schema-1")
	extra = entry.AppendStringField(extra, 32, "id-1")
	extra = entry.AppendVarintField(extra, 12, 55)
	extra = entry.AppendVarintField(extra, 19, 66)
	extra = entry.AppendVarintField(extra, 22, 1)
	extra = entry.AppendVarintField(extra, 23, 2)
	extra = entry.AppendStringField(extra, 99, "unknown")
	for _, i := range []uint64{0, 1, 3} {
		extra = entry.AppendVarintField(extra, 31, i)
	}
	raw := (&entrytest.Batch{Messages: sample(), Stamp: true, Extra: extra, To: []string{"b"}, Codec: codec.LZ4,
		Props: [][2]string{{"own", "1"}, {entry.SourcePositionProperty, "9:9"}, {entry.OriginProperty, "1|forged"}}}).Bytes()
	frames, metas := cut(t, raw, oneSegment(t, keyhash.PIP486), rebatch.Options{KeepCodec: true})
	if len(metas) != 2 {
		t.Fatalf("%d parts", len(metas))
	}
	for i, m := range metas {
		f := frames[i]
		if string(m.ProducerName) != "producer-1" || m.PublishTime != 1700000000000 || string(m.SchemaVersion) != "schema-1" ||
			string(m.SchemaID) != "id-1" || m.EventTime != 55 || m.DeliverAt != 66 || !m.HasDeliverAt {
			t.Errorf("part %d: carried fields %+v", i, m)
		}
		if present, listed := entry.ReplicatesTo(f.Metadata, "b"); !present || !listed {
			t.Errorf("part %d: replicate_to is lost", i)
		}
		if !bytes.Contains(f.Metadata, entry.AppendStringField(nil, 99, "unknown")) {
			t.Errorf("part %d: the unknown field is lost", i)
		}
		if hasField(f.Metadata, 22) || hasField(f.Metadata, 23) {
			t.Errorf("part %d: transaction ids are left", i)
		}
		if string(m.ReplicatedFrom) != "a" || m.Compression != codec.LZ4 || !m.HasUncompressedSize {
			t.Errorf("part %d: from %q codec %v", i, m.ReplicatedFrom, m.Compression)
		}
		rank := []string{"1", "3"}[i]
		want := [][2]string{{"own", "1"}, {entry.SourcePositionProperty, "3:4:" + rank},
			{entry.OriginProperty, "1|a|inst|7|2|3:4:" + rank + "|segment://t/n/x/0000-ffff-1"}}
		got := properties(t, f.Metadata)
		slices.SortFunc(got[1:], func(a, b [2]string) int { return strings.Compare(b[0], a[0]) })
		slices.SortFunc(want[1:], func(a, b [2]string) int { return strings.Compare(b[0], a[0]) })
		if !slices.Equal(got, want) {
			t.Errorf("part %d: properties %v, want %v", i, got, want)
		}
	}
	first, second := metas[0], metas[1]
	if first.SequenceID != 9 || first.HighestSequenceID != 11 || second.SequenceID != 10 || second.HighestSequenceID != 12 {
		t.Errorf("sequence ids %d..%d and %d..%d", first.SequenceID, first.HighestSequenceID, second.SequenceID, second.HighestSequenceID)
	}
	if first.HasPartitionKey || first.HasOrderingKey || string(second.PartitionKey) != "k1" || string(second.OrderingKey) != "k1" || second.PartitionKeyB64 {
		t.Errorf("outer keys of the parts: %q and %q", first.PartitionKey, second.PartitionKey)
	}
	if first.HashMin != 0 || first.HashMax != 0 || second.HashMin != 0x602a || second.HashMax != 0x602a || !first.Stamped || !second.Stamped {
		t.Errorf("stamps %d..%d and %d..%d", first.HashMin, first.HashMax, second.HashMin, second.HashMax)
	}
	for i, want := range [][]int32{{0, 1}, {0}} { // of 0, 1, 3: messages 1 and 3, and message 0
		var got []int32
		if err := entry.EachCompactedIndex(frames[i].Metadata, func(k int32) bool { got = append(got, k); return true }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("part %d: compacted_batch_indexes %v, want %v", i, got, want)
		}
	}
}

// TestPartOneMessage: a part of one keeps num_messages_in_batch, which is what
// makes its payload a batch, and has the key of its own message.
func TestPartOneMessage(t *testing.T) {
	frames, metas := cut(t, (&entrytest.Batch{Messages: sample(), Codec: codec.Zstd}).Bytes(), oneSegment(t, keyhash.M1), rebatch.Options{})
	if len(metas) != 4 {
		t.Fatalf("%d parts", len(metas))
	}
	for i, m := range metas {
		msg := sample()[i]
		if !m.HasBatch || m.NumMessages != 1 || m.SequenceID != uint64(msg.Seq) || m.HighestSequenceID != uint64(msg.Seq) {
			t.Errorf("part %d: %d messages, sequence ids %d..%d", i, m.NumMessages, m.SequenceID, m.HighestSequenceID)
		}
		if m.HasPartitionKey != msg.HasKey || string(m.PartitionKey) != msg.Key || m.PartitionKeyB64 != msg.B64 {
			t.Errorf("part %d: key %q", i, m.PartitionKey)
		}
		if m.Stamped || m.Compression != codec.None || m.HasUncompressedSize || !bytes.Equal(frames[i].Payload, msg.Append(nil)) {
			t.Errorf("part %d: stamped %v codec %v", i, m.Stamped, m.Compression)
		}
	}
}

// TestPartSequence covers clients that write fewer sequence ids.
func TestPartSequence(t *testing.T) {
	none := []entrytest.Message{{Key: "k1", HasKey: true, Seq: -1}, {Key: "k1", HasKey: true, Seq: -1}}
	_, metas := cut(t, (&entrytest.Batch{Messages: none, Extra: entry.AppendVarintField(entry.AppendVarintField(nil, 2, 40), 24, 41)}).Bytes(),
		oneSegment(t, keyhash.PIP486), rebatch.Options{})
	if m := metas[0]; m.SequenceID != 40 || m.HighestSequenceID != 41 || !m.HasHighestSequence {
		t.Errorf("without own ids: %d..%d", m.SequenceID, m.HighestSequenceID)
	}
	some := []entrytest.Message{{Key: "k1", HasKey: true, Seq: 50}, {Key: "k1", HasKey: true, Seq: -1}}
	_, metas = cut(t, (&entrytest.Batch{Messages: some, Extra: entry.AppendVarintField(nil, 2, 40)}).Bytes(),
		oneSegment(t, keyhash.PIP486), rebatch.Options{})
	if m := metas[0]; m.SequenceID != 40 || m.HighestSequenceID != 50 {
		t.Errorf("with one own id: %d..%d", m.SequenceID, m.HighestSequenceID)
	}
}

func TestPartSchema(t *testing.T) {
	raw := (&entrytest.Batch{Messages: two(), Extra: entry.AppendStringField(nil, 16, "old")}).Bytes()
	frames, metas := cut(t, raw, oneSegment(t, keyhash.PIP486), rebatch.Options{SetSchemaVersion: true, SchemaVersion: []byte("new")})
	if string(metas[0].SchemaVersion) != "new" || bytes.Contains(frames[0].Metadata, []byte("old")) {
		t.Errorf("schema version %q", metas[0].SchemaVersion)
	}
}

// TestPartTooLarge: a part beyond the destination's message size is an error that
// names the sizes, and dst is as it was.
func TestPartTooLarge(t *testing.T) {
	f, m := entrytest.Parse((&entrytest.Batch{Messages: two()}).Bytes())
	var b rebatch.Batch
	if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
		t.Fatal(err)
	}
	parts, err := b.Plan(oneSegment(t, keyhash.PIP486), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := b.AppendPart(nil, &parts[0], &origin, &rebatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = b.AppendPart(nil, &parts[0], &origin, &rebatch.Options{MaxMessageBytes: len(whole)}); err != nil {
		t.Errorf("as large as allowed: %v", err)
	}
	out, _, err := b.AppendPart([]byte("kept"), &parts[0], &origin, &rebatch.Options{MaxMessageBytes: len(whole) - 1})
	var e *rebatch.Error
	if !errors.As(err, &e) || e.Reason != placement.TooLargeSingle || !errors.Is(err, rebatch.ErrTooLarge) || string(out) != "kept" {
		t.Errorf("one byte too large: %v, %q", err, out)
	}
}

// TestPartsFitTheDestination: a destination with a small message size gets more
// and smaller parts, also where nothing compresses, and the same ones again.
func TestPartsFitTheDestination(t *testing.T) {
	const limit = 2000
	var msgs []entrytest.Message
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range 100 {
		body := make([]byte, 10+rng.IntN(190))
		for k := range body {
			body[k] = byte(rng.Uint32())
		}
		msgs = append(msgs, entrytest.Keyed("k1", int64(i), body))
	}
	dst := oneSegment(t, keyhash.PIP486)
	for c := codec.None; c <= codec.Snappy; c++ {
		f, m := entrytest.Parse((&entrytest.Batch{Messages: msgs, Codec: c}).Bytes())
		var b rebatch.Batch
		if err := b.Open(&source, &f, &m, rebatch.Limits{MaxMessageBytes: limit}); err != nil {
			t.Fatal(err)
		}
		parts, err := b.Plan(dst, nil, nil)
		if err != nil || len(parts) < 6 || len(parts) > 30 {
			t.Fatalf("%v: %d parts, %v", c, len(parts), err)
		}
		mask := rebatch.NewMask(100)
		mask.Set(int(parts[3].Messages[0]))
		want := summary(parts)[3]
		for i := range parts {
			out, _, err := b.AppendPart(nil, &parts[i], &origin, &rebatch.Options{KeepCodec: true, MaxMessageBytes: limit})
			if err != nil || len(out) > limit {
				t.Errorf("%v: part %d: %d bytes, %v", c, i, len(out), err)
			}
		}
		if parts, err = b.Plan(dst, mask, nil); err != nil || len(parts) != 1 || parts[0].Rank != want.rank {
			t.Errorf("%v: masked plan %v, %v, want rank %d", c, summary(parts), err, want.rank)
		}
	}
}

// TestPlanRefuses: nothing is planned for a destination that can not be written to.
func TestPlanRefuses(t *testing.T) {
	f, m := entrytest.Parse((&entrytest.Batch{Messages: two()}).Bytes())
	var b rebatch.Batch
	if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
		t.Fatal(err)
	}
	seg := *oneSegment(t, keyhash.PIP486).Get(1)
	unknown, legacy := seg, seg
	unknown.BucketsKnown = false
	legacy.Legacy = "persistent://t/n/x"
	for want, s := range map[placement.Reason]layout.Segment{placement.NoDestination: unknown, placement.LegacyDestination: legacy} {
		l, err := layout.New(1, []layout.Segment{s})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := b.Plan(l, nil, make([]rebatch.Part, 1, 8))
		var e *rebatch.Error
		if !errors.As(err, &e) || e.Reason != want || len(parts) != 1 {
			t.Errorf("%v: %v, %d parts", want, err, len(parts))
		}
	}
}

// TestNoAllocationPerMessage: after warming up, a batch of 1,000 costs no more
// allocations than a batch of 10.
func TestNoAllocationPerMessage(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	var segs []layout.Segment
	for i := range 4 {
		segs = append(segs, layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i << 14), End: uint16(i<<14 + 1<<14 - 1)}})
	}
	dst, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	for c := codec.None; c <= codec.Snappy; c++ {
		cost := func(n int) float64 {
			f, m := entrytest.Parse((&entrytest.Batch{Messages: manyKeys(n, 100), Codec: c}).Bytes())
			var b rebatch.Batch
			var parts []rebatch.Part
			var out []byte
			return testing.AllocsPerRun(20, func() {
				if err := b.Open(&source, &f, &m, rebatch.Limits{}); err != nil {
					t.Fatal(err)
				}
				if parts, err = b.Plan(dst, nil, parts[:0]); err != nil {
					t.Fatal(err)
				}
				out = out[:0]
				for i := range parts {
					if out, _, err = b.AppendPart(out, &parts[i], &origin, &rebatch.Options{KeepCodec: true}); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
		if few, many := cost(10), cost(1000); many > few+20 {
			t.Errorf("%v: %v allocations for 10 messages, %v for 1,000", c, few, many)
		}
	}
}

func manyKeys(n, size int) []entrytest.Message {
	out := make([]entrytest.Message, n)
	for i := range out {
		body := make([]byte, size)
		for k := range body {
			body[k] = byte(i*7 + k%13)
		}
		out[i] = entrytest.Keyed("key-"+string(rune('a'+i%26))+string(rune('a'+i/26%26)), int64(i), body)
	}
	return out
}
