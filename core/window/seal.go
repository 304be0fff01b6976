// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

// Watermark takes the answer to AskWatermark: the last position and part of our
// dedup key that the sealed segment stored. pos and part count for
// WatermarkKnown only.
func (w *Window) Watermark(segment uint64, st WatermarkStatus, pos entry.Position, part int64) {
	d := w.findDest(segment)
	if d == nil || d.state != destSealed {
		return
	}
	d.asked = false
	switch st {
	case WatermarkKnown:
		d.marked, d.pos, d.part = true, pos, part
		w.resolve(d)
	case WatermarkNone:
		w.resolve(d)
	case WatermarkGone:
		w.counters.WatermarksGone++
		d.gone = true
		if d.inFlight.len() == 0 {
			w.settle(d)
		} else {
			w.closeProducer(d)
		}
	default:
		d.askAt = w.now + w.cfg.RetryMillis
	}
}

// resolve decides every send in flight to d by its final watermark, then settles d.
func (w *Window) resolve(d *dest) {
	w.counters.WatermarksKnown++
	for _, s := range d.inFlight.all() { // all of them before any is judged: an entry's parts are judged together
		if t := s.it.findTrouble(d.id, s.part); t != nil {
			t.doubt(s) // what has no outcome may have been stored
		}
	}
	for d.inFlight.len() > 0 {
		s := d.inFlight.all()[0]
		switch {
		case !d.covers(s.it.pos, s.part):
			w.counters.Replans++
			w.lose(s)
		case w.overtakenAtSeal(s.it):
			it := s.it
			w.endSend(s)
			w.parkOvertaken(it)
		case s.messages == nil && !s.it.frame.ChecksumValid():
			it := s.it // it was refused, and the watermark is that of a later one
			w.endSend(s)
			w.counters.ChecksumErrors++
			w.park(it, placement.Checksum)
			w.goBack(it)
		default:
			w.acked(s)
		}
	}
	w.settle(d)
}

// settle ends d: nothing is in flight to it, and nothing will be sent to it.
func (w *Window) settle(d *dest) {
	if d.state == destSettled {
		return
	}
	d.state = destSettled
	w.closeProducer(d)
	w.reopenUnits(d)
	w.forgetDests()
}

// storedWhole says whether an entry that travels whole is stored already at a
// sealed destination: one that covers the source segment, or holds route.
func (w *Window) storedWhole(it *item, route uint16) bool {
	for _, d := range w.dests {
		if d.covers(it.pos, entry.Whole) && (d.rng.Contains(route) || d.rng.Covers(w.cfg.Source.Range)) {
			return true
		}
	}
	return false
}

func (w *Window) closeProducer(d *dest) {
	if d.used {
		d.used = false
		w.push(Action{Kind: CloseProducer, Segment: d.id})
	}
}

// fate of a batch as far as it can be told without opening it.
type fate uint8

const (
	fateFree   fate = iota // no sealed destination can hold any of it
	fateStored             // all of it is stored
	fatePart               // some of it may be: it has to be opened
)

func (w *Window) fateOf(it *item) fate {
	f := fateFree
	for _, d := range w.dests {
		if !d.covers(it.pos, 0) || !d.rng.Overlaps(w.cfg.Source.Range) {
			continue
		}
		if d.covers(it.pos, entry.Whole) && d.rng.Covers(w.cfg.Source.Range) && d.tookWhole(it) && !w.cfg.ParkedPass {
			return fateStored
		}
		f = fatePart
	}
	return f
}

// tookWhole says whether d, which covers the source segment, took the batch
// unopened. Of one that had to be opened only opening it tells whether it could
// be: if not, it was parked and others may have passed it. Where they may pass,
// that holds for every batch, because other layouts may have asked for opening it.
func (d *dest) tookWhole(it *item) bool {
	if d.seg.Profile == keyhash.M1 {
		return true
	}
	m := &it.meta
	return m.Stamped && m.HashMin <= m.HashMax && m.HashMax <= 0xffff &&
		d.seg.Bucket(uint16(m.HashMin)) == d.seg.Bucket(uint16(m.HashMax))
}

// maskStored marks in it the messages of the opened batch that sealed
// destinations have stored.
func (w *Window) maskStored(it *item, b *rebatch.Batch) {
	n := b.Len()
	it.messages = n
	var ranks []int64
	for _, d := range w.dests {
		if !d.covers(it.pos, 0) {
			continue
		}
		ranks = b.Ranks(d.seg, ranks[:0])
		for i, r := range ranks {
			if r < 0 || !d.covers(it.pos, r) {
				continue
			}
			if it.stored == nil {
				it.stored = rebatch.NewMask(n)
			}
			if !it.stored.Has(i) {
				it.stored.Set(i)
				w.counters.MaskedMessages++
			}
		}
	}
	if it.stored != nil && it.stored.Count() == n {
		it.whole = true
	}
}

// outside says whether any message of the batch routes outside r.
func outside(b *rebatch.Batch, r layout.Range) bool {
	for i := range b.Len() {
		if !r.Contains(b.Route(i)) {
			return true
		}
	}
	return false
}
