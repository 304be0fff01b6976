// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
)

// published is one message that a test publishes.
type published struct {
	key, body string
	seq       uint64
}

// publish makes a batch as a client does, with the messages one after the other.
func publish(t *testing.T, c codec.Codec, extra func(meta []byte) []byte, msgs ...published) []byte {
	t.Helper()
	return frame(t, c, batchMeta(extra), batchBody(msgs), len(msgs))
}

func batchMeta(extra func(meta []byte) []byte) []byte {
	meta := entry.AppendStringField(nil, 1, "producer")
	meta = entry.AppendVarintField(meta, 2, 7)
	meta = entry.AppendVarintField(meta, 3, 1_700_000_000_000)
	if extra != nil {
		meta = extra(meta)
	}
	return meta
}

func batchBody(msgs []published) []byte {
	var body []byte
	for _, m := range msgs {
		single := entry.AppendVarintField(nil, 3, uint64(len(m.body)))
		if m.key != "" {
			single = entry.AppendStringField(single, 2, m.key)
		}
		body = entry.AppendMessage(body, entry.AppendVarintField(single, 8, m.seq), []byte(m.body))
	}
	return body
}

func frame(t *testing.T, c codec.Codec, meta, body []byte, n int) []byte {
	t.Helper()
	meta = entry.AppendVarintField(meta, 11, uint64(n))
	if c != codec.None {
		meta = entry.AppendVarintField(entry.AppendVarintField(meta, 8, uint64(c)), 9, uint64(len(body)))
		packed, err := c.AppendEncode(nil, body)
		if err != nil {
			t.Fatal(err)
		}
		body = packed
	}
	return append(entry.AppendHeaderForPayload(nil, meta, body), body...)
}

// whole is raw as it is stored elsewhere when it was sent in one piece.
func whole(t *testing.T, raw []byte, cluster string, segment uint64, pos entry.Position) []byte {
	t.Helper()
	f, err := entry.ParseFrame(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := origin(cluster, segment, pos, entry.Whole)
	header, err := entry.AppendHeader(nil, &f, &entry.Splice{Origin: o})
	if err != nil {
		t.Fatal(err)
	}
	return append(header, f.Payload...)
}

// part is what is stored elsewhere of some messages of an entry.
func part(t *testing.T, c codec.Codec, cluster string, segment uint64, pos entry.Position, rank int64,
	msgs ...published) []byte {
	t.Helper()
	o := origin(cluster, segment, pos, rank)
	return publish(t, c, func(meta []byte) []byte { return o.AppendFields(meta) }, msgs...)
}

func origin(cluster string, segment uint64, pos entry.Position, part int64) entry.Origin {
	return entry.Origin{Cluster: cluster, Instance: "i", Segment: segment, Generation: 1, Position: pos, Part: part,
		BoundTopic: "segment://t/n/x/0000-ffff-0"}
}

func at(e int64) entry.Position { return entry.Position{Ledger: 3, Entry: e} }

// oneSegment is the layout of a topic that was never split.
func oneSegment(t *testing.T) *layout.Layout {
	t.Helper()
	return newLayout(t, layout.Segment{ID: 0, Range: layout.Ring, State: layout.Active})
}

// split is the layout of a topic whose first segment was split in two.
func split(t *testing.T) *layout.Layout {
	t.Helper()
	return newLayout(t,
		layout.Segment{ID: 0, Range: layout.Ring, State: layout.Sealed, Children: []uint64{1, 2}},
		layout.Segment{ID: 1, Range: layout.Range{Start: 0, End: 0x7fff}, State: layout.Active, Parents: []uint64{0}},
		layout.Segment{ID: 2, Range: layout.Range{Start: 0x8000, End: 0xffff}, State: layout.Active, Parents: []uint64{0}})
}

func newLayout(t *testing.T, segs ...layout.Segment) *layout.Layout {
	t.Helper()
	for i := range segs {
		segs[i].Profile, segs[i].BucketsKnown = keyhash.M1, true
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// keyIn returns a key, the nth, that segment s of l holds.
func keyIn(l *layout.Layout, s uint64, nth int) string {
	for i := 0; ; i++ {
		k := fmt.Sprintf("key-%d", i)
		h := keyhash.M1.Segment(keyhash.Sum([]byte(k)))
		if l.Get(s).Range.Contains(h) {
			if nth--; nth < 0 {
				return k
			}
		}
	}
}
