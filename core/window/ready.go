// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
	"georep/core/placement"
)

// ready collects the actions of one Ready call.
type ready struct {
	acts   []Action
	limit  int // of acts; 0 = none
	arena  []byte
	needed int
}

func (r *ready) full() bool { return r.limit > 0 && len(r.acts) >= r.limit }

// room says whether n more bytes fit into the arena, and notes n if not.
func (r *ready) room(n int) bool {
	if cap(r.arena)-len(r.arena) < n {
		r.needed = n
		return false
	}
	return true
}

// took makes out, which was appended to the arena, the arena. Where a bound was
// wrong, or a codec reserves more than it uses, out is other memory by now: nothing
// of it may go out, however short it is, and a larger arena is asked for.
func (r *ready) took(out []byte) bool {
	if cap(out) != cap(r.arena) {
		r.needed = cap(out) - len(r.arena)
		return false
	}
	r.arena = out
	return true
}

// Ready appends the actions that are due to dst, at most cap(dst) in all if
// dst has a capacity. Headers and the payloads of parts are appended to arena
// within its capacity; used is the arena with what was appended. needed > 0
// asks for another call with at least that much free arena. Call again until
// it appends nothing and needed is 0.
func (w *Window) Ready(dst []Action, arena []byte) (acts []Action, used []byte, needed int) {
	r := ready{acts: dst, limit: cap(dst), arena: arena}
	for {
		w.drain(&r)
		if r.full() || r.needed > 0 {
			break
		}
		if !w.step(&r) {
			if w.slot == slotGranted && !r.full() && r.needed == 0 {
				w.yieldSlot()
			}
			if w.outAt == len(w.out) || r.full() {
				break
			}
			if r.needed > 0 {
				w.drain(&r)
				break
			}
		}
	}
	return r.acts, r.arena, r.needed
}

// drain moves actions that need no arena.
func (w *Window) drain(r *ready) {
	for w.outAt < len(w.out) && !r.full() {
		r.acts = append(r.acts, w.out[w.outAt])
		w.outAt++
	}
	if w.outAt == len(w.out) {
		w.out, w.outAt = w.out[:0], 0
	}
}

// originBound bounds the bytes that a splice adds to an entry's metadata
// besides the names and the schema version.
const originBound = 320

func (w *Window) headerBound(it *item, d *dest, schema []byte) int {
	names := len(w.cfg.Source.Cluster) + len(w.cfg.Instance) + len(d.topic)
	return len(it.frame.Metadata) + originBound + 4*names + len(schema)
}

// originOf is the origin of what is written to d, without position and part.
func (w *Window) originOf(d *dest) entry.Origin {
	return entry.Origin{
		Cluster: w.cfg.Source.Cluster, Instance: w.cfg.Instance,
		Segment: w.cfg.Source.Segment, Generation: w.cfg.Generation, BoundTopic: d.topic,
	}
}

// emitWhole sends the entry as it is, with a spliced header.
func (w *Window) emitWhole(r *ready, it *item, d *dest, dec *placement.Decision) bool {
	schema, set := w.schemas.of(it)
	if !r.room(w.headerBound(it, d, schema)) {
		return false
	}
	start := len(r.arena)
	out, err := entry.AppendHeader(r.arena, &it.frame, &entry.Splice{
		Origin: entry.Origin{Position: it.pos, Part: entry.Whole}, Bound: d.origin, Decoded: &it.meta,
		SetSchemaVersion: set, SchemaVersion: schema,
	})
	if err != nil {
		w.park(it, placement.Malformed)
		return true
	}
	if !r.took(out) {
		return false
	}
	s := w.addSend(it, d, entry.Whole)
	s.messages = nil
	n := 1
	if it.meta.HasBatch {
		n = int(it.meta.NumMessages)
	}
	w.counters.sent(dec.Action, len(it.frame.Payload))
	r.acts = append(r.acts, Action{
		Kind: Send, Path: dec.Action, Reason: dec.Reason, SendID: s.id, Segment: d.id, Bucket: dec.Bucket,
		Position: it.pos, Part: entry.Whole, Messages: n, Header: out[start:len(out):len(out)], Payload: it.frame.Payload,
	})
	return true
}

func (w *Window) addSend(it *item, d *dest, part int64) *send {
	s := w.sends.add()
	s.it, s.to, s.part = it, d, part
	it.out = append(it.out, s)
	d.inFlight.add(s)
	d.used = true
	return s
}

// maxAsked is up to how many bytes of arena are asked for at once for parts that
// would also do with less.
const maxAsked = 1 << 20

// arenaFor returns the arena to ask for when the job's next part needs the given
// bytes: so much that the parts behind it fit too, so that they are written in one go.
func (w *Window) arenaFor(needed int) int {
	j := &w.job
	all := needed
	for i := j.i + 1; i < len(j.parts) && all < maxAsked; i++ {
		p := &j.parts[i]
		o := w.originOf(w.destOf(p.Segment))
		all += j.batch.PartBound(p, &o, &w.options)
	}
	return max(needed, min(all, maxAsked))
}

// emitParts sends the parts of the job that are still to be sent, and gives
// the slot back after the last one.
func (w *Window) emitParts(r *ready) bool {
	j := &w.job
	it := j.it
	for j.i < len(j.parts) {
		if r.full() {
			return false
		}
		p := &j.parts[j.i]
		d := w.destOf(p.Segment)
		if !w.available(d) {
			w.abandonJob()
			return false
		}
		o := w.originOf(d)
		o.Position = it.pos
		start, opt := len(r.arena), w.partOptions(it)
		if !r.room(j.batch.PartBound(p, &o, opt)) {
			r.needed = w.arenaFor(r.needed)
			return false
		}
		out, head, err := j.batch.AppendPart(r.arena, p, &o, opt)
		if err != nil {
			w.park(it, reasonOf(err))
			return true
		}
		if !r.took(out) {
			return false
		}
		s := w.addSend(it, d, p.Rank)
		s.messages = append(s.messages[:0], p.Messages...)
		w.counters.sent(placement.Rebatch, len(out)-start-head)
		r.acts = append(r.acts, Action{
			Kind: Send, Path: placement.Rebatch, Reason: j.reason, SendID: s.id, Segment: d.id, Bucket: p.Bucket,
			Position: it.pos, Part: p.Rank, Messages: len(p.Messages),
			Header: out[start : start+head : start+head], Payload: out[start+head : len(out) : len(out)],
		})
		j.i++
	}
	w.counters.Rebatched++
	w.abandonJob()
	return true
}
