// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
)

// record is one stored entry of a test's log.
type record struct {
	segment uint64
	raw     []byte
}

// compare builds cluster a's log and b's copy of it and compares them.
func compare(t *testing.T, a, b []record) Report {
	t.Helper()
	k := NewKeys()
	la := NewLog("a", oneSegment(t), k)
	for i, r := range a {
		la.Add(r.segment, at(int64(i)), r.raw)
	}
	lb := NewLog("b", split(t), k)
	for i, r := range b {
		lb.Add(r.segment, at(int64(100+i)), r.raw)
	}
	return Compare(la, lb)
}

// story is a log of cluster a with three entries, two of them whole in b and one
// in two parts. low and high are keys of b's two segments.
func story(t *testing.T) (a, b []record) {
	t.Helper()
	l := split(t)
	low, high := keyIn(l, 1, 0), keyIn(l, 2, 0)
	e0 := publish(t, codec.LZ4, nil, published{low, "zero", 0}, published{low, "one", 1})
	e1 := publish(t, codec.Zstd, nil, published{high, "two", 2}, published{low, "three", 3}, published{high, "four", 4})
	e2 := publish(t, codec.None, nil, published{high, "five", 5})
	a = []record{{0, e0}, {0, e1}, {0, e2}}
	b = []record{
		{0, whole(t, e0, "a", 0, at(0))},
		{1, part(t, codec.None, "a", 0, at(1), 0, published{low, "three", 3})},
		{2, part(t, codec.Zlib, "a", 0, at(1), 1, published{high, "two", 2}, published{high, "four", 4})},
		{2, whole(t, e2, "a", 0, at(2))},
	}
	return a, b
}

func TestCompareEqual(t *testing.T) {
	a, b := story(t)
	r := compare(t, a, b)
	if !r.Equal || len(r.Differences) != 0 || r.Total.Messages != 6 {
		t.Fatalf("equal copies of 6 messages: %+v", r)
	}
}

func TestCompareFinds(t *testing.T) {
	l := split(t)
	low, high := keyIn(l, 1, 0), keyIn(l, 2, 0)
	for _, test := range []struct {
		name   string
		change func(b []record) []record
		want   Counts
		first  Difference
	}{
		{"a removed part", func(b []record) []record { return slices.Delete(b, 2, 3) },
			Counts{Messages: 6, Lost: 2},
			Difference{Kind: Lost, Key: high, Position: "3:1", Index: 0}},
		{"a removed entry", func(b []record) []record { return b[1:] },
			Counts{Messages: 6, Lost: 2},
			Difference{Kind: Lost, Key: low, Position: "3:0", Index: 0}},
		{"two entries swapped", func(b []record) []record { b[2], b[3] = b[3], b[2]; return b },
			Counts{Messages: 6, OrderViolations: 2},
			Difference{Kind: Order, Key: high, Position: "3:1", Index: 0, CopyPosition: "3:103"}},
		{"an entry repeated", func(b []record) []record { return append(b, b[3]) },
			Counts{Messages: 6, Duplicates: 1},
			Difference{Kind: Duplicate, Key: high, Position: "3:2", Index: 0, CopyPosition: "3:104"}},
		{"a part repeated", func(b []record) []record { return append(b, b[2]) },
			Counts{Messages: 6, Duplicates: 2},
			Difference{Kind: Duplicate, Key: high, Position: "3:1", Index: 0, CopyPosition: "3:104"}},
		{"a body changed", func(b []record) []record {
			b[2].raw = part(t, codec.None, "a", 0, at(1), 1, published{high, "two", 2}, published{high, "FOUR", 4})
			return b
		}, Counts{Messages: 6, ContentDifferences: 1},
			Difference{Kind: Content, Key: high, Position: "3:1", Index: 2, CopyPosition: "3:102"}},
		{"a sequence id changed", func(b []record) []record {
			b[1].raw = part(t, codec.None, "a", 0, at(1), 0, published{low, "three", 30})
			return b
		}, Counts{Messages: 6, ContentDifferences: 1},
			Difference{Kind: Content, Key: low, Position: "3:1", Index: 1, CopyPosition: "3:101"}},
		{"order inside a part changed", func(b []record) []record {
			b[2].raw = part(t, codec.None, "a", 0, at(1), 1, published{high, "four", 4}, published{high, "two", 2})
			return b
		}, Counts{Messages: 6, OrderViolations: 1},
			Difference{Kind: Order, Key: high, Position: "3:1", Index: 0, CopyPosition: "3:102"}},
		{"a key in the wrong segment", func(b []record) []record { b[1].segment = 2; return b },
			Counts{Messages: 6, Misplaced: 1},
			Difference{Kind: Misplaced, Key: low, Index: 0, CopyPosition: "3:101"}},
		{"a message out of nowhere", func(b []record) []record {
			b[1].raw = part(t, codec.None, "a", 0, at(1), 0, published{low, "three", 3}, published{low, "more", 4})
			return b
		}, Counts{Messages: 6, Unexpected: 1},
			Difference{Kind: Unexpected, Key: low, Index: 1, CopyPosition: "3:101"}},
		{"an entry that says not where from", func(b []record) []record {
			b[3].raw = publish(t, codec.None, func(meta []byte) []byte { return entry.AppendStringField(meta, 5, "a") },
				published{high, "five", 5})
			return b
		}, Counts{Messages: 6, Lost: 1, Unexpected: 1},
			Difference{Kind: Unexpected, Key: high, Index: 0, CopyPosition: "3:103"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := story(t)
			r := compare(t, a, test.change(b))
			if r.Equal || r.Total != test.want {
				t.Fatalf("got %+v, want %+v", r.Total, test.want)
			}
			d := r.Differences[0]
			d.Segment, d.CopySegment = nil, nil
			test.first.Origin, test.first.Copy = "a", "b"
			if d != test.first {
				t.Errorf("first difference\n got %+v\nwant %+v", d, test.first)
			}
		})
	}
}

// Messages of different keys may pass each other, inside an entry and across.
func TestOrderIsPerKey(t *testing.T) {
	l := split(t)
	k1, k2 := keyIn(l, 1, 0), keyIn(l, 1, 1)
	e := publish(t, codec.None, nil, published{k1, "a", 0}, published{k2, "b", 1}, published{k1, "c", 2})
	parts := []record{
		{1, part(t, codec.None, "a", 0, at(0), 0, published{k2, "b", 1})},
		{1, part(t, codec.None, "a", 0, at(0), 1, published{k1, "a", 0})},
		{1, part(t, codec.None, "a", 0, at(0), 2, published{k1, "c", 2})},
	}
	if r := compare(t, []record{{0, e}}, parts); !r.Equal {
		t.Errorf("another key first: %+v", r)
	}
	parts[1], parts[2] = parts[2], parts[1]
	if r := compare(t, []record{{0, e}}, parts); r.Total.OrderViolations != 1 || r.Equal {
		t.Errorf("the same key backwards: %+v", r)
	}
}

// A key's sequence goes on from a parent to its child, also in the copy.
func TestOrderAcrossSegments(t *testing.T) {
	l := split(t)
	low := keyIn(l, 1, 0)
	early := publish(t, codec.None, nil, published{low, "early", 0})
	late := publish(t, codec.None, nil, published{low, "late", 1})
	a := []record{{0, early}, {0, late}}
	good := []record{{0, whole(t, early, "a", 0, at(0))}, {1, whole(t, late, "a", 0, at(1))}}
	if r := compare(t, a, good); !r.Equal {
		t.Errorf("parent, then child: %+v", r)
	}
	bad := []record{{0, whole(t, late, "a", 0, at(1))}, {1, whole(t, early, "a", 0, at(0))}}
	if r := compare(t, a, bad); r.Total.OrderViolations != 1 {
		t.Errorf("child's message in the parent: %+v", r)
	}
}

func TestBothDirectionsAndForgery(t *testing.T) {
	l := split(t)
	low := keyIn(l, 1, 0)
	fromA := publish(t, codec.None, nil, published{low, "from a", 0})
	// b's client published a copy that still has the properties: it is b's own.
	o := origin("a", 0, at(0), entry.Whole)
	fromB := publish(t, codec.None, func(meta []byte) []byte {
		meta = entry.AppendPropertyField(meta, 4, entry.SourcePositionProperty, "3:0")
		return entry.AppendPropertyField(meta, 4, entry.OriginProperty, string(o.AppendValue(nil)))
	}, published{low, "from a", 0})
	a := []record{{0, fromA}, {0, whole(t, fromB, "b", 1, at(101))}}
	b := []record{{1, whole(t, fromA, "a", 0, at(0))}, {1, fromB}}
	r := compare(t, a, b)
	if !r.Equal || r.Total.Messages != 2 || r.Pairs[0].Messages != 1 || r.Pairs[1].Messages != 1 {
		t.Errorf("each has the other's message: %+v", r)
	}
	if r := compare(t, a[:1], b); r.Total.Lost != 1 || r.Pairs[1].Lost != 1 || r.Differences[0].Origin != "b" {
		t.Errorf("b's message is not in a: %+v", r)
	}
}

func TestWhatMustNotTravel(t *testing.T) {
	l := split(t)
	low := keyIn(l, 1, 0)
	only := func(cluster string) func(meta []byte) []byte {
		return func(meta []byte) []byte { return entry.AppendStringField(meta, 7, cluster) }
	}
	inTxn := func(id uint64) func(meta []byte) []byte {
		return func(meta []byte) []byte {
			return entry.AppendVarintField(entry.AppendVarintField(meta, 22, id), 23, 1)
		}
	}
	end := func(id uint64, marker int) []byte {
		meta := entry.AppendVarintField(inTxn(id)(batchMeta(nil)), 20, uint64(marker))
		return entry.AppendHeaderForPayload(nil, meta, nil)
	}
	msg := published{low, "x", 0}
	local := publish(t, codec.None, only("__local__"), msg)
	toB := publish(t, codec.None, only("b"), msg)
	gone := publish(t, codec.None, inTxn(1), msg)
	done := publish(t, codec.None, inTxn(2), msg)
	running := publish(t, codec.None, inTxn(3), msg)
	a := []record{{0, local}, {0, toB}, {0, gone}, {0, done}, {0, running}, {0, end(1, 22)}, {0, end(2, 21)}}
	b := []record{{1, whole(t, toB, "a", 0, at(1))}, {1, whole(t, done, "a", 0, at(3))}}
	r := compare(t, a, b)
	if !r.Equal || r.Total.Messages != 2 || r.Total.Pending != 1 {
		t.Errorf("two may travel, one is open: %+v", r.Total)
	}
	if r := compare(t, a, b[:1]); r.Total.Lost != 1 {
		t.Errorf("the committed one is missing: %+v", r.Total)
	}
	for _, i := range []int64{0, 2} {
		r := compare(t, a, append(slices.Clone(b), record{1, whole(t, a[i].raw, "a", 0, at(i))}))
		if r.Total.Unexpected != 1 || r.Total.Lost != 0 {
			t.Errorf("entry %d must not be there: %+v", i, r.Total)
		}
	}
}

func TestNewerTrimmedAndUnreadable(t *testing.T) {
	l := split(t)
	low := keyIn(l, 1, 0)
	e := publish(t, codec.None, nil, published{low, "x", 0})
	k := NewKeys()
	la, lb := NewLog("a", oneSegment(t), k), NewLog("b", split(t), k)
	la.Add(0, at(5), e)
	for i, from := range []int64{5, 4, 6} {
		lb.Add(1, at(int64(i)), whole(t, e, "a", 0, at(from)))
	}
	lb.Add(1, at(3), whole(t, e, "a", 9, at(0))) // of a segment that a has pruned
	r := Compare(la, lb)
	if !r.Equal || r.Total.Newer != 1 || r.Total.Trimmed != 2 || r.Total.Messages != 1 {
		t.Errorf("one newer, two trimmed: %+v", r.Total)
	}
	for name, raw := range map[string][]byte{"no frame": {1, 2, 3}, "no batch": frame(t, codec.None, batchMeta(nil), []byte("?"), 3)} {
		if r := compare(t, []record{{0, raw}}, nil); r.Equal || r.Total.Lost != 1 {
			t.Errorf("%s: a bad entry that did not arrive is missed: %+v", name, r.Total)
		}
	}
}

// A third cluster's messages are in neither log as its own.
func TestThirdCluster(t *testing.T) {
	l := split(t)
	low, high := keyIn(l, 1, 0), keyIn(l, 2, 0)
	e := publish(t, codec.LZ4, nil, published{low, "x", 0}, published{high, "y", 1})
	a := []record{
		{0, part(t, codec.None, "c", 4, at(9), 0, published{low, "x", 0})},
		{0, part(t, codec.None, "c", 4, at(9), 1, published{high, "y", 1})},
	}
	b := []record{{0, whole(t, e, "c", 4, at(9))}}
	if r := compare(t, a, b); !r.Equal || r.Total.Messages != 2 {
		t.Errorf("parts in a, whole in b: %+v", r)
	}
	if r := compare(t, a, nil); r.Total.Lost != 2 {
		t.Errorf("nothing in b: %+v", r)
	}
	if r := compare(t, nil, b); r.Total.Unexpected != 2 {
		t.Errorf("nothing in a: %+v", r)
	}
}
