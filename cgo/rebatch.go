// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"georep/core/entry"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

// keepScratch is what one pooled cutter may hold on to between calls, in bytes.
const keepScratch = 1 << 20

// cutter is what georep_rebatch works with; pooled with its buffers.
type cutter struct {
	source
	frame entry.Frame
	meta  entry.Metadata
	batch rebatch.Batch
	parts []rebatch.Part
	mask  rebatch.Mask
	spare []byte // parts that may not fit the arena are made here, to be measured
}

var cutters = sync.Pool{New: func() any { return new(cutter) }}

// rebatchArgs are the arguments of one call.
type rebatchArgs struct {
	destination C.georep_layout
	source      *C.georep_source
	options     *C.georep_rebatch_options
	entry       *C.georep_entry
	arena       []byte
	parts       []C.georep_part
}

//export georep_rebatch
func georep_rebatch(destination C.georep_layout, src *C.georep_source, opt *C.georep_rebatch_options,
	e *C.georep_entry, arena unsafe.Pointer, arenaCap C.uint64_t, parts *C.georep_part, partsCap C.uint32_t,
	nParts *C.uint32_t, needed *C.uint64_t, te *errText) status {
	return fenced(te, func() error {
		if e == nil || nParts == nil || needed == nil {
			return bad(C.GEOREP_E_ARG, "entry, n_parts or needed: null")
		}
		*nParts, *needed = 0, 0
		mem, err := output("arena", arena, uint64(arenaCap))
		if err != nil {
			return err
		}
		out, err := items("parts", parts, partsCap)
		if err != nil {
			return err
		}
		c := cutters.Get().(*cutter)
		n, total, err := c.cut(&rebatchArgs{destination, src, opt, e, mem, out})
		c.clear()
		cutters.Put(c) // not after a panic: then it is dropped
		*nParts, *needed = C.uint32_t(n), C.uint64_t(total)
		return err
	})
}

func (c *cutter) clear() {
	c.forget()
	c.batch.Release()
	c.frame, c.meta = entry.Frame{}, entry.Metadata{}
	clear(c.parts)
	if c.parts, c.mask = c.parts[:0], c.mask[:0]; cap(c.spare) > keepScratch {
		c.spare = nil
	}
}

// cut writes the parts and returns their number and bytes, which are exact
// also where the memory did not suffice.
func (c *cutter) cut(a *rebatchArgs) (n, total int, err error) {
	dst, opt, err := c.open(a)
	if err != nil {
		return 0, 0, err
	}
	mask, err := c.readMask(a.options)
	switch {
	case err != nil:
		return 0, 0, err
	case c.batch.AllCompactedOut():
		return 0, 0, nil
	case c.batch.Unkeyed():
		return c.whole(a, dst, opt, mask)
	}
	if c.parts, err = c.batch.Plan(dst, mask, c.parts[:0]); err != nil {
		return 0, 0, rebatchError(err)
	}
	mem := a.arena
	for i := range c.parts {
		p := &c.parts[i]
		o := c.bind(a.entry, p.Segment, p.Rank)
		dst, inPlace := c.spare[:0], total+c.batch.PartBound(p, o, opt) <= cap(mem)
		if inPlace {
			dst = mem[total:total:cap(mem)]
		}
		got, head, err := c.batch.AppendPart(dst, p, o, opt)
		if err != nil {
			return 0, 0, rebatchError(err)
		}
		if !inPlace {
			c.spare = got[:0]
		}
		at := total
		if total += len(got); i < len(a.parts) && total <= cap(mem) {
			fillPart(&a.parts[i], p, mem[at:at+copy(mem[at:total], got)], head)
		}
	}
	if total > cap(mem) || len(c.parts) > len(a.parts) {
		return len(c.parts), total, bad(C.GEOREP_E_SPACE, "%d parts of %d bytes; room for %d parts and %d bytes",
			len(c.parts), total, len(a.parts), cap(mem))
	}
	return len(c.parts), total, nil
}

// whole writes a batch that turned out to have no keys as one part.
func (c *cutter) whole(a *rebatchArgs, dst *layout.Layout, opt *rebatch.Options, mask rebatch.Mask) (n, total int, err error) {
	if mask != nil {
		return 0, 0, bad(C.GEOREP_E_ARG, "mask: the batch has no keys and goes whole")
	}
	to := dst.At(c.src.Range.Start)
	if to == nil || !to.BucketsKnown {
		return 0, 0, bad(C.GEOREP_E_FORMAT, "%s: the batch has no keys", placement.NoDestination)
	}
	c.bind(a.entry, to, entry.Whole)
	c.splice.Decoded = &c.meta
	c.splice.SetSchemaVersion, c.splice.SchemaVersion = opt.SetSchemaVersion, opt.SchemaVersion
	head, err := entry.AppendHeader(c.spare[:0], &c.frame, &c.splice)
	if err != nil {
		return 0, 0, rebatchError(err)
	}
	c.spare = head[:0]
	total = len(head) + len(c.frame.Payload)
	if opt.MaxMessageBytes > 0 && total > opt.MaxMessageBytes {
		return 0, 0, bad(C.GEOREP_E_LIMIT, "%s: %d bytes", placement.TooLarge, total)
	}
	if total > cap(a.arena) || len(a.parts) == 0 {
		return 1, total, bad(C.GEOREP_E_SPACE, "1 part of %d bytes; room for %d parts and %d bytes", total, len(a.parts), cap(a.arena))
	}
	mem := append(append(a.arena, head...), c.frame.Payload...)
	n = c.batch.Len()
	p := rebatch.Part{Segment: to, Rank: entry.Whole, Messages: []int32{0}, UncompressedBytes: c.batch.DecodedBytes()}
	fillPart(&a.parts[0], &p, mem, len(head))
	a.parts[0].messages = C.uint32_t(n)
	return 1, total, nil
}

// open checks the arguments and opens the entry, if it is one to be cut.
func (c *cutter) open(a *rebatchArgs) (*layout.Layout, *rebatch.Options, error) {
	dst, err := layouts.get(uint64(a.destination))
	if err != nil {
		return nil, nil, err
	}
	if err := c.read(a.source); err != nil {
		return nil, nil, err
	}
	opt, err := c.readOptions(a.options)
	if err != nil {
		return nil, nil, err
	}
	raw, err := view("entry", addr(a.entry.addr), uint64(a.entry.len), maxOffered)
	if err != nil {
		return nil, nil, err
	}
	l := caps.Load()
	if c.frame, err = entry.ParseFrame(raw, l.entry); err != nil {
		return nil, nil, rebatchError(err)
	}
	if err := c.meta.Parse(c.frame.Metadata); err != nil {
		return nil, nil, rebatchError(err)
	}
	c.policy.MaxMessageBytes = opt.MaxMessageBytes
	d := placement.Place(&c.src, dst, &c.frame, &c.meta, placement.Flags(a.entry.flags), &c.policy)
	switch {
	case d.Action == placement.Park && d.Reason == placement.Malformed:
		return nil, nil, bad(C.GEOREP_E_FORMAT, "%s: its metadata says what can not be", d.Reason)
	case d.Action != placement.Rebatch:
		return nil, nil, bad(C.GEOREP_E_UNSUPPORTED, "not an entry to be cut: %s (%s)", d.Action, d.Reason)
	}
	lim := rebatch.Limits{MaxDecompressed: l.decompressed, MaxMessages: l.messages, MaxMessageBytes: opt.MaxMessageBytes}
	if err := c.batch.OpenVerified(&c.src, &c.frame, &c.meta, lim); err != nil {
		return nil, nil, rebatchError(err)
	}
	return dst, opt, nil
}

func fillPart(dst *C.georep_part, p *rebatch.Part, b []byte, head int) {
	*dst = C.georep_part{
		segment:            C.uint64_t(p.Segment.ID),
		part:               C.int64_t(p.Rank),
		header_len:         C.uint32_t(head),
		payload_len:        C.uint32_t(len(b) - head),
		bucket:             C.int32_t(p.Bucket),
		messages:           C.uint32_t(len(p.Messages)),
		first_message:      C.uint32_t(p.Messages[0]),
		hash_min:           C.uint32_t(p.HashMin),
		hash_max:           C.uint32_t(p.HashMax),
		uncompressed_bytes: C.uint32_t(p.UncompressedBytes),
	}
	dst.addr, _ = span(b)
}

// rebatchError gives an error of opening or cutting its status.
func rebatchError(err error) error {
	code := status(C.GEOREP_E_FORMAT)
	switch {
	case errors.Is(err, rebatch.ErrNotBatch):
		code = C.GEOREP_E_UNSUPPORTED
	case errors.Is(err, rebatch.ErrLimit), errors.Is(err, entry.ErrLimit), errors.Is(err, rebatch.ErrTooLarge):
		code = C.GEOREP_E_LIMIT
	}
	if re, ok := errors.AsType[*rebatch.Error](err); ok {
		return bad(code, "%s: %w", re.ParkReason(), err)
	}
	return withCode(code, err)
}
