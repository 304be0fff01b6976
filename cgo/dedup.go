// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"georep/core/control"
	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/pb"
)

// dedupBox is a table with the numbers that stand for its keys in tickets.
type dedupBox struct {
	*dedup.Table
	numbers map[dedup.Key]uint64
	keys    map[uint64]dedup.Key
	last    uint64
	cap     int
}

var dedups = table[*machine[*dedupBox]]{kind: 5}

//export georep_dedup_new
func georep_dedup_new(boundTopic unsafe.Pointer, n, maxKeys C.uint32_t, out *C.georep_dedup, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		topic, err := view("bound_topic", boundTopic, uint64(n), maxNameBytes)
		if err != nil {
			return err
		}
		if len(topic) == 0 || maxKeys > 1<<24 {
			return bad(C.GEOREP_E_ARG, "bound_topic is empty, or max_keys %d above %d", maxKeys, 1<<24)
		}
		inUse.Store(true)
		b := &dedupBox{Table: dedup.New(string(topic), int(maxKeys)), cap: int(maxKeys)}
		if b.cap == 0 {
			b.cap = dedup.DefaultMaxKeys
		}
		b.forget()
		return create(&dedups, out, b)
	})
}

//export georep_dedup_free
func georep_dedup_free(h C.georep_dedup) status {
	return fenced(nil, func() error { return discard(&dedups, uint64(h)) })
}

func (b *dedupBox) forget() {
	b.numbers, b.keys = make(map[dedup.Key]uint64), make(map[uint64]dedup.Key)
}

// number returns the number that stands for a key. Numbers are not used again.
func (b *dedupBox) number(k dedup.Key) uint64 {
	n, ok := b.numbers[k]
	if !ok {
		if len(b.numbers) >= 2*b.cap { // keys that the table dropped meanwhile; late tickets of theirs are void
			b.forget()
		}
		b.last++
		n = b.last
		b.numbers[k], b.keys[n] = n, k
	}
	return n
}

// metadataOf returns the MessageMetadata in the caller's bytes.
func metadataOf(form C.uint32_t, p unsafe.Pointer, n C.uint32_t) ([]byte, error) {
	b, err := view("bytes", p, uint64(n), maxOffered)
	if err != nil {
		return nil, err
	}
	switch form {
	case C.GEOREP_FORM_METADATA:
		if len(b) > caps.Load().entry {
			return nil, bad(C.GEOREP_E_LIMIT, "metadata of %d bytes, limit %d", len(b), caps.Load().entry)
		}
		return b, nil
	case C.GEOREP_FORM_ENTRY:
		f, err := entry.ParseFrame(b, caps.Load().entry)
		if errors.Is(err, entry.ErrLimit) {
			return nil, withCode(C.GEOREP_E_LIMIT, err)
		}
		return f.Metadata, withCode(C.GEOREP_E_FORMAT, err)
	}
	return nil, bad(C.GEOREP_E_ARG, "form %d", form)
}

//export georep_dedup_check
func georep_dedup_check(h C.georep_dedup, form C.uint32_t, bytes unsafe.Pointer, n C.uint32_t,
	ticket *C.georep_dedup_ticket, e *errText) status {
	return fenced(e, func() error {
		if ticket == nil || uintptr(ticket.struct_size) < unsafe.Sizeof(*ticket) {
			return bad(C.GEOREP_E_ARG, "ticket: null, or its struct_size is not set")
		}
		meta, err := metadataOf(form, bytes, n)
		if err != nil {
			return err
		}
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			k, pos, part, ours, err := b.Of(meta)
			if err != nil {
				return withCode(C.GEOREP_E_FORMAT, err)
			}
			*ticket = C.georep_dedup_ticket{struct_size: ticket.struct_size, verdict: C.GEOREP_VERDICT_NOT_OURS}
			if !ours {
				return nil
			}
			ticket.verdict = C.uint32_t(b.Check(k, pos, part))
			if ticket.verdict != C.GEOREP_VERDICT_FULL {
				ticket.key = C.uint64_t(b.number(k))
			}
			ticket.ledger, ticket.entry, ticket.part = C.int64_t(pos.Ledger), C.int64_t(pos.Entry), C.int64_t(part)
			ticket.segment, ticket.generation = C.uint64_t(k.Segment), C.uint64_t(k.Generation)
			return nil
		})
	})
}

//export georep_dedup_persisted
func georep_dedup_persisted(h C.georep_dedup, ticket *C.georep_dedup_ticket) status {
	return onDedup(h, func(b *dedupBox) error {
		if ticket == nil || uintptr(ticket.struct_size) < unsafe.Sizeof(*ticket) {
			return bad(C.GEOREP_E_ARG, "ticket: null, or its struct_size is not set")
		}
		if ticket.verdict != C.GEOREP_VERDICT_NEW {
			return nil
		}
		if k, ok := b.keys[uint64(ticket.key)]; ok {
			b.Persisted(k, entry.Position{Ledger: int64(ticket.ledger), Entry: int64(ticket.entry)}, int64(ticket.part))
		}
		return nil
	})
}

//export georep_dedup_failed
func georep_dedup_failed(h C.georep_dedup) status {
	return onDedup(h, func(b *dedupBox) error {
		b.Failed()
		return nil
	})
}

//export georep_dedup_replay
func georep_dedup_replay(h C.georep_dedup, form C.uint32_t, bytes unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		meta, err := metadataOf(form, bytes, n)
		if c := (*statusError)(nil); errors.As(err, &c) && c.code == C.GEOREP_E_LIMIT {
			return withCode(C.GEOREP_E_FORMAT, err) // too large to be one of ours: not what E_LIMIT says here
		}
		if err != nil {
			return err
		}
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			err := b.Replay(meta)
			if errors.Is(err, dedup.ErrFull) {
				return withCode(C.GEOREP_E_LIMIT, err)
			}
			return withCode(C.GEOREP_E_FORMAT, err)
		})
	})
}

//export georep_dedup_snapshot
func georep_dedup_snapshot(h C.georep_dedup, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			return give(b.AppendSnapshot(nil), out, capacity, size)
		})
	})
}

//export georep_dedup_load
func georep_dedup_load(h C.georep_dedup, snapshot unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		s, err := view("snapshot", snapshot, uint64(n), maxSnapshot)
		if err != nil {
			return err
		}
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			err := b.LoadSnapshot(s)
			if errors.Is(err, dedup.ErrFull) {
				return withCode(C.GEOREP_E_LIMIT, err)
			}
			return withCode(C.GEOREP_E_FORMAT, err)
		})
	})
}

//export georep_dedup_watermark
func georep_dedup_watermark(h C.georep_dedup, key unsafe.Pointer, n C.uint32_t, found *C.uint32_t,
	out *C.georep_position, e *errText) status {
	return fenced(e, func() error {
		k := new(pb.OriginKey)
		if err := message("key", key, n, k); err != nil {
			return err
		}
		if found == nil || out == nil {
			return bad(C.GEOREP_E_ARG, "found or out: null")
		}
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			*found, *out = 0, C.georep_position{}
			if pos, part, ok := b.Watermark(control.OriginKey(k)); ok {
				*found = 1
				*out = C.georep_position{ledger: C.int64_t(pos.Ledger), entry: C.int64_t(pos.Entry), part: C.int64_t(part)}
			}
			return nil
		})
	})
}

//export georep_dedup_prune
func georep_dedup_prune(h C.georep_dedup, key unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		m := new(pb.OriginKey)
		if err := message("key", key, n, m); err != nil {
			return err
		}
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			k := control.OriginKey(m)
			b.Prune(k)
			delete(b.keys, b.numbers[k])
			delete(b.numbers, k)
			return nil
		})
	})
}

//export georep_dedup_status
func georep_dedup_status(h C.georep_dedup, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&dedups, uint64(h), func(b *dedupBox) error {
			return giveMessage(control.DedupStatus(b.Table), out, capacity, size)
		})
	})
}

func onDedup(h C.georep_dedup, f func(b *dedupBox) error) status {
	return fenced(nil, func() error { return with(&dedups, uint64(h), f) })
}
