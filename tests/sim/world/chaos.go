// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
	"georep/tests/sim/faults"
)

// chaos is one round of what happens by itself; each kind has its base rate a
// round, and the seed's plan a factor on it.
func (w *World) chaos() {
	w.brokers()
	w.layouts()
	w.ownerships()
	if w.rng.IntN(3) == 0 {
		w.pruneSource()
	}
}

// pick returns a random element, or the zero value of an empty list.
func pick[T any](w *World, l []T) (t T) {
	if len(l) > 0 {
		t = l[w.rng.IntN(len(l))]
	}
	return t
}

// brokers breaks connections and unloads segments of the remotes.
func (w *World) brokers() {
	if rp := pick(w, w.replicators); rp != nil {
		if c := pick(w, rp.conns); c != nil && c.pipe != nil && w.chance(faults.LostConnection, 0.04) {
			c.pipe.lost = true
			if w.rng.IntN(2) == 0 {
				c.pipe.close()
			}
			c.broken()
		}
	}
	r := pick(w, w.remotes)
	sv := pick(w, r.servers)
	switch {
	case sv.dest.Pruned:
	case w.chance(faults.Unload, 0.02):
		sv.unload(false)
	case w.chance(faults.Crash, 0.02):
		sv.unload(true)
	case w.rng.IntN(12) == 0:
		sv.takeSnapshot()
	}
	switch {
	case r.down || r.dead:
	case w.chance(faults.RemoteDown, 0.004):
		r.goDown(false, 20+w.rng.Int64N(200))
	case w.chance(faults.RemoteDead, 0.004):
		r.goDown(true, 20+w.rng.Int64N(300))
	}
}

// layouts splits, merges and prunes on both sides.
func (w *World) layouts() {
	for _, r := range w.remotes {
		if r.cl.busy {
			continue
		}
		s := pick(w, r.cl.active())
		switch {
		case len(r.cl.segs) < 14 && w.chance(faults.DestSplit, 0.012):
			r.change(w.split(r.cl, s, w.fillDest))
		case w.chance(faults.DestMerge, 0.012):
			r.change(w.merge(r.cl, w.fillDest))
		case w.opt.buckets && w.chance(faults.DestRebucket, 0.008):
			r.rebucket(s)
		case w.rng.Float64() < 0.01*w.plan.Factor[faults.DestPrune]:
			r.pruneOne()
		case w.chance(faults.CutCap, 0.006):
			w.changeCut(r, s)
		case w.chance(faults.RemoteRecreated, 0.0006):
			r.recreate()
		}
	}
	if w.src.busy {
		return
	}
	live := w.src.active()
	switch {
	case len(w.segments) < 24 && len(live) < 8 && w.chance(faults.SourceSplit, 0.01):
		w.changeSource(w.split(w.src, pick(w, live), w.fillSource))
	case w.chance(faults.SourceMerge, 0.01):
		w.changeSource(w.merge(w.src, w.fillSource))
	}
}

// changeCut gives a live segment another cut cap, as an operator could. The
// number in the record changes, what is stored does not.
func (w *World) changeCut(r *remote, s *layout.Segment) {
	if id, ok := r.cutting(); ok {
		s = r.cl.get(id)
	}
	sv := r.server(s.ID)
	s.CutCap = 60 + uint32(w.rng.IntN(400))
	r.cl.changed()
	r.tell()
	w.after(3+w.delay(6), func() { // in the middle of an entry that has to be sent again
		for _, rp := range w.replicators {
			for _, c := range slices.Clone(rp.conns) {
				if c.s == sv && c.pipe != nil {
					c.pipe.close()
					c.fail(window.Refused)
				}
			}
		}
	})
}

// cutting finds an active segment to which parts are on their way.
func (r *remote) cutting() (id uint64, ok bool) {
	for _, rp := range r.w.replicators {
		for _, c := range rp.conns {
			for _, o := range c.pending {
				s := r.cl.get(c.s.dest.Seg.ID)
				if rp.r == r && o.path == placement.Rebatch && s != nil && s.State == layout.Active && r.server(s.ID) == c.s {
					return s.ID, true
				}
			}
		}
	}
	return 0, false
}

// ownerships changes owners, pauses, resets and skips.
func (w *World) ownerships() {
	rp := pick(w, w.replicators)
	if rp == nil {
		return
	}
	if w.rng.IntN(4) == 0 {
		rp.cur.save()
	}
	switch {
	case !rp.hazard && w.chance(faults.Handover, 0.02):
		w.handover(rp)
	case w.chance(faults.Pause, 0.01):
		rp.pause(true)
		w.after(10+w.rng.Int64N(60), func() { rp.pause(false) })
	case w.chance(faults.Generation, 0.0015):
		w.raise(rp.r)
	case w.rng.IntN(6) == 0:
		rp.skipOne()
	case len(w.remotes) < 3 && w.chance(faults.RemoteAdded, 0.004):
		w.addRemote()
	}
}

// handover ends the owner and starts another from what the cursor persisted.
func (w *World) handover(rp *replicator) {
	if w.rng.IntN(3) == 0 {
		rp.cur.save()
	}
	rp.stop(false)
	if rp.cur.forget() {
		w.plan.Hit(faults.CursorForgets)
	}
	w.startReplicator(rp.seg, rp.r, 1+w.delay(20))
}

// raise starts a new generation to r: all its cursors go back to the first entry.
func (w *World) raise(r *remote) {
	for _, rp := range w.replicators {
		if rp.r == r && rp.hazard {
			return
		}
	}
	w.tracef("generation of %s raised", r.name)
	for _, rp := range slices.Clone(w.replicators) {
		if rp.r == r {
			rp.stop(false)
		}
	}
	r.generation++
	for _, s := range w.segments {
		if !s.pruned {
			s.cursors[r] = new(cursor)
			w.startReplicator(s, r, 1+w.delay(20))
		}
	}
}

func (w *World) addRemote() {
	r := w.newRemote([]string{"b", "c", "d"}[len(w.remotes)])
	w.tracef("remote %s added", r.name)
	for _, s := range w.segments {
		if !s.pruned {
			w.startReplicator(s, r, w.delay(20))
		}
	}
}

func (rp *replicator) pause(on bool) {
	if !rp.stopped {
		rp.event()
		rp.win.Pause(on)
		rp.wake()
	}
}

// skipOne lets an operator release the first parked position.
func (rp *replicator) skipOne() bool {
	parked := rp.win.Status().Parked
	if len(parked) == 0 || !rp.told[parked[0].Position] {
		return false
	}
	p := parked[0]
	e := rp.entryAt(p.Position)
	if e == nil {
		return false
	}
	rp.w.plan.Hit(faults.OperatorSkip)
	rp.w.tracef("owner %d: operator skips %v (%v)", rp.id, p.Position, p.Reason)
	rp.w.chk.Skipped(rp.life, e)
	rp.event()
	if err := rp.win.Skip(p.Position); err != nil {
		rp.w.chk.Fail(checkParked, rp.seg.info.ID, "skip of %v: %v", p.Position, err)
	}
	rp.wake()
	return true
}
