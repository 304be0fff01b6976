// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
)

// Stored takes an entry that a destination has stored, as it lies in its log.
func (c *Checker) Stored(d *Dest, raw []byte, from *Sender, sent Sent) {
	c.Stats.Stored++
	f, ok := parse(raw)
	if !ok || !f.crcOK {
		c.Fail(SameMessages, 0, "%s segment %d stored an entry that is no entry or has a wrong checksum", d.Remote, d.Seg.ID)
		return
	}
	fs, ok := fields(f.meta)
	if !ok {
		c.Fail(SameMessages, 0, "%s segment %d stored unreadable metadata", d.Remote, d.Seg.ID)
		return
	}
	o, e := c.origin(d, fs)
	if e == nil {
		return
	}
	life := c.Life(d.Remote, o.Generation)
	if e.stays(d.Remote) {
		c.fail(MustStay, e, "%s stored an entry that must stay: %s, replicate_to %v", d.Remote, e.Stays, e.ReplicateTo)
		return
	}
	if e.Damage == Unreadable || e.Damage == BadChecksum {
		c.fail(SameMessages, e, "%s stored a damaged entry", d.Remote)
		return
	}
	c.schema(e, fs)
	var idx []int
	if o.Part == entry.Whole {
		c.Stats.Whole++
		idx = c.whole(d, e, &f, fs)
	} else {
		c.Stats.Parts++
		idx = c.part(d, e, &f, fs, o.Part)
	}
	if c.first == nil {
		c.count(life, d, e, idx, from, sent)
	}
}

// origin checks what replication must write on every entry, and finds the source.
func (c *Checker) origin(d *Dest, fs []field) (o entry.Origin, e *Entry) {
	value, n := occurrences(fs, entry.OriginProperty)
	o, err := entry.ParseOrigin([]byte(value))
	if n != 1 || err != nil {
		c.Fail(SpliceOnly, 0, "%d origin records, %v", n, err)
		return o, nil
	}
	e = c.byPos[place{o.Segment, o.Position.Ledger, o.Position.Entry}]
	if e == nil {
		c.Fail(SpliceOnly, o.Segment, "origin %+v names no entry", o)
		return o, nil
	}
	from, n := last(fs, 5)
	if n != 1 || string(from.value) != c.Cluster || o.Cluster != c.Cluster {
		c.fail(SpliceOnly, e, "replicated_from appears %d times", n)
		return o, nil
	}
	if o.BoundTopic != d.Topic {
		c.fail(SpliceOnly, e, "bound to %s, stored in %s", o.BoundTopic, d.Topic)
		return o, nil
	}
	pos, n := occurrences(fs, entry.SourcePositionProperty)
	if n != 1 || pos != string(o.AppendSourcePosition(nil)) {
		c.fail(SpliceOnly, e, "%d source positions, the last is %s", n, pos)
		return o, nil
	}
	if _, n := last(fs, 22); n > 0 {
		c.fail(SpliceOnly, e, "transaction id travels")
		return o, nil
	}
	return o, e
}

// MappedSchema is the remote's version of a schema version here.
func MappedSchema(local string) string { return "r/" + local }

func (c *Checker) schema(e *Entry, fs []field) {
	f, n := last(fs, 16)
	if e.HasSchema && (n != 1 || string(f.value) != MappedSchema(e.Schema)) || !e.HasSchema && n != 0 {
		c.fail(SpliceOnly, e, "schema version appears %d times or is not the remote's", n)
	}
}

// whole checks an entry that was sent in one piece.
func (c *Checker) whole(d *Dest, e *Entry, f *frame, fs []field) []int {
	src, _ := fields(e.Meta)
	if !bytes.Equal(rest(fs, e.HasSchema, nil), rest(src, e.HasSchema, nil)) {
		c.fail(SpliceOnly, e, "metadata differs beyond the splice")
		return nil
	}
	if !bytes.Equal(f.payload, e.Payload) {
		c.fail(SpliceOnly, e, "payload differs")
		return nil
	}
	c.placedWhole(d, e)
	idx := make([]int, len(e.Messages))
	for i := range idx {
		idx[i] = i
	}
	return idx
}

func (c *Checker) placedWhole(d *Dest, e *Entry) {
	first := e.Messages[0]
	switch {
	case !e.Batch: // by its own key
		if !d.Seg.Range.Contains(first.Segment) {
			c.fail(VerbatimFits, e, "a single with hash %d is in %s segment %d %v", first.Segment, d.Remote, d.Seg.ID, d.Seg.Range)
		}
		return
	case e.unkeyed():
		if !d.Seg.Range.Contains(e.Range.Start) {
			c.fail(VerbatimFits, e, "an unkeyed batch is in segment %d %v", d.Seg.ID, d.Seg.Range)
		}
		return
	case e.Encrypted && c.Place && d.Seg.Range.Contains(first.Segment):
		return
	case !d.Seg.Range.Covers(e.Range):
		c.fail(VerbatimFits, e, "whole in segment %d %v, which does not cover %v", d.Seg.ID, d.Seg.Range, e.Range)
		return
	}
	if d.Seg.Profile == keyhash.PIP486 && !(e.Encrypted && !e.Stamped && len(d.Seg.Buckets) == 0) {
		c.oneBucket(d, e, e.Messages)
		if !e.Stamped {
			c.fail(SingleBucket, e, "an unstamped batch went whole to a segment with buckets")
		}
	}
}

// bucketOf counts the starts at or below h; buckets are few, so no search.
func bucketOf(s *layout.Segment, h uint16) (n int) {
	for _, start := range s.Buckets {
		if start <= h {
			n++
		}
	}
	return n
}

func (c *Checker) oneBucket(d *Dest, e *Entry, ms []*Message) {
	for _, m := range ms {
		if bucketOf(d.Seg, m.Bucket) != bucketOf(d.Seg, ms[0].Bucket) {
			c.fail(SingleBucket, e, "hashes %d and %d are in two buckets of segment %d", m.Bucket, ms[0].Bucket, d.Seg.ID)
			return
		}
	}
}

// rebatched are the fields of a part that differ from the entry's.
func rebatched(n protowire.Number) bool {
	switch n {
	case 2, 6, 8, 9, 11, 17, 18, 24, 30, 31, 33, 34:
		return true
	}
	return false
}

// part checks a part against the entry that it was cut from.
func (c *Checker) part(d *Dest, e *Entry, f *frame, fs []field, rank int64) []int {
	if !e.Batch || e.Encrypted || e.Unit != nil || e.Damage != Sound {
		c.fail(SameMessages, e, "was cut, and must not be")
		return nil
	}
	src, _ := fields(e.Meta)
	if !bytes.Equal(rest(fs, e.HasSchema, rebatched), rest(src, e.HasSchema, rebatched)) {
		c.fail(SameMessages, e, "a field of the entry is not carried to its part")
		return nil
	}
	payload := f.payload
	if fc, n := last(fs, 8); n > 0 && fc.v != 0 {
		size, _ := last(fs, 9)
		if size == nil {
			c.fail(SameMessages, e, "a compressed part without uncompressed_size")
			return nil
		}
		var err error
		if payload, err = codec.Codec(fc.v).AppendDecode(nil, f.payload, int(size.v)); err != nil {
			c.fail(SameMessages, e, "part %d: %v", rank, err)
			return nil
		}
	}
	idx, ok := cutMessages(payload, e)
	if !ok || len(idx) == 0 {
		c.fail(SameMessages, e, "part %d holds bytes that are no message of the entry, or none", rank)
		return nil
	}
	if n, _ := last(fs, 11); n == nil || int(n.v) != len(idx) {
		c.fail(SameMessages, e, "part %d has %d messages and says otherwise", rank, len(idx))
		return nil
	}
	c.placedPart(d, e, fs, rank, idx)
	return idx
}

func (c *Checker) placedPart(d *Dest, e *Entry, fs []field, rank int64, idx []int) {
	ms := make([]*Message, 0, len(idx))
	lo, hi := uint16(0xFFFF), uint16(0)
	for _, i := range idx {
		m := e.Messages[i]
		ms = append(ms, m)
		lo, hi = min(lo, m.Bucket), max(hi, m.Bucket)
		if !d.Seg.Range.Contains(m.Segment) {
			c.fail(SingleBucket, e, "message %d with hash %d is in segment %d %v", i, m.Segment, d.Seg.ID, d.Seg.Range)
			return
		}
	}
	if d.Seg.Profile == keyhash.PIP486 {
		c.oneBucket(d, e, ms)
		smin, n1 := last(fs, 33)
		smax, n2 := last(fs, 34)
		if n1 != 1 || n2 != 1 || smin.v != uint64(lo) || smax.v != uint64(hi) {
			c.fail(SingleBucket, e, "part %d is not stamped %d..%d", rank, lo, hi)
			return
		}
	} else if _, n := last(fs, 33); n > 0 {
		c.fail(SingleBucket, e, "a part is stamped under profile m1")
		return
	}
	// The rank of the last message, by counting; the part may be named after a
	// later one that is masked.
	l := idx[len(idx)-1]
	at := int64(-1)
	for i, m := range e.Messages {
		if !d.Seg.Range.Contains(m.Segment) {
			continue
		}
		b, lb := bucketOf(d.Seg, m.Bucket), bucketOf(d.Seg, e.Messages[l].Bucket)
		if b < lb || b == lb && i <= l {
			at++
		}
	}
	if rank < at {
		c.fail(SameMessages, e, "part %d is named below the rank %d of its last message", rank, at)
	}
}
