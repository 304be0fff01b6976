// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"

	"georep/benchmarks/corpus"
	"georep/benchmarks/row"
	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// Of every batch four parts are made.
const rebatchParts = 4

// rebatchTarget: the codec takes at least so much of a re-batch, of large messages.
const rebatchTarget = 0.87

// cutter does what georep_rebatch does with one entry, in its order, into an arena
// that is large enough.
type cutter struct {
	src    placement.Source
	pol    placement.Policy
	dst    *layout.Layout
	origin entry.Origin
	raw    []byte
	frame  entry.Frame
	meta   entry.Metadata
	batch  rebatch.Batch
	parts  []rebatch.Part
	arena  []byte
	ends   []int // of the parts in the arena
}

func newCutter(raw []byte) (*cutter, error) {
	segs := make([]layout.Segment, rebatchParts)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i << 16 / rebatchParts), End: uint16((i+1)<<16/rebatchParts - 1)}}
	}
	dst, err := layout.New(1, segs)
	if err != nil {
		return nil, err
	}
	src := placement.Source{Cluster: "a", Remote: "b", Segment: 1, Range: layout.Ring, Profile: keyhash.PIP486}
	return &cutter{src: src, dst: dst, raw: raw, origin: entry.Origin{Cluster: "a",
		Instance: "0123456789abcdef0123456789abcdef", Segment: 1, Generation: 1,
		Position: entry.Position{Ledger: 12, Entry: 345}, BoundTopic: "segment://public/default/orders/0000-3fff-1"}}, nil
}

var rebatchOptions = rebatch.Options{KeepCodec: true}

func (c *cutter) cut() error {
	var err error
	if c.frame, err = entry.ParseFrame(c.raw, 16<<20); err != nil {
		return err
	}
	if err = c.meta.Parse(c.frame.Metadata); err != nil {
		return err
	}
	if d := placement.Place(&c.src, c.dst, &c.frame, &c.meta, 0, &c.pol); d.Action != placement.Rebatch {
		return fmt.Errorf("%s: %s", d.Action, d.Reason)
	}
	if err = c.batch.OpenVerified(&c.src, &c.frame, &c.meta, rebatch.Limits{}); err != nil {
		return err
	}
	if c.parts, err = c.batch.Plan(c.dst, nil, c.parts[:0]); err != nil {
		return err
	}
	if len(c.parts) != rebatchParts {
		return fmt.Errorf("%d parts", len(c.parts))
	}
	c.arena, c.ends = c.arena[:0], c.ends[:0]
	for i := range c.parts {
		p := &c.parts[i]
		if bound := c.batch.PartBound(p, &c.origin, &rebatchOptions); bound > cap(c.arena)-len(c.arena) {
			c.arena = slices.Grow(c.arena, bound) // in the first calls, which do not count
		}
		var err error
		if c.arena, _, err = c.batch.AppendPart(c.arena, p, &c.origin, &rebatchOptions); err != nil {
			return err
		}
		c.ends = append(c.ends, len(c.arena))
	}
	return nil
}

// floor is the codec's work in a re-batch and nothing else: the entry's payload
// decoded once, the parts' messages, which stand side by side already, encoded.
type floor struct {
	codec    codec.Codec
	payload  []byte
	size     int
	plain    [][]byte // of each part
	buf, out []byte
	encoded  int
}

func (f *floor) run() error {
	var err error
	if f.buf, err = f.codec.AppendDecode(f.buf[:0], f.payload, f.size); err != nil {
		return err
	}
	f.encoded = 0
	for _, p := range f.plain {
		if f.out, err = f.codec.AppendEncode(f.out[:0], p); err != nil {
			return err
		}
		f.encoded += len(f.out)
	}
	return nil
}

// newFloor takes the parts that c has made apart, and checks them: together they
// hold every message once, each part those of its segment, in their order.
func newFloor(c *cutter, with codec.Codec, msgs []entrytest.Message) (*floor, error) {
	f := &floor{codec: with, payload: c.frame.Payload, size: c.batch.DecodedBytes()}
	want := make([][]byte, rebatchParts)
	for i := range msgs {
		at := c.dst.Index(c.src.Profile.Segment(keyhash.Sum([]byte(msgs[i].Key))))
		want[at] = msgs[i].Append(want[at])
	}
	from := 0
	for i, end := range c.ends {
		got, err := entry.ParseFrame(c.arena[from:end], 16<<20)
		if err != nil {
			return nil, err
		}
		from = end
		plain, err := with.AppendDecode(nil, got.Payload, len(want[i]))
		if err != nil {
			return nil, err
		}
		if !got.ChecksumValid() || !bytes.Equal(plain, want[i]) {
			return nil, fmt.Errorf("part %d is not what it should be", i)
		}
		f.plain = append(f.plain, plain)
	}
	return f, nil
}

// rebatchRows measures table c.
func rebatchRows(s *settings) ([]row.Row, error) {
	var rows []row.Row
	for _, shape := range []struct {
		name string
		size int
	}{{"1000x1KiB", 1024}, {"1000x100B", 100}} {
		msgs := corpus.Messages(1000, shape.size)
		for _, with := range []codec.Codec{codec.LZ4, codec.Zstd, codec.Zlib, codec.Snappy} {
			name := fmt.Sprintf("c/%s/%s", shape.name, with)
			if !s.wants(name) {
				continue
			}
			r, err := rebatchRow(s, name, with, msgs)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if shape.size == 1024 && with != codec.Snappy {
				r.Target = row.Of(rebatchTarget)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func rebatchRow(s *settings, name string, with codec.Codec, msgs []entrytest.Message) (row.Row, error) {
	c, err := newCutter((&entrytest.Batch{Messages: msgs, Codec: with, Stamp: true}).Bytes())
	if err != nil {
		return row.Row{}, err
	}
	if err := c.cut(); err != nil {
		return row.Row{}, err
	}
	f, err := newFloor(c, with, msgs)
	if err != nil {
		return row.Row{}, err
	}
	result, err := s.Run(c.cut, f.run)
	if err != nil {
		return row.Row{}, err
	}
	r := result.Row(name, "us/entry", 1000, "the codec alone")
	r.OursOutBytes, r.PeerOutBytes = row.Of(int64(len(c.arena))), row.Of(int64(f.encoded))
	return r, nil
}
