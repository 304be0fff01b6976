// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	"georep/core/entry"
	"georep/core/layout"
	"georep/core/placement"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// segment is a source segment: its log, and one cursor per remote.
type segment struct {
	info      layout.Segment // as created; state lives in the cluster's layout
	ancestors []uint64       // all there ever were
	log       []*check.Entry
	flags     []placement.Flags
	ledger    int64
	next      int64
	published bool // some layout names it
	sealed    bool
	pruned    bool
	cursors   map[*remote]*cursor
}

// cursor is a replication cursor: positions are deleted one by one, and what is
// deleted is persisted late.
type cursor struct {
	deleted []bool // by index in the log
	unsaved []int
	low     int // everything below is deleted
	count   int // of deleted positions
	life    int // of the remote's topic that the last owner knew
}

func (c *cursor) has(i int) bool { return i < len(c.deleted) && c.deleted[i] }

func (c *cursor) delete(i int) {
	for len(c.deleted) <= i {
		c.deleted = append(c.deleted, false)
	}
	if !c.deleted[i] {
		c.deleted[i] = true
		c.count++
		c.unsaved = append(c.unsaved, i)
	}
	for c.low < len(c.deleted) && c.deleted[c.low] {
		c.low++
	}
}

func (c *cursor) save() { c.unsaved = c.unsaved[:0] }

// forget goes back to what is persisted; it says whether that was less.
func (c *cursor) forget() bool {
	for _, i := range c.unsaved {
		c.deleted[i] = false
		c.count--
		c.low = min(c.low, i)
	}
	lost := len(c.unsaved) > 0
	c.unsaved = c.unsaved[:0]
	return lost
}

func (s *segment) backlog(r *remote) int {
	c := s.cursors[r]
	if c == nil {
		return len(s.log)
	}
	return len(s.log) - c.count
}

func (s *segment) index(pos entry.Position) int {
	i, ok := slices.BinarySearchFunc(s.log, pos, func(e *check.Entry, p entry.Position) int { return e.Pos.Compare(p) })
	if !ok {
		return -1
	}
	return i
}

// append stores an entry in the segment's log; ledgers roll.
func (w *World) append(s *segment, e *check.Entry) {
	if s.ledger < 0 || w.rng.IntN(40) == 0 {
		w.ledger++
		s.ledger, s.next = w.ledger, 0
	}
	e.Pos = entry.Position{Ledger: s.ledger, Entry: s.next}
	s.next++
	s.log = append(s.log, e)
	s.flags = append(s.flags, w.booked(s, e))
	w.chk.Published(e)
	if w.tracing {
		w.trace("published %d %v %s %d messages", s.info.ID, e.Pos, e.Kind, len(e.Messages))
	}
	for _, r := range w.replicators {
		if r.seg == s {
			r.wake()
		}
	}
}

func (w *World) newSegment(info layout.Segment) *segment {
	s := &segment{info: info, ledger: -1, cursors: map[*remote]*cursor{}}
	for _, p := range info.Parents {
		if parent := w.segment(p); parent != nil {
			s.ancestors = append(append(s.ancestors, p), parent.ancestors...)
		}
	}
	slices.Sort(s.ancestors)
	s.ancestors = slices.Compact(s.ancestors)
	w.segments = append(w.segments, s)
	return s
}

func (w *World) segment(id uint64) *segment {
	for _, s := range w.segments {
		if s.info.ID == id {
			return s
		}
	}
	return nil
}

// changeSource starts a split or merge: the parents are sealed and the children
// exist before the layout that names them is published.
func (w *World) changeSource(ch change, ok bool) {
	if !ok {
		return
	}
	w.src.busy = true
	for _, id := range ch.parents {
		s := w.segment(id)
		s.sealed = true
		if len(s.log) == 0 {
			w.plan.Hit(faults.EmptyMiddle)
		}
		for _, u := range w.openUnits {
			if u.seg == s {
				u.unit.Open = false
			}
		}
	}
	var kids []*segment
	for _, info := range ch.children {
		s := w.newSegment(info)
		kids = append(kids, s)
		for _, r := range w.remotes {
			s.cursors[r] = new(cursor)
			w.startReplicator(s, r, w.delay(10))
		}
	}
	w.tracef("source %v -> %v", ch.parents, ids(ch.children))
	w.after(w.delay(30), func() {
		w.src.commit(ch)
		w.src.busy = false
		for _, s := range kids {
			s.published = true
		}
		w.sourceLayoutChanged()
	})
}

func ids(segs []layout.Segment) (out []uint64) {
	for i := range segs {
		out = append(out, segs[i].ID)
	}
	return out
}

// pruneSource is the topic's GC: sealed segments without backlog and without
// unpruned ancestors go.
func (w *World) pruneSource() {
	for _, s := range w.segments {
		if !s.sealed || s.pruned || !s.published || w.src.busy || !w.prunable(s) {
			continue
		}
		for _, r := range w.remotes {
			w.chk.Prune(w.chk.Life(r.name, r.generation), s.info.ID, s.log)
		}
		s.pruned = true
		w.plan.Hit(faults.SourcePrune)
		w.tracef("source segment %d pruned", s.info.ID)
		for _, r := range slices.Clone(w.replicators) {
			if r.seg == s {
				r.stop(true)
			}
		}
		w.src.prune(s.info.ID)
		w.sourceLayoutChanged()
		w.forgetKeys(s)
		return
	}
}

func (w *World) prunable(s *segment) bool {
	for _, a := range s.ancestors {
		if !w.segment(a).pruned {
			return false
		}
	}
	for _, r := range w.remotes {
		if s.backlog(r) > 0 || len(s.cursors[r].unsaved) > 0 {
			return false
		}
	}
	return true
}
