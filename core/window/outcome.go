// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/internal/mutant"
	"georep/core/layout"
	"georep/core/placement"
)

// maxBackoffShift caps the doubling of RetryMillis at 64 times.
const maxBackoffShift = 6

// Outcome tells what became of a send. Unknown ids are ignored: they belong to
// sends that a watermark has resolved meanwhile.
func (w *Window) Outcome(sendID uint64, o Outcome) {
	s := w.sends.get(sendID)
	if s == nil {
		return
	}
	switch o {
	case Acked:
		s.it.settleTrouble(s)
		s.to.noteAcked(s)
		w.acked(s)
	case Duplicate:
		if w.overtaken(s) {
			it := s.it
			w.endSend(s)
			w.parkOvertaken(it)
			return
		}
		w.counters.DuplicateReceipts++
		if w.mayHavePassed(s) {
			it := s.it
			it.verify = true
			it.troubleAt(s.to.id, s.part).doubt(s) // it is there, if it can be opened
			w.endSend(s)
			w.goBack(it)
			return
		}
		w.acked(s)
	case TooLarge:
		w.tooLarge(s)
	case ChecksumError:
		w.checksumError(s)
	case Refused:
		w.refused(s)
	default:
		s.it.troubleAt(s.to.id, s.part).doubt(s)
		w.lose(s)
	}
}

func (w *Window) acked(s *send) {
	it, d := s.it, s.to
	d.failures = 0
	w.storedBy(s)
	w.endSend(s)
	w.complete(it)
}

// storedBy marks the messages of s as stored.
func (w *Window) storedBy(s *send) {
	it := s.it
	if s.messages == nil || mutant.On(mutant.CursorOnFirstAck) {
		it.whole = true
		it.storedAt = s.to.id
		return
	}
	it.setStored(s.messages)
}

// complete finishes an item when all of it is stored and nothing is in flight.
func (w *Window) complete(it *item) {
	if it.state != itemOpen || !it.whole || len(it.out) > 0 && !mutant.On(mutant.CursorOnFirstAck) {
		return
	}
	if it.unit != nil && !mutant.On(mutant.ChunkDeletedEarly) {
		w.completeUnit(it.unit)
		return
	}
	w.finish(it)
}

func (w *Window) endSend(s *send) {
	s.it.dropSend(s)
	s.to.inFlight.remove(s)
	if s.to.gone && s.to.inFlight.len() == 0 {
		w.settle(s.to)
	}
	w.sends.remove(s)
}

// lose ends a send whose messages are to be sent again, and stops its
// destination until nothing is in flight to it.
func (w *Window) lose(s *send) {
	it, d := s.it, s.to
	if d.state == destOpen {
		d.state = destRecovers
		d.retryAt = w.now + w.cfg.RetryMillis<<min(d.failures, maxBackoffShift)
		d.failures++
		w.counters.Recoveries++
	}
	if t := it.findTrouble(d.id, s.part); d.gone && t != nil && t.ambiguous {
		w.counters.UnknownResends++
	}
	w.endSend(s)
	w.goBack(it)
}

// refused handles a definite refusal.
func (w *Window) refused(s *send) {
	w.noteRefusal(s)
	w.counters.Refusals++
	w.lose(s)
}

// noteRefusal remembers that s is certainly not stored. A destination stores
// nothing of a session behind an entry that it refused, so what is in flight
// behind it is not stored either; if it is acknowledged all the same, the
// destination has broken the rule and s was overtaken.
func (w *Window) noteRefusal(s *send) {
	t := s.it.troubleAt(s.to.id, s.part)
	t.refused, t.until = true, w.sends.last()
	w.noteRefused(s)
}

// mayHavePassed says whether an earlier owner may have parked the batch, because
// another layout asked for opening it and that failed, and let later ones pass:
// the receipt then speaks of those. Opening it tells.
func (w *Window) mayHavePassed(s *send) bool {
	m := &s.it.meta
	return w.cfg.ParkedPass && s.messages == nil && m.HasBatch && !m.Encrypted && !m.HasChunk && !s.it.unkeyed
}

// overtaken says whether a "duplicate" receipt for s means that something later
// was stored in its place, or in that of an earlier part: that was definitely
// refused before, and no attempt that could have been stored explains the receipt.
func (w *Window) overtaken(s *send) bool {
	for i := range s.it.trouble {
		if t := &s.it.trouble[i]; t.segment == s.to.id && t.part <= s.part && s.it.overtaken(t, s.to) {
			return true
		}
	}
	return false
}

// overtakenAtSeal says the same of sealed destinations whose watermark lies at
// or above a part of it that they refused.
func (w *Window) overtakenAtSeal(it *item) bool {
	for i := range it.trouble {
		t := &it.trouble[i]
		if d := w.findDest(t.segment); d != nil && it.overtaken(t, d) && d.covers(it.pos, t.part) {
			return true
		}
	}
	return false
}

// settleTrouble forgets refusals of the item that s, which was stored as new,
// disproves the harm of: when it was stored, nothing later was.
func (it *item) settleTrouble(s *send) {
	for i := range it.trouble {
		if t := &it.trouble[i]; t.segment == s.to.id && s.id > t.until {
			t.refused = false
		}
	}
}

func (w *Window) parkOvertaken(it *item) {
	w.counters.Overtaken++
	w.park(it, placement.Overtaken)
	w.goBack(it) // nothing more passes it
}

// tooLarge cuts a batch that the destination found too large, and parks what
// can not be cut.
func (w *Window) tooLarge(s *send) {
	it := s.it
	whole := s.messages == nil
	w.noteRefusal(s)
	w.lose(s)
	if whole && it.meta.HasBatch && !it.meta.Encrypted && !it.meta.HasChunk {
		it.cut = true
		return
	}
	w.park(it, placement.TooLargeSingle)
}

// checksumError parks an entry whose bytes do not match its checksum here
// either; where they do, they were damaged on the way and are sent again.
func (w *Window) checksumError(s *send) {
	it := s.it
	w.counters.ChecksumErrors++
	damaged := it.frame.HasChecksum && it.frame.ComputeChecksum() != it.frame.Checksum
	w.refused(s)
	if damaged {
		w.park(it, placement.Checksum)
	}
}

// SegmentSealed tells that the remote segment was found terminated.
func (w *Window) SegmentSealed(segment uint64) {
	if d := w.findDest(segment); d != nil {
		w.seal(d)
	}
}

func (w *Window) seal(d *dest) {
	if d.state == destOpen || d.state == destRecovers {
		d.state = destSealed
		w.quiet = false
		w.counters.Seals++
		if d.used {
			w.abandonJob()
			w.ask(d)
		}
	}
}

func (w *Window) ask(d *dest) {
	if d.state == destSealed && !d.asked && !d.gone && w.now >= d.askAt {
		d.asked = true
		w.push(Action{Kind: AskWatermark, Segment: d.id})
	}
}

// settled says whether the fate of everything sent to sealed segments that
// overlap r is known, and asks for the watermarks that are missing.
func (w *Window) settled(r layout.Range) bool {
	if w.quiet && r == w.cfg.Source.Range {
		return true
	}
	for _, s := range w.remote.SealedOverlapping(r) {
		if s.IsLegacy() {
			continue // never a destination, so nothing of this stream is there, and it keeps no watermark
		}
		if d := w.destOf(s); d.state == destOpen || d.state == destRecovers {
			w.seal(d)
		}
	}
	ok := true
	for _, d := range w.dests {
		if mutant.On(mutant.SuccessorEarly) {
			break
		}
		if d.state == destSealed && d.rng.Overlaps(r) {
			w.ask(d)
			ok = false
		}
	}
	if !ok {
		w.waiting = waitWatermark
	} else if r == w.cfg.Source.Range {
		w.quiet = true
	}
	return ok
}
