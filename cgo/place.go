// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"errors"
	"runtime/debug"
	"sync"
	"unsafe"

	"georep/core/entry"
	"georep/core/layout"
	"georep/core/placement"
)

// placer is what georep_place works with; pooled, so that a call allocates nothing.
type placer struct {
	source
	frame entry.Frame
	meta  entry.Metadata
	dec   placement.Decision
	spare []byte // headers that may not fit the arena are made here first
}

// entryFlags are the flags that an entry may have.
const entryFlags = C.GEOREP_ENTRY_EXPIRED | C.GEOREP_ENTRY_TXN_ABORTED

var placers = sync.Pool{New: func() any { return new(placer) }}

//export georep_place
func georep_place(destination C.georep_layout, src *C.georep_source, entries *C.georep_entry, n C.uint32_t,
	decisions *C.georep_decision, arena unsafe.Pointer, arenaCap C.uint64_t, arenaUsed, needed *C.uint64_t,
	e *errText) (s status) {
	defer fence(&s, e, debug.SetPanicOnFault(true)) // not fenced: the closure would cost an allocation
	injected()
	p := placers.Get().(*placer)
	err := p.place(destination, src, entries, n, decisions, arena, arenaCap, arenaUsed, needed)
	p.forget()
	p.frame, p.meta, p.dec = entry.Frame{}, entry.Metadata{}, placement.Decision{}
	placers.Put(p)
	return fail(e, err)
}

func (p *placer) place(destination C.georep_layout, src *C.georep_source, entries *C.georep_entry, n C.uint32_t,
	decisions *C.georep_decision, arena unsafe.Pointer, arenaCap C.uint64_t, arenaUsed, needed *C.uint64_t) error {
	dst, err := layouts.get(uint64(destination))
	if err != nil {
		return err
	}
	if err := p.read(src); err != nil {
		return err
	}
	in, err := items("entries", entries, n)
	if err != nil {
		return err
	}
	out, err := items("decisions", decisions, n)
	if err != nil {
		return err
	}
	mem, err := output("arena", arena, uint64(arenaCap))
	if err != nil {
		return err
	}
	if arenaUsed == nil || needed == nil {
		return bad(C.GEOREP_E_ARG, "arena_used or needed: null")
	}
	maxEntry, total := caps.Load().entry, 0
	for i := range in {
		d := &out[i]
		if err := p.decide(dst, &in[i], d, maxEntry); err != nil {
			return bad(C.GEOREP_E_ARG, "entries[%d]: %w", i, err)
		}
		mem = p.header(mem, &in[i], d)
		total += int(d.header_len)
	}
	*arenaUsed, *needed = C.uint64_t(len(mem)), C.uint64_t(total)
	if len(mem) < total && arenaCap > 0 {
		return bad(C.GEOREP_E_SPACE, "headers of %d bytes, arena of %d", total, uint64(arenaCap))
	}
	return nil
}

// decide fills everything of a decision but the header.
func (p *placer) decide(dst *layout.Layout, e *C.georep_entry, out *C.georep_decision, maxEntry int) error {
	*out = C.georep_decision{segment: C.GEOREP_NO_SEGMENT, bucket: -1}
	raw, err := view("entry", addr(e.addr), uint64(e.len), maxOffered)
	if err != nil {
		return err
	}
	if e.flags&^entryFlags != 0 {
		return bad(C.GEOREP_E_ARG, "flags %#x", e.flags)
	}
	if p.frame, err = entry.ParseFrame(raw, maxEntry); err == nil {
		if err = p.meta.Parse(p.frame.Metadata); err != nil {
			out.error_offset = C.uint32_t(p.frame.MetadataOffset())
		}
	}
	if err != nil {
		if f, ok := errors.AsType[*entry.FormatError](err); ok {
			out.error_offset += C.uint32_t(f.Offset)
		}
		out.action, out.reason = C.GEOREP_ACTION_PARK, C.GEOREP_REASON_MALFORMED
		return nil
	}
	p.dec = placement.Place(&p.src, dst, &p.frame, &p.meta, placement.Flags(e.flags), &p.policy)
	out.messages = C.uint32_t(max(0, p.meta.NumMessages))
	out.payload_offset = C.uint32_t(len(raw) - len(p.frame.Payload))
	out.payload_len = C.uint32_t(len(p.frame.Payload))
	p.tell(out)
	return nil
}

func (p *placer) tell(out *C.georep_decision) {
	d := &p.dec
	out.action, out.reason, out.route = C.uint32_t(d.Action), C.uint32_t(d.Reason), C.uint32_t(d.Route)
	out.segment, out.bucket = C.GEOREP_NO_SEGMENT, -1
	if d.Segment != nil {
		out.segment, out.bucket = C.uint64_t(d.Segment.ID), C.int32_t(d.Bucket)
	}
}

// header appends the new header of an entry that goes whole to mem, if there is
// room; if not it only measures it. An entry that turns out too large with its
// new header, or whose metadata can not be spliced, gets another decision.
func (p *placer) header(mem []byte, e *C.georep_entry, d *C.georep_decision) []byte {
	if d.action < C.GEOREP_ACTION_VERBATIM || d.action > C.GEOREP_ACTION_UNKEYED {
		return mem
	}
	o := p.bind(e, p.dec.Segment, entry.Whole)
	at, dst := len(mem), p.spare[:0]
	room := cap(mem) - at
	// The splicer never grows a slice that has this much room.
	inPlace := room >= len(p.frame.Metadata)+o.NamesBound()+512
	if inPlace {
		dst = mem[at:at:cap(mem)]
	}
	p.splice.Decoded = &p.meta
	got, err := entry.AppendHeader(dst, &p.frame, &p.splice)
	switch {
	case err != nil:
		p.dec = placement.Decision{Action: placement.Park, Reason: placement.Malformed}
	case p.policy.MaxMessageBytes > 0 && len(got)+len(p.frame.Payload) > p.policy.MaxMessageBytes:
		p.dec = p.dec.Oversize(&p.meta)
	}
	if !inPlace {
		p.spare = got[:0]
	}
	if p.dec.Action > placement.Unkeyed {
		p.tell(d)
		return mem
	}
	d.header_len = C.uint32_t(len(got))
	if len(got) > room {
		return mem
	}
	mem = mem[:at+len(got)]
	copy(mem[at:], got)
	d.header_addr, _ = span(mem[at:])
	return mem
}
