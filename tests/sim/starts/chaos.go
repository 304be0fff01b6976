// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"fmt"

	"georep/core/bootstrap"
)

// join adds a remote: its cursors do not exist yet, its owners plan where they start.
func (w *World) join(r int) {
	rem := w.remotes[r]
	rem.joined, rem.epoch = true, w.epoch
	w.tracef("%s joins at epoch %d", rem.name, rem.epoch)
	for _, s := range w.segments {
		w.after(w.rng.Int64N(200), func() {
			if s.owners[r] == nil {
				s.own(r)
			}
		})
	}
}

// life lets the source cluster work: producers, rollover, offload, retention.
func (w *World) life() {
	if w.calm {
		return
	}
	w.after(20+w.rng.Int64N(400), w.life)
	s := w.segments[w.rng.IntN(len(w.segments))]
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		if !s.sealed {
			s.roll()
			w.count("branch rolled")
		}
	case 3, 4, 5:
		s.offload()
	case 6:
		s.trim()
	case 7:
		if w.rng.IntN(6) == 0 {
			w.split(s)
		}
	case 8:
		if w.rng.IntN(4) == 0 {
			w.merge(s)
		}
	default:
		if !s.sealed {
			for range w.rng.IntN(12) {
				s.write()
			}
		}
	}
}

// seal ends a segment. Its last ledger may be without entries.
func (s *segment) seal(children ...uint64) {
	s.close()
	s.sealed, s.children = true, children
}

// child makes a segment that continues others. It has its cursors, held, before anything
// is written to it.
func (w *World) child(start, end uint16, parents ...uint64) *segment {
	s := &segment{start: start, end: end, parents: parents, compacted: w.segments[parents[0]].compacted}
	w.add(s)
	s.roll()
	for r, rem := range w.remotes {
		if !rem.joined {
			continue
		}
		s.cursors[r] = &cursor{next: s.first(), hold: &bootstrap.Hold{End: s.tail(), Since: w.now}, generation: 1}
		w.after(w.rng.Int64N(200), func() {
			if s.owners[r] == nil {
				s.own(r)
			}
		})
	}
	return s
}

func (w *World) split(s *segment) {
	if s.sealed || len(w.segments) > 7 || s.end-s.start < 0x100 {
		return
	}
	w.epoch++
	mid := s.start + (s.end-s.start)/2
	a := w.child(s.start, mid, s.id)
	b := w.child(mid+1, s.end, s.id)
	s.seal(a.id, b.id)
	w.cached = nil
	w.count("branch split")
}

func (w *World) merge(s *segment) {
	for _, o := range w.segments {
		if s.sealed || o.sealed || o == s || len(w.segments) > 7 || uint32(o.start) != uint32(s.end)+1 {
			continue
		}
		w.epoch++
		c := w.child(s.start, o.end, s.id, o.id)
		s.seal(c.id)
		o.seal(c.id)
		w.cached = nil
		w.count("branch merge")
	}
}

// chaos lets things go wrong, until the calm.
func (w *World) chaos() {
	if w.calm {
		return
	}
	w.after(w.rng.Int64N(1_500), w.chaos)
	s := w.segments[w.rng.IntN(len(w.segments))]
	r := w.rng.IntN(len(w.remotes))
	g := s.ledgers[w.rng.IntN(len(s.ledgers))]
	switch {
	case w.chance("offload-unreadable", 0.3):
		for _, g := range s.ledgers {
			if w.rng.IntN(3) > 0 {
				g.blind, g.unsure = w.now+w.rng.Int64N(20_000), false
			}
		}
	case !g.open && w.chance("copy-unsure", 0.1):
		g.blind, g.unsure = w.now+w.rng.Int64N(20_000), true
	case s.owners[r] != nil && w.chance("owner-changed", 0.15):
		s.owners[r].succeed(w.rng.Int64N(2_000))
	case w.chance("policy-changed", 0.08):
		w.drawPolicy()
	case w.chance("policy-bad", 0.03):
		w.topic[bootstrap.Property] = "soon"
	case w.rng.Float64() < 0.05*w.rate && s.evict():
		w.count(Fault + "evicted")
	case w.remotes[r].joined && w.rng.IntN(12) == 0:
		w.reset(r)
	}
}

// drawPolicy writes other properties.
func (w *World) drawPolicy() {
	clear(w.topic)
	clear(w.namespace)
	for _, p := range []map[string]string{w.topic, w.namespace} {
		for _, name := range []string{bootstrap.Property, bootstrap.Property + "." + w.remotes[0].name} {
			if w.rng.IntN(3) == 0 {
				p[name] = w.drawPoint().String()
			}
		}
	}
	if len(w.namespace) == 0 && w.rng.IntN(3) > 0 {
		w.namespace[bootstrap.Property] = "earliestNotOffloaded"
	}
}

// drawPoint returns a start inside the logs, before or behind them.
func (w *World) drawPoint() bootstrap.Point {
	p := bootstrap.Point{At: []bootstrap.StartAt{bootstrap.Earliest, bootstrap.Latest, bootstrap.EarliestNotOffloaded,
		bootstrap.EarliestNotOffloaded, bootstrap.AtPosition, bootstrap.AtTime}[w.rng.IntN(6)]}
	switch p.At {
	case bootstrap.AtPosition:
		p.Position.Ledger, p.Position.Entry = w.rng.Int64N(w.ledgers+2), w.rng.Int64N(30)
	case bootstrap.AtTime:
		p.Millis = w.rng.Int64N(w.now + 2_000)
	}
	return p
}

// settle ends all faults: who owns nothing is owned, what an operator set wrong is right.
func (w *World) settle() {
	w.calm, w.calmAt = true, w.now
	w.tracef("all is calm")
	clear(w.topic)
	for r := range w.remotes {
		if !w.remotes[r].joined {
			w.join(r)
		}
	}
	for _, s := range w.segments {
		for r := range w.remotes {
			w.after(3_500, func() {
				if s.owners[r] == nil && !w.remotes[r].reset {
					s.own(r)
				}
			})
		}
	}
}

// String names a segment.
func (s *segment) String() string { return fmt.Sprintf("segment %d", s.id) }
