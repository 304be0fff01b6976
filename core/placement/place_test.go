// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"slices"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/internal/entrytest"
)

// hashK1 is the raw hash of the key "k1" as Pulsar's own clients compute it.
const hashK1 = 0xfdc6602a

func segment(id uint64, start, end int, p keyhash.Profile, buckets ...uint16) layout.Segment {
	return layout.Segment{ID: id, Range: layout.Range{Start: uint16(start), End: uint16(end)}, State: layout.Active,
		Profile: p, Buckets: buckets, BucketsKnown: true}
}

func newLayout(t testing.TB, segs ...layout.Segment) *layout.Layout {
	t.Helper()
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type want struct {
	action  placement.Action
	reason  placement.Reason
	segment uint64 // 0: none
	bucket  int
	route   uint16
}

func check(t *testing.T, name string, d placement.Decision, w want) {
	t.Helper()
	got := want{action: d.Action, reason: d.Reason, bucket: d.Bucket, route: d.Route}
	if d.Segment != nil {
		got.segment = d.Segment.ID
	}
	if got != w {
		t.Errorf("%s: %v %v segment %d bucket %d route %d, want %v %v segment %d bucket %d route %d", name,
			got.action, got.reason, got.segment, got.bucket, got.route, w.action, w.reason, w.segment, w.bucket, w.route)
	}
}

func place(src *placement.Source, dst *layout.Layout, raw []byte, flags placement.Flags, pol placement.Policy) placement.Decision {
	f, m := entrytest.Parse(raw)
	return placement.Place(src, dst, &f, &m, flags, &pol)
}

func batch(b entrytest.Batch) []byte {
	if b.Messages == nil {
		b.Messages = []entrytest.Message{entrytest.Keyed("k1", 1, []byte("x")), entrytest.Keyed("k2", 2, []byte("y"))}
	}
	return b.Bytes()
}

func unkeyed(b entrytest.Batch) []byte {
	b.Messages = []entrytest.Message{{Seq: 1, Body: []byte("x")}, {Seq: 2, Body: []byte("y")}}
	return b.Bytes()
}

func count(n int32) *int32 { return &n }

func stamp(lo, hi uint32) *[2]uint32 { return &[2]uint32{lo, hi} }

// TestPlacePIP486 is the decision table under profile pip486: the source segment
// is the low half of the ring; dst has a segment that covers it, with buckets
// that start at 0, 1000 and 40000; finer has one that does not.
func TestPlacePIP486(t *testing.T) {
	p := keyhash.PIP486
	src := &placement.Source{Cluster: "a", Remote: "b", Segment: 7, Range: layout.Range{Start: 0, End: 32767}, Profile: p}
	dst := newLayout(t, segment(1, 0, 32767, p, 1000, 40000), segment(2, 32768, 65535, p, 1000, 40000))
	finer := newLayout(t, segment(3, 0, 16383, p), segment(4, 16384, 65535, p))
	oneBucket := newLayout(t, segment(5, 0, 65535, p))
	place2 := placement.Policy{PlaceEncryptedBatch: true}
	k1 := uint16(hashK1 >> 16) // 0xfdc6, segments 2 and 4; bucket hash 0x602a = 24618, bucket 1

	for _, c := range []struct {
		name string
		dst  *layout.Layout
		raw  []byte
		pol  placement.Policy
		want want
	}{
		{"fits", dst, batch(entrytest.Batch{Stamped: stamp(1000, 39999)}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 1, 0}},
		{"fits the last bucket", dst, batch(entrytest.Batch{Stamped: stamp(40000, 65535)}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 2, 0}},
		{"below", dst, batch(entrytest.Batch{Stamped: stamp(999, 1000)}), placement.Policy{}, want{placement.Rebatch, placement.BucketMisfit, 0, 0, 0}},
		{"above", dst, batch(entrytest.Batch{Stamped: stamp(39999, 40000)}), placement.Policy{}, want{placement.Rebatch, placement.BucketMisfit, 0, 0, 0}},
		{"everything", dst, batch(entrytest.Batch{Stamped: stamp(0, 65535)}), placement.Policy{}, want{placement.Rebatch, placement.BucketMisfit, 0, 0, 0}},
		{"compressed", dst, batch(entrytest.Batch{Codec: codec.Zstd, Stamped: stamp(5, 6)}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"segment", finer, batch(entrytest.Batch{Stamped: stamp(5, 6)}), placement.Policy{}, want{placement.Rebatch, placement.SegmentMisfit, 0, 0, 0}},
		{"unstamped", dst, batch(entrytest.Batch{}), placement.Policy{}, want{placement.Rebatch, placement.Unstamped, 0, 0, 0}},
		{"unstamped, one bucket", oneBucket, batch(entrytest.Batch{}), placement.Policy{}, want{placement.Rebatch, placement.Unstamped, 0, 0, 0}},
		{"stamp backwards", dst, batch(entrytest.Batch{Stamped: stamp(6, 5)}), placement.Policy{}, want{placement.Rebatch, placement.Unstamped, 0, 0, 0}},
		{"stamp beyond the ring", dst, batch(entrytest.Batch{Stamped: stamp(50000, 65536)}), placement.Policy{}, want{placement.Rebatch, placement.Unstamped, 0, 0, 0}},

		{"maybe unkeyed, fits", dst, unkeyed(entrytest.Batch{Stamp: true}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"maybe unkeyed, misfit", finer, unkeyed(entrytest.Batch{Stamp: true}), placement.Policy{}, want{placement.Rebatch, placement.UnkeyedUnproven, 0, 0, 0}},
		{"stamp 0..0 with an outer key", finer, batch(entrytest.Batch{Stamped: stamp(0, 0)}), placement.Policy{}, want{placement.Rebatch, placement.SegmentMisfit, 0, 0, 0}},
		{"no outer key, other stamp", finer, batch(entrytest.Batch{NoOuter: true, Stamped: stamp(0, 1)}), placement.Policy{}, want{placement.Rebatch, placement.SegmentMisfit, 0, 0, 0}},

		{"encrypted, fits", dst, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(1000, 1000)}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 1, 0}},
		{"encrypted, one bucket", oneBucket, batch(entrytest.Batch{Encrypt: true}), placement.Policy{}, want{placement.Verbatim, placement.OK, 5, 0, 0}},
		{"encrypted, unstamped", dst, batch(entrytest.Batch{Encrypt: true}), placement.Policy{}, want{placement.Park, placement.EncryptedBatch, 0, 0, 0}},
		{"encrypted, bucket", dst, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(0, 1000)}), placement.Policy{}, want{placement.Park, placement.EncryptedBatch, 0, 0, 0}},
		{"encrypted, segment", finer, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(5, 5)}), placement.Policy{}, want{placement.Park, placement.EncryptedBatch, 0, 0, 0}},
		{"encrypted, placed", finer, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(5, 5)}), place2, want{placement.Single, placement.EncryptedBatch, 4, 0, k1}},
		{"encrypted, placed by bucket hash", dst, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(0, 1000)}), place2, want{placement.Single, placement.EncryptedBatch, 2, 1, k1}},
		{"encrypted, fits under place", dst, batch(entrytest.Batch{Encrypt: true, Stamped: stamp(5, 5)}), place2, want{placement.Verbatim, placement.OK, 1, 0, 0}},
	} {
		check(t, c.name, place(src, c.dst, c.raw, 0, c.pol), c.want)
	}
}

// TestPlaceSingles: entries that are no batch go by their outer key, also where
// the segment would fit, and are never opened.
func TestPlaceSingles(t *testing.T) {
	p := keyhash.PIP486
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Range{Start: 20000, End: 32767}, Profile: p}
	dst := newLayout(t, segment(1, 0, 19999, p, 1000), segment(2, 20000, 40000, p, 24618, 24619), segment(3, 40001, 65535, p, 30000))
	k1 := uint16(hashK1 >> 16)
	single := func(m entrytest.Message, extra []byte, st *[2]uint32) []byte {
		m.Body = []byte("body")
		return (&entrytest.Single{Message: m, Extra: extra, Stamped: st}).Bytes()
	}
	key, none := entrytest.Message{Key: "k1", HasKey: true}, entrytest.Message{}
	ordering := entrytest.Message{Ordering: "k1"}
	both := entrytest.Message{Key: "k1", HasKey: true, Ordering: "other"}
	emptyKey := entrytest.Message{HasKey: true}
	chunk := entry.AppendVarintField(entry.AppendVarintField(entry.AppendStringField(nil, 26, "u-1"), 27, 3), 29, 1)
	otherBucket := 0
	if keyhash.Bucket(keyhash.Sum([]byte("other"))) >= 30000 {
		otherBucket = 1
	}
	for _, c := range []struct {
		name string
		raw  []byte
		want want
	}{
		{"key", single(key, nil, nil), want{placement.Single, placement.OK, 3, 0, k1}},
		{"stamp wins", single(key, nil, stamp(30000, 30000)), want{placement.Single, placement.OK, 3, 1, k1}},
		{"stamp over two buckets", single(key, nil, stamp(29999, 30000)), want{placement.Single, placement.OK, 3, 0, k1}},
		{"encrypted", (&entrytest.Single{Message: key, Encrypt: true}).Bytes(), want{placement.Single, placement.OK, 3, 0, k1}},
		{"unkeyed", single(none, nil, nil), want{placement.Single, placement.OK, 2, 0, 20000}},
		{"ordering key selects the bucket only", single(ordering, nil, nil), want{placement.Single, placement.OK, 2, 1, 20000}},
		{"both keys", single(both, nil, nil), want{placement.Single, placement.OK, 3, otherBucket, k1}},
		{"empty key hashes to 0", single(emptyKey, nil, nil), want{placement.Single, placement.OK, 1, 0, 0}},
		{"chunk with key", single(key, chunk, nil), want{placement.Single, placement.OK, 3, 0, k1}},
		{"chunk without key", single(none, chunk, nil), want{placement.Single, placement.OK, 2, 0, 20000}},
		{"batch field in a chunk", single(key, entry.AppendVarintField(slices.Clone(chunk), 11, 1), nil), want{placement.Single, placement.OK, 3, 0, k1}},
	} {
		check(t, c.name, place(src, dst, c.raw, 0, placement.Policy{}), c.want)
	}
}

// TestPlaceM1: the low half of the hash selects the segment, nothing is stamped,
// and segment fit alone makes a batch verbatim.
func TestPlaceM1(t *testing.T) {
	p := keyhash.M1
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Range{Start: 0, End: 32767}, Profile: p}
	same := newLayout(t, segment(1, 0, 32767, p), segment(2, 32768, 65535, p))
	finer := newLayout(t, segment(3, 0, 16383, p), segment(4, 16384, 65535, p))
	k1 := entrytest.Message{Key: "k1", HasKey: true}
	for _, c := range []struct {
		name string
		dst  *layout.Layout
		raw  []byte
		want want
	}{
		{"fits", same, batch(entrytest.Batch{}), want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"stamp means nothing", same, batch(entrytest.Batch{Stamped: stamp(0, 65535)}), want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"misfit", finer, batch(entrytest.Batch{}), want{placement.Rebatch, placement.SegmentMisfit, 0, 0, 0}},
		{"maybe unkeyed, fits", same, unkeyed(entrytest.Batch{}), want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"maybe unkeyed", finer, batch(entrytest.Batch{NoOuter: true}), want{placement.Rebatch, placement.UnkeyedUnproven, 0, 0, 0}},
		{"encrypted", finer, batch(entrytest.Batch{Encrypt: true}), want{placement.Park, placement.EncryptedBatch, 0, 0, 0}},
		{"encrypted, fits", same, batch(entrytest.Batch{Encrypt: true}), want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"single", finer, (&entrytest.Single{Message: k1}).Bytes(), want{placement.Single, placement.OK, 4, 0, hashK1 & 0xffff}},
	} {
		check(t, c.name, place(src, c.dst, c.raw, 0, placement.Policy{}), c.want)
	}
}

// TestPlaceDrops: what must not travel does not, whatever else it is; the first
// reason counts.
func TestPlaceDrops(t *testing.T) {
	p := keyhash.PIP486
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Ring, Profile: p}
	dst := newLayout(t, segment(1, 0, 65535, p))
	with := func(extra []byte, to ...string) []byte {
		return batch(entrytest.Batch{Stamped: stamp(1, 1), Extra: extra, To: to})
	}
	marker := entry.AppendVarintField(nil, 20, 10)
	replicated := entry.AppendStringField(nil, 5, "c")
	drop := func(r placement.Reason) want { return want{action: placement.Drop, reason: r} }
	fits := want{placement.Verbatim, placement.OK, 1, 0, 0}
	for _, c := range []struct {
		name  string
		raw   []byte
		flags placement.Flags
		want  want
	}{
		{"plain", with(nil), 0, fits},
		{"replicated", with(replicated), 0, drop(placement.Replicated)},
		{"replicated from nobody", with(entry.AppendStringField(nil, 5, "")), 0, drop(placement.Replicated)},
		{"listed", with(nil, "c", "b"), 0, fits},
		{"not listed", with(nil, "c", "bb"), 0, drop(placement.NotInReplicateTo)},
		{"local only", with(nil, "__local__"), 0, drop(placement.NotInReplicateTo)},
		{"an empty name", with(nil, ""), 0, drop(placement.NotInReplicateTo)},
		{"subscription marker", with(marker), 0, drop(placement.Marker)},
		{"transaction marker", with(entry.AppendVarintField(nil, 20, 21)), 0, drop(placement.Marker)},
		{"aborted", with(nil), placement.TxnAborted, drop(placement.TransactionAborted)},
		{"expired", with(nil), placement.Expired, drop(placement.TimeToLive)},
		{"aborted and expired", with(nil), placement.TxnAborted | placement.Expired, drop(placement.TransactionAborted)},
		{"everything", with(append(marker, replicated...), "c"), placement.Expired, drop(placement.Replicated)},
	} {
		check(t, c.name, place(src, dst, c.raw, c.flags, placement.Policy{}), c.want)
	}
}

// TestPlaceParks covers destinations that can not be written to, and sizes.
func TestPlaceParks(t *testing.T) {
	p := keyhash.PIP486
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Ring, Profile: p}
	dst := newLayout(t, segment(1, 0, 65535, p))
	unknown := segment(1, 0, 65535, p)
	unknown.BucketsKnown = false
	old := segment(1, 0, 65535, p)
	old.Legacy = "persistent://t/n/x"
	key := entrytest.Message{Key: "k1", HasKey: true, Body: []byte("0123456789")}
	single := (&entrytest.Single{Message: key}).Bytes()
	whole := batch(entrytest.Batch{Stamped: stamp(1, 1)})
	locked := batch(entrytest.Batch{Stamped: stamp(1, 1), Encrypt: true})
	at := func(n int) placement.Policy { return placement.Policy{MaxMessageBytes: n} }
	for _, c := range []struct {
		name string
		dst  *layout.Layout
		raw  []byte
		pol  placement.Policy
		want want
	}{
		{"count -1", dst, batch(entrytest.Batch{Stamped: stamp(1, 1), Count: count(-1)}), placement.Policy{}, want{action: placement.Park, reason: placement.Malformed}},
		{"count 0", dst, batch(entrytest.Batch{Stamped: stamp(1, 1), Count: count(0)}), placement.Policy{}, want{action: placement.Park, reason: placement.Malformed}},
		{"count 2^31-1", dst, batch(entrytest.Batch{Stamped: stamp(1, 1), Count: count(1<<31 - 1)}), placement.Policy{}, want{action: placement.Park, reason: placement.Malformed}},
		{"count 2^31-1, lz4", dst, batch(entrytest.Batch{Codec: codec.LZ4, Stamped: stamp(1, 1), Count: count(1<<31 - 1)}), placement.Policy{}, want{action: placement.Park, reason: placement.Malformed}},
		{"count that the bytes may hold", dst, batch(entrytest.Batch{Codec: codec.LZ4, Stamped: stamp(1, 1), Count: count(3)}), placement.Policy{}, want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"legacy, batch", newLayout(t, old), whole, placement.Policy{}, want{action: placement.Park, reason: placement.LegacyDestination}},
		{"legacy, single", newLayout(t, old), single, placement.Policy{}, want{action: placement.Park, reason: placement.LegacyDestination}},
		{"buckets unknown, batch", newLayout(t, unknown), whole, placement.Policy{}, want{action: placement.Park, reason: placement.NoDestination}},
		{"buckets unknown, single", newLayout(t, unknown), single, placement.Policy{}, want{action: placement.Park, reason: placement.NoDestination}},
		{"batch as large as allowed", dst, whole, at(len(whole)), want{placement.Verbatim, placement.OK, 1, 0, 0}},
		{"batch too large", dst, whole, at(len(whole) - 1), want{action: placement.Rebatch, reason: placement.TooLarge}},
		{"splice makes it too large", dst, whole, placement.Policy{MaxMessageBytes: len(whole) + 9, SpliceBytes: 10}, want{action: placement.Rebatch, reason: placement.TooLarge}},
		{"encrypted batch too large", dst, locked, at(len(locked) - 1), want{action: placement.Park, reason: placement.TooLargeSingle}},
		{"single as large as allowed", dst, single, at(len(single)), want{placement.Single, placement.OK, 1, 0, hashK1 >> 16}},
		{"single too large", dst, single, at(len(single) - 1), want{action: placement.Park, reason: placement.TooLargeSingle}},
	} {
		check(t, c.name, place(src, c.dst, c.raw, 0, c.pol), c.want)
	}
}

// TestPlaceOtherProfile: a sealed segment of before an upgrade keeps its routing,
// so its range says nothing about segments that route by the other half.
func TestPlaceOtherProfile(t *testing.T) {
	dst := newLayout(t, segment(1, 0, 65535, keyhash.PIP486))
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Ring, Profile: keyhash.M1}
	check(t, "m1 to pip486", place(src, dst, batch(entrytest.Batch{}), 0, placement.Policy{}),
		want{action: placement.Rebatch, reason: placement.SegmentMisfit})
	single := (&entrytest.Single{Message: entrytest.Message{Key: "k1", HasKey: true}}).Bytes()
	check(t, "single", place(src, dst, single, 0, placement.Policy{}), want{placement.Single, placement.OK, 1, 0, hashK1 >> 16})
	legacy := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Ring, Profile: keyhash.PIP486, Legacy: true}
	check(t, "legacy source", place(legacy, dst, batch(entrytest.Batch{Stamped: stamp(1, 1)}), 0, placement.Policy{}),
		want{action: placement.Rebatch, reason: placement.SegmentMisfit})
}

func TestPlaceAllocatesNothing(t *testing.T) {
	p := keyhash.PIP486
	src := &placement.Source{Cluster: "a", Remote: "b", Range: layout.Range{Start: 0, End: 32767}, Profile: p}
	dst := newLayout(t, segment(1, 0, 32767, p, layout.EqualWidth(16)...), segment(2, 32768, 65535, p))
	key := entrytest.Message{Key: "k1", HasKey: true}
	for name, raw := range map[string][]byte{
		"batch":  batch(entrytest.Batch{Stamp: true, To: []string{"c", "b"}, Props: [][2]string{{"a", "b"}}}),
		"single": (&entrytest.Single{Message: key}).Bytes(),
	} {
		var m entry.Metadata
		pol := placement.Policy{MaxMessageBytes: 5 << 20}
		n := testing.AllocsPerRun(100, func() {
			f, err := entry.ParseFrame(raw, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Parse(f.Metadata); err != nil {
				t.Fatal(err)
			}
			placement.Place(src, dst, &f, &m, 0, &pol)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestNames pins the closed list: the same names stand in the C header.
func TestNames(t *testing.T) {
	names := []string{"ok", "replicated", "not-in-replicate-to", "marker", "txn-aborted", "expired", "compacted-out",
		"segment-misfit", "bucket-misfit", "unstamped", "unkeyed-unproven", "too-large", "masked", "malformed",
		"encrypted-batch", "chunk-incomplete", "no-destination", "codec", "size-mismatch", "checksum", "overtaken",
		"too-large-single", "legacy-destination"}
	var got []string
	for _, r := range placement.Reasons() {
		got = append(got, r.String())
	}
	if !slices.Equal(got, names) {
		t.Errorf("reasons %v", got)
	}
	got = nil
	for a := placement.Verbatim; a <= placement.Drop; a++ {
		got = append(got, a.String())
	}
	if !slices.Equal(got, []string{"verbatim", "single", "unkeyed", "rebatch", "park", "drop"}) {
		t.Errorf("actions %v", got)
	}
	if placement.Action(9).String() != "unknown" || placement.Reason(99).String() != "unknown" {
		t.Error("a number beyond the list has a name")
	}
}
