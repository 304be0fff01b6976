// SPDX-License-Identifier: Apache-2.0

package window

import (
	"cmp"
	"slices"

	"georep/core/entry"
	"georep/core/layout"
)

type destState uint8

const (
	destOpen     destState = iota // takes sends
	destRecovers                  // a send failed: waits until nothing is in flight, then until retryAt
	destSealed                    // takes nothing more; its watermark is not known yet
	destSettled                   // sealed, and the fate of everything sent to it is known
)

// dest is one segment of the remote, as far as this window has met it.
type dest struct {
	id       uint64
	rng      layout.Range
	seg      *layout.Segment // latest record; immutable
	topic    string          // segment://…
	origin   *entry.BoundOrigin
	state    destState
	used     bool // its producer may be open: a send went there
	inFlight flight
	retryAt  int64 // ms; destRecovers
	failures int   // in a row

	refused []refusal

	asked  bool  // AskWatermark is with the driver
	askAt  int64 // next try, ms
	gone   bool  // pruned before it could be asked
	marked bool  // pos and part are its final watermark
	pos    entry.Position
	part   int64
}

// covers says whether the final watermark of d is at or above (pos, part).
func (d *dest) covers(pos entry.Position, part int64) bool {
	if !d.marked {
		return false
	}
	c := pos.Compare(d.pos)
	return c < 0 || c == 0 && part <= d.part
}

// refusal is a part that d refused while others were on their way behind it.
type refusal struct {
	pos    entry.Position
	part   int64
	until  uint64 // the last send then
	passed bool   // one of those was acknowledged as new
}

// noteRefused remembers that the destination must not store what is on its way
// behind s. Refusals of items that are done with are forgotten.
func (w *Window) noteRefused(s *send) {
	d := s.to
	d.refused = slices.DeleteFunc(d.refused, func(r refusal) bool {
		return r.pos == s.it.pos && r.part == s.part && !r.passed || w.find(r.pos) == nil
	})
	d.refused = append(d.refused, refusal{pos: s.it.pos, part: s.part, until: w.sends.last()})
}

// noteAcked sees whether s, which was stored as new, has passed a refused part.
func (d *dest) noteAcked(s *send) {
	for i := range d.refused {
		if r := &d.refused[i]; s.id <= r.until && s.compare(r.pos, r.part) > 0 {
			r.passed = true
		}
	}
}

func (d *dest) passed(pos entry.Position, part int64) bool {
	return slices.ContainsFunc(d.refused, func(r refusal) bool { return r.passed && r.pos == pos && r.part == part })
}

// destOf returns the record of a remote segment, making it when it is new.
func (w *Window) destOf(s *layout.Segment) *dest {
	i, ok := slices.BinarySearchFunc(w.dests, s.ID, func(d *dest, id uint64) int { return cmp.Compare(d.id, id) })
	if ok {
		w.dests[i].seg = s
		return w.dests[i]
	}
	d := &dest{id: s.ID, rng: s.Range, seg: s, topic: string(AppendSegmentTopic(nil, w.cfg.Topic, s))}
	d.origin = w.originOf(d).Bind()
	w.dests = slices.Insert(w.dests, i, d)
	return d
}

func (w *Window) findDest(id uint64) *dest {
	i, ok := slices.BinarySearchFunc(w.dests, id, func(d *dest, id uint64) int { return cmp.Compare(d.id, id) })
	if !ok {
		return nil
	}
	return w.dests[i]
}

// available says whether d may be sent to now, and if not, notes why.
func (w *Window) available(d *dest) bool {
	switch d.state {
	case destOpen:
		return true
	case destRecovers:
		if d.inFlight.len() == 0 && w.now >= d.retryAt {
			d.state = destOpen
			return true
		}
		w.waiting = waitDestination
	default:
		w.waiting = waitLayout
	}
	return false
}

// rangeAvailable says whether every active destination that overlaps r may be sent to.
func (w *Window) rangeAvailable(r layout.Range) bool {
	for _, d := range w.dests {
		if !d.rng.Overlaps(r) || d.state == destOpen {
			continue
		}
		if s := w.remote.Get(d.id); s != nil && s.State == layout.Active && !w.available(d) {
			return false
		}
	}
	return true
}

// forgetDests drops settled destinations whose watermark can not matter any more.
func (w *Window) forgetDests() {
	w.dests = slices.DeleteFunc(w.dests, func(d *dest) bool {
		if d.state != destSettled || d.inFlight.len() > 0 || w.remote.Get(d.id) != nil {
			return false
		}
		return !d.marked || w.behind(d.pos)
	})
}

// behind says whether everything at or below pos has left the window.
func (w *Window) behind(pos entry.Position) bool {
	for _, it := range w.items {
		if !it.gone {
			return pos.Compare(it.pos) < 0
		}
	}
	return w.offered && pos.Compare(w.last) <= 0
}
