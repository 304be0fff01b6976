// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/tests/sim/check"
)

// shape is what a new entry shall be.
type shape struct {
	style     string // of the messages
	n         int
	batch     bool
	encrypted bool
	damage    check.Damage
	stays     string
	allOut    bool
	targets   []string
	unit      *check.Unit
	uuid      string
	chunk     int
	large     bool
}

// build makes an entry of the shape for seg, with a position of its own.
func (w *World) build(seg *segment, s shape) *check.Entry {
	e := &check.Entry{Segment: seg.info.ID, Range: seg.info.Range, Profile: w.opt.profile, Batch: s.batch,
		Encrypted: s.encrypted, Stays: s.stays, ReplicateTo: s.targets, Damage: s.damage, Unit: s.unit, Chunk: s.chunk}
	e.Kind = fmt.Sprintf("%s x%d", s.style, s.n)
	ds := w.drafts(seg, s.n, s.style)
	if s.unit != nil {
		ds[0] = w.unitDraft(seg, s)
	}
	var framed []byte
	for i := range ds {
		if s.allOut {
			ds[i].out = true
		}
		m := w.message(seg, &ds[i])
		if s.batch {
			m.Raw = w.framed(m.UID, &ds[i])
			framed = append(framed, m.Raw...)
		} else {
			m.Raw = w.body(m.UID)
			if s.large {
				m.Raw = append(m.Raw, make([]byte, 1500)...)
			}
			framed = m.Raw
		}
		e.Messages = append(e.Messages, m)
	}
	e.MayStay = s.batch && !slices.ContainsFunc(ds, func(d draft) bool { return !d.out })
	w.finish(e, s, ds, framed)
	return e
}

// unitDraft gives all chunks of one message the same key.
func (w *World) unitDraft(seg *segment, s shape) draft {
	if s.chunk == 0 {
		d := draft{keyed: w.rng.IntN(4) > 0}
		if d.keyed {
			d.key = w.keyIn(seg.info.Range)
		}
		w.unitKeys[s.uuid] = d
	}
	return w.unitKeys[s.uuid]
}

// finish writes metadata and frame around the payload.
func (w *World) finish(e *check.Entry, s shape, ds []draft, framed []byte) {
	c := codec.Codec(w.rng.IntN(5))
	payload := framed
	if c != codec.None {
		var err error
		if payload, err = c.AppendEncode(nil, framed); err != nil {
			panic("sim: " + err.Error())
		}
	}
	if s.encrypted {
		for i := range payload {
			payload[i] ^= 0x5a // opening it must fail or be seen
		}
	}
	if s.damage == check.BadBatch && w.rng.IntN(2) == 0 && c != codec.None {
		payload = payload[:len(payload)/2]
	}
	m := w.metadata(e, s, ds, c, len(framed))
	e.Meta, e.Payload = m, payload
	w.noChecksum = w.noChecksum && s.damage != check.BadChecksum
	e.Raw = w.frame(m, payload)
	switch s.damage {
	case check.BadChecksum:
		e.Raw[len(e.Raw)-1] ^= 1
		e.Payload = e.Raw[len(e.Raw)-len(payload):]
	case check.Unreadable:
		e.Raw = e.Raw[:w.rng.IntN(len(e.Raw)-len(payload))]
	}
}

// frame puts what a ledger entry starts with before metadata and payload.
func (w *World) frame(meta, payload []byte) []byte {
	var out []byte
	if w.rng.IntN(5) == 0 {
		b := entry.AppendVarintField(entry.AppendVarintField(nil, 1, uint64(w.now)), 2, w.uid)
		out = append(out, 0x0e, 0x02, 0, 0, 0, byte(len(b)))
		out = append(out, b...)
	}
	head := entry.AppendHeaderForPayload(nil, meta, payload)
	if w.noChecksum {
		head = head[6:] // magic and checksum are optional
	}
	return append(append(out, head...), payload...)
}

func (w *World) metadata(e *check.Entry, s shape, ds []draft, c codec.Codec, size int) []byte {
	first, final := e.Messages[0].UID, e.Messages[len(ds)-1].UID
	producer := fmt.Sprintf("producer-%d", w.rng.IntN(3))
	if s.unit != nil {
		producer = "producer-of-chunks"
	}
	m := entry.AppendStringField(nil, 1, producer)
	m = entry.AppendVarintField(m, 2, first)
	m = entry.AppendVarintField(m, 3, uint64(w.now))
	if w.rng.IntN(4) == 0 {
		m = entry.AppendPropertyField(m, 4, "outer", "property")
	}
	if w.rng.IntN(16) == 0 { // what a copy of a replicated message carries, or a forger writes
		o := entry.Origin{Cluster: "elsewhere", Instance: "x", Segment: 9, Position: entry.Position{Ledger: 1 << 40}, Part: 3, BoundTopic: "segment://a/b/c/0000-ffff-0"}
		m = entry.AppendPropertyField(m, 4, entry.OriginProperty, string(o.AppendValue(nil)))
		m = entry.AppendPropertyField(m, 4, entry.SourcePositionProperty, "999999999:0")
		e.Kind += " forged"
	}
	if e.Stays == "replicated" {
		m = entry.AppendStringField(m, 5, "elsewhere")
	}
	if ds[0].keyed {
		m = entry.AppendStringField(m, 6, ds[0].key.text)
	}
	for _, t := range e.ReplicateTo {
		m = entry.AppendStringField(m, 7, t)
	}
	if c != codec.None {
		m = entry.AppendVarintField(m, 8, uint64(c))
	}
	if c != codec.None || w.rng.IntN(2) == 0 {
		m = entry.AppendVarintField(m, 9, uint64(size))
	}
	if s.batch {
		n := len(ds)
		if s.damage == check.BadBatch {
			n++
		}
		m = entry.AppendVarintField(m, 11, uint64(n))
	}
	if s.encrypted {
		m = entry.AppendBytesField(m, 13, entry.AppendBytesField(entry.AppendStringField(nil, 1, "key"), 2, []byte{1, 2}))
	}
	if e.HasSchema = w.rng.IntN(6) == 0; e.HasSchema {
		e.Schema = fmt.Sprint("v", w.rng.IntN(3))
		m = entry.AppendStringField(m, 16, e.Schema)
	}
	return w.tail(m, e, s, ds, final)
}

// tail writes the fields from 17 on.
func (w *World) tail(m []byte, e *check.Entry, s shape, ds []draft, final uint64) []byte {
	if ds[0].keyed && ds[0].key.b64 {
		m = entry.AppendVarintField(m, 17, 1)
	}
	if ds[0].ordered {
		m = entry.AppendStringField(m, 18, ds[0].ordering)
	}
	if !s.batch && w.rng.IntN(20) == 0 {
		m = entry.AppendVarintField(m, 19, uint64(w.now+5000))
	}
	switch {
	case e.Stays == "marker":
		m = entry.AppendVarintField(m, 20, 10+uint64(w.rng.IntN(4)))
	case e.Stays == "txn-aborted", w.rng.IntN(30) == 0: // a committed one travels without its id
		m = entry.AppendVarintField(m, 22, 7)
		m = entry.AppendVarintField(m, 23, 8)
	}
	if s.batch && w.rng.IntN(2) == 0 {
		m = entry.AppendVarintField(m, 24, final)
	}
	if s.unit != nil {
		m = entry.AppendStringField(m, 26, s.uuid)
		m = entry.AppendVarintField(m, 27, uint64(s.unit.Of))
		m = entry.AppendVarintField(m, 28, uint64(40*s.unit.Of))
		m = entry.AppendVarintField(m, 29, uint64(s.chunk))
	}
	if ds[0].nullKey {
		m = entry.AppendVarintField(m, 30, 1)
	}
	if s.batch && w.opt.profile == keyhash.PIP486 && w.rng.IntN(12) > 0 {
		lo, hi := uint16(0xFFFF), uint16(0)
		for _, msg := range e.Messages {
			lo, hi = min(lo, msg.Bucket), max(hi, msg.Bucket)
		}
		m = entry.AppendVarintField(m, 33, uint64(lo))
		m = entry.AppendVarintField(m, 34, uint64(hi))
		e.Stamped = true
	}
	if w.rng.IntN(6) == 0 {
		m = entry.AppendStringField(m, 77, "a field of the future")
	}
	return m
}
