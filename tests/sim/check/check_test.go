// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"testing"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
)

// scene is one entry of two messages with different keys, and a destination.
type scene struct {
	c    *Checker
	l    *Life
	e    *Entry
	d    *Dest
	from *Sender
}

func newScene() *scene {
	s := &scene{c: New("a"), from: &Sender{ID: 1, Told: map[*Dest]bool{}}}
	s.e = &Entry{Segment: 4, Range: layout.Ring, Profile: keyhash.PIP486, Pos: entry.Position{Ledger: 7}, Batch: true, Stamped: true, Kind: "two"}
	for i, key := range []string{"k1", "k2"} {
		sm := entry.AppendVarintField(entry.AppendStringField(nil, 2, key), 3, 3)
		h := keyhash.Sum([]byte(key))
		s.e.Messages = append(s.e.Messages, &Message{UID: uint64(i + 1), Raw: entry.AppendMessage(nil, sm, []byte("abc")), HasKey: true,
			Key: key, Stream: key, Segment: keyhash.PIP486.Segment(h), Bucket: keyhash.Bucket(h)})
		s.e.Payload = append(s.e.Payload, s.e.Messages[i].Raw...)
	}
	m := entry.AppendVarintField(entry.AppendVarintField(entry.AppendStringField(nil, 1, "p"), 2, 9), 3, 5)
	m = entry.AppendVarintField(entry.AppendStringField(m, 77, "unknown"), 11, 2)
	s.e.Meta = m
	s.c.Published(s.e)
	s.l = s.c.Life("b", 1)
	s.d = s.dest(2, layout.Ring, nil)
	return s
}

func (s *scene) dest(id uint64, r layout.Range, buckets []uint16) *Dest {
	return &Dest{Remote: "b", Seg: &layout.Segment{ID: id, Range: r, Profile: keyhash.PIP486, Buckets: buckets, BucketsKnown: true}, Topic: "segment://x"}
}

// wire writes the entry as replication would: meta, then what it adds.
func (s *scene) wire(meta, payload []byte, part int64) []byte {
	o := entry.Origin{Cluster: "a", Instance: "i", Segment: 4, Generation: 1, Position: s.e.Pos, Part: part, BoundTopic: "segment://x"}
	m := o.AppendFields(bytes.Clone(meta))
	return append(entry.AppendHeaderForPayload(nil, m, payload), payload...)
}

func (s *scene) whole() []byte { return s.wire(s.e.Meta, s.e.Payload, entry.Whole) }

// part writes messages idx as the part of that rank.
func (s *scene) part(rank int64, idx ...int) []byte {
	m := entry.AppendVarintField(entry.AppendVarintField(entry.AppendStringField(nil, 1, "p"), 2, 9), 3, 5)
	m = entry.AppendVarintField(entry.AppendStringField(m, 77, "unknown"), 11, uint64(len(idx)))
	lo, hi := uint16(0xffff), uint16(0)
	var payload []byte
	for _, i := range idx {
		payload = append(payload, s.e.Messages[i].Raw...)
		lo, hi = min(lo, s.e.Messages[i].Bucket), max(hi, s.e.Messages[i].Bucket)
	}
	m = entry.AppendVarintField(entry.AppendVarintField(m, 33, uint64(lo)), 34, uint64(hi))
	return s.wire(m, payload, rank)
}

func (s *scene) store(d *Dest, raw []byte) { s.c.Stored(d, raw, s.from, Sent{}) }

func TestCheckersSeeWhatIsWrong(t *testing.T) {
	k1 := keyhash.PIP486.Segment(keyhash.Sum([]byte("k1")))
	m := newScene().e.Messages
	between := []uint16{max(m[0].Bucket, m[1].Bucket)} // the two keys are in two buckets
	for _, tc := range []struct {
		name string
		do   func(s *scene)
		want Name
	}{
		{"a payload byte changed", func(s *scene) {
			s.store(s.d, s.wire(s.e.Meta, append(bytes.Clone(s.e.Payload[:len(s.e.Payload)-1]), 'X'), entry.Whole))
		}, SpliceOnly},
		{"an unknown field lost", func(s *scene) {
			m := entry.AppendVarintField(entry.AppendVarintField(entry.AppendStringField(nil, 1, "p"), 2, 9), 3, 5)
			s.store(s.d, s.wire(entry.AppendVarintField(m, 11, 2), s.e.Payload, entry.Whole))
		}, SpliceOnly},
		{"an older position left over", func(s *scene) {
			s.store(s.d, s.wire(entry.AppendPropertyField(bytes.Clone(s.e.Meta), 4, entry.SourcePositionProperty, "1:1"), s.e.Payload, entry.Whole))
		}, SpliceOnly},
		{"bound to another topic", func(s *scene) { s.d.Topic = "segment://y"; s.store(s.d, s.whole()) }, SpliceOnly},
		{"a wrong checksum", func(s *scene) { b := s.whole(); b[3] ^= 1; s.store(s.d, b) }, SameMessages},
		{"whole where it does not fit", func(s *scene) { s.store(s.dest(2, layout.Range{Start: 0, End: 0xfffe}, nil), s.whole()) }, VerbatimFits},
		{"whole over two buckets", func(s *scene) { s.store(s.dest(2, layout.Ring, between), s.whole()) }, SingleBucket},
		{"a part over two buckets", func(s *scene) { s.store(s.dest(2, layout.Ring, between), s.part(1, 0, 1)) }, SingleBucket},
		{"a part in the wrong segment", func(s *scene) { s.store(s.dest(2, layout.Range{Start: k1 + 1, End: 0xffff}, nil), s.part(0, 0)) }, SingleBucket},
		{"a part named by its count", func(s *scene) { s.store(s.d, s.part(0, 0)); s.store(s.d, s.part(0, 1)) }, SameMessages},
		{"a foreign message in a part", func(s *scene) {
			s.e.Messages[1].Raw = append(bytes.Clone(s.e.Messages[1].Raw[:len(s.e.Messages[1].Raw)-1]), 'X')
			b := s.part(1, 0, 1)
			s.e.Messages[1].Raw[len(s.e.Messages[1].Raw)-1] = 'c'
			s.store(s.d, b)
		}, SameMessages},
		{"twice", func(s *scene) { s.store(s.d, s.whole()); s.store(s.d, s.whole()) }, NoDuplicate},
		{"twice, and its sender was told", func(s *scene) {
			s.store(s.d, s.whole())
			s.d.Pruned, s.from.Told[s.d] = true, true
			s.store(s.dest(3, layout.Ring, nil), s.whole())
		}, NoDuplicate},
		{"out of order", func(s *scene) {
			s.e.Messages[0].Stream, s.e.Messages[1].Stream = "k", "k"
			s.store(s.d, s.part(1, 1))
			s.store(s.dest(3, layout.Ring, nil), s.part(0, 0))
		}, KeyOrder},
		{"replicated although it must stay", func(s *scene) { s.e.Stays = "marker"; s.store(s.d, s.whole()) }, MustStay},
		{"replicated although another remote is named", func(s *scene) { s.e.ReplicateTo = []string{"c"}; s.store(s.d, s.whole()) }, MustStay},
		{"deleted after half of it", func(s *scene) { s.store(s.d, s.part(0, 0)); s.c.Deleted(s.l, s.e) }, DeleteAfter},
		{"skipped without a word", func(s *scene) { s.c.Skipped(s.l, s.e) }, ParkedVisible},
		{"parked as overtaken although it is there", func(s *scene) {
			s.store(s.d, s.whole())
			s.c.Parked(s.l, s.e, placement.Overtaken)
		}, TrueParks},
		{"a child that comes early", func(s *scene) {
			s.c.Publishes(s.l, 5, []uint64{4}, func(uint64) []*Entry { return []*Entry{s.e} })
		}, DrainGate},
		{"pruned too early", func(s *scene) { s.c.Prune(s.l, 4, []*Entry{s.e}) }, Pinned},
		{"lost", func(s *scene) { s.c.Finish(s.l, []*Entry{s.e}) }, NothingLost},
	} {
		s := newScene()
		tc.do(s)
		if v := s.c.First(); v == nil || v.Name != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, v, tc.want.Text)
		}
	}
}

func TestCheckersLetPassWhatIsRight(t *testing.T) {
	for name, do := range map[string]func(s *scene){
		"whole, deleted, drained": func(s *scene) {
			s.store(s.d, s.whole())
			s.c.Deleted(s.l, s.e)
			s.c.Prune(s.l, 4, []*Entry{s.e})
		},
		"in two parts": func(s *scene) {
			s.store(s.d, s.part(0, 0))
			s.store(s.d, s.part(1, 1))
			s.c.Deleted(s.l, s.e)
		},
		"again, where nobody could know": func(s *scene) {
			s.store(s.d, s.whole())
			s.d.Pruned = true
			s.store(s.dest(3, layout.Ring, nil), s.whole())
		},
		"parked, then skipped": func(s *scene) {
			s.c.Parked(s.l, s.e, placement.Malformed)
			s.c.Skipped(s.l, s.e)
			s.c.Deleted(s.l, s.e)
			s.c.Finish(s.l, []*Entry{s.e})
		},
		"it stays": func(s *scene) { s.e.Stays = "expired"; s.c.Deleted(s.l, s.e) },
	} {
		s := newScene()
		do(s)
		if v := s.c.First(); v != nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}
