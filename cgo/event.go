// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"bytes"

	"georep/core/entry"
	"georep/core/placement"
	"georep/core/window"
)

const (
	maxOffered     = 1<<31 - 1 // a larger entry is no entry; up to it the window parks what is above its cap
	maxSchemaBytes = 64 << 10  // a schema version
)

// apply gives the events to the window in order and notes each one's result.
// The first refusal becomes the call's error text.
func (b *windowBox) apply(evs []C.georep_event) error {
	var first error
	for i := range evs {
		ev := &evs[i]
		err := b.event(ev)
		ev.result = C.int32_t(fail(nil, err))
		if err != nil && first == nil {
			first = bad(C.GEOREP_E_EVENT, "event %d (kind %d): %w", i, ev.kind, err)
		}
	}
	return first
}

func (b *windowBox) event(ev *C.georep_event) error {
	pos := entry.Position{Ledger: int64(ev.ledger), Entry: int64(ev.entry)}
	switch ev.kind {
	case C.GEOREP_EV_OFFER:
		return b.offer(ev, pos)
	case C.GEOREP_EV_OUTCOME:
		if ev.code < C.GEOREP_OUTCOME_ACKED || ev.code > C.GEOREP_OUTCOME_CHECKSUM_ERROR {
			return badCode(ev)
		}
		b.Outcome(uint64(ev.id), window.Outcome(ev.code))
	case C.GEOREP_EV_SEALED:
		b.SegmentSealed(uint64(ev.id))
	case C.GEOREP_EV_WATERMARK:
		if ev.code < C.GEOREP_WATERMARK_KNOWN || ev.code > C.GEOREP_WATERMARK_FAILED {
			return badCode(ev)
		}
		b.Watermark(uint64(ev.id), window.WatermarkStatus(ev.code), pos, int64(ev.part))
	case C.GEOREP_EV_GRANTED:
		b.Granted()
	case C.GEOREP_EV_SCHEMA_MAPPED, C.GEOREP_EV_SCHEMA_FAILED:
		return b.schema(ev)
	case C.GEOREP_EV_DELETED:
		b.Deleted(pos)
	case C.GEOREP_EV_DELETE_FAILED:
		b.DeleteFailed(pos)
	case C.GEOREP_EV_SKIP:
		return b.Skip(pos)
	case C.GEOREP_EV_PAUSE:
		b.Pause(ev.code != 0)
	case C.GEOREP_EV_GATE:
		b.SetGate(ev.code != 0)
	case C.GEOREP_EV_TICK:
		b.Tick(int64(ev.millis))
	case C.GEOREP_EV_BLOCK:
		if ev.code < C.GEOREP_BLOCK_HANDSHAKE || ev.code > C.GEOREP_BLOCK_DENIED {
			return badCode(ev)
		}
		b.Block(window.Block(ev.code))
	case C.GEOREP_EV_CURSOR:
		b.CursorAt(pos, uint64(ev.id))
	case C.GEOREP_EV_SOURCE_ENDED:
		b.SourceEnded()
	default:
		return bad(C.GEOREP_E_ARG, "no such kind")
	}
	return nil
}

func badCode(ev *C.georep_event) error { return bad(C.GEOREP_E_ARG, "code %d", ev.code) }

// offer borrows the entry's bytes, unless the window holds the position already.
func (b *windowBox) offer(ev *C.georep_event, pos entry.Position) error {
	data, err := view("entry", addr(ev.addr), uint64(ev.len), maxOffered)
	if err != nil {
		return err
	}
	if data == nil {
		data = []byte{} // nil would mean "released"
	}
	if ev.flags&^entryFlags != 0 {
		return bad(C.GEOREP_E_ARG, "flags %#x", ev.flags)
	}
	if ev.code = 0; b.Has(pos) {
		ev.code = C.GEOREP_OFFER_KNOWN
	}
	return b.Offer(pos, placement.Flags(ev.flags), data)
}

// schema copies the versions: the window keeps them, the caller's memory does not stay.
func (b *windowBox) schema(ev *C.georep_event) error {
	local, err := view("local version", addr(ev.addr), uint64(ev.len), maxSchemaBytes)
	if err != nil {
		return err
	}
	if ev.kind == C.GEOREP_EV_SCHEMA_FAILED {
		b.SchemaFailed(bytes.Clone(local))
		return nil
	}
	remote, err := view("remote version", addr(ev.addr2), uint64(ev.len2), maxSchemaBytes)
	if err != nil {
		return err
	}
	b.SchemaMapped(bytes.Clone(local), bytes.Clone(remote))
	return nil
}
