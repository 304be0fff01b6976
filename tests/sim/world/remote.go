// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/layout"
	"georep/core/window"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// remote is a destination cluster.
type remote struct {
	w          *World
	index      uint32
	name       string
	cl         *cluster
	servers    []*server
	generation uint64
	instance   int       // life of its topic
	older      []*server // of earlier lives
	maxMessage int
	tellMax    bool // the handshake says maxMessage
	down       bool // nothing connects
	dead       bool // connects, and never answers
}

func (w *World) newRemote(name string) *remote {
	r := &remote{w: w, index: uint32(len(w.remotes)), name: name, generation: 1, maxMessage: 1 << 20, tellMax: w.rng.IntN(2) == 0}
	if w.rng.IntN(4) == 0 {
		r.maxMessage = 1400
	}
	n := 1 + w.rng.IntN(4)
	if w.rng.IntN(3) == 0 {
		n = 1
	}
	r.cl = newCluster(name, w.opt.profile, n, w.fillDest)
	for i := range r.cl.segs {
		r.addServer(&r.cl.segs[i])
	}
	w.remotes = append(w.remotes, r)
	for _, s := range w.segments {
		if !s.pruned {
			s.cursors[r] = new(cursor)
		}
	}
	return r
}

func (r *remote) addServer(info *layout.Segment) {
	seg := *info
	seg.Parents, seg.Children = nil, nil
	topic := string(window.AppendSegmentTopic(nil, topicName, &seg))
	r.servers = append(r.servers, &server{w: r.w, r: r, producers: map[uint64]*pipe{}, blocked: map[uint64]bool{},
		dest: &check.Dest{Remote: r.name, Seg: &seg, Topic: topic, Life: r.instance}})
}

func (r *remote) server(id uint64) *server {
	for _, s := range r.servers {
		if s.dest.Seg.ID == id {
			return s
		}
	}
	return nil
}

// serverOf finds a segment of one life of the topic.
func (r *remote) serverOf(life int, id uint64) *server {
	if life == r.instance {
		return r.server(id)
	}
	for _, s := range r.older {
		if s.dest.Life == life && s.dest.Seg.ID == id {
			return s
		}
	}
	return nil
}

// change starts a split, merge or rebucket: parents terminate first, the layout
// that names the children is published after.
func (r *remote) change(ch change, ok bool) bool {
	if !ok {
		return false
	}
	w := r.w
	r.cl.busy = true
	for i := range ch.children {
		r.addServer(&ch.children[i])
	}
	for _, id := range ch.parents {
		r.server(id).seal()
	}
	w.tracef("%s %v -> %v", r.name, ch.parents, ids(ch.children))
	w.after(w.delay(25), func() {
		r.cl.commit(ch)
		r.cl.busy = false
		r.tell()
		if w.rng.IntN(2) == 0 { // consumers were quick: the parents go at once
			w.after(w.delay(8), func() { r.pruneParents(ch.parents) })
		}
	})
	return true
}

// rebucket replaces a segment by one with the same range and other buckets.
func (r *remote) rebucket(s *layout.Segment) bool {
	ch := change{parents: []uint64{s.ID}}
	ch.children = []layout.Segment{r.w.child(r.cl, ch.parents, s.Profile, s.Range, r.w.fillDest)}
	return r.change(ch, true)
}

// recreate deletes the topic and makes it again: other segments under the same
// numbers, nothing stored. Nobody connects before it has learned of the new one.
func (r *remote) recreate() {
	w := r.w
	w.tracef("%s deletes the topic and makes it again", r.name)
	for _, sv := range r.servers {
		sv.dest.Pruned = true
		sv.table, sv.writing = nil, nil
		sv.disconnect()
	}
	r.older = append(r.older, r.servers...)
	r.servers = nil
	r.instance++
	r.cl = newCluster(r.name, w.opt.profile, 1+w.rng.IntN(3), w.fillDest)
	for i := range r.cl.segs {
		r.addServer(&r.cl.segs[i])
	}
	r.tell()
}

// pruneOne deletes a sealed segment whose parents are gone.
func (r *remote) pruneOne() {
	for i := range r.cl.segs {
		s := &r.cl.segs[i]
		if s.State != layout.Sealed || len(s.Parents) > 0 {
			continue
		}
		r.pruneSegment(s.ID)
		return
	}
}

func (r *remote) pruneSegment(id uint64) {
	sv := r.server(id)
	sv.dest.Pruned = true
	sv.disconnect()
	r.w.tracef("%s segment %d pruned", r.name, id)
	r.w.plan.Hit(faults.DestPrune)
	r.cl.prune(id)
	r.tell()
}

// pruneParents deletes the segments as soon as they were sealed.
func (r *remote) pruneParents(ids []uint64) {
	w := r.w
	for _, id := range ids {
		s := r.cl.get(id)
		if s != nil && s.State == layout.Sealed && len(s.Parents) == 0 && !r.cl.busy && !w.calm &&
			w.rng.Float64() < w.plan.Factor[faults.DestPrune] {
			r.pruneSegment(s.ID)
		}
	}
}

// tell brings the present layout to every replicator, sooner or later.
func (r *remote) tell() {
	for _, rp := range r.w.replicators {
		if rp.r == r {
			rp.learnRemote()
		}
	}
}

// watermark answers a window's question about a sealed segment.
func (r *remote) watermark(id uint64, k dedup.Key) (window.WatermarkStatus, entry.Position, int64) {
	sv := r.server(id)
	switch {
	case r.down || r.dead || r.w.chance(faults.NoWatermark, 0.15):
		return window.WatermarkFailed, entry.Position{}, 0
	case sv == nil || sv.dest.Pruned:
		return window.WatermarkGone, entry.Position{}, 0
	case !sv.sealed:
		return window.WatermarkNotFinal, entry.Position{}, 0
	}
	sv.load()
	pos, part, ok := sv.table.Watermark(k)
	if !ok {
		return window.WatermarkNone, entry.Position{}, 0
	}
	return window.WatermarkKnown, pos, part
}

// goDown breaks every connection to the remote for a while; a dead remote
// answers nothing, which its clients notice only by time.
func (r *remote) goDown(dead bool, ms int64) {
	r.down, r.dead = !dead, dead
	r.w.tracef("%s down, dead %v", r.name, dead)
	for _, sv := range r.servers {
		for _, p := range sv.pipes() {
			if !dead {
				p.close()
				p.clientNotices()
			}
		}
	}
	r.w.after(ms, r.comeBack)
}

func (r *remote) comeBack() {
	if !r.down && !r.dead {
		return
	}
	dead := r.dead
	r.down, r.dead = false, false
	if !dead {
		return
	}
	for _, rp := range r.w.replicators { // what was on its way is gone
		if rp.r != r {
			continue
		}
		for _, c := range slices.Clone(rp.conns) {
			if c.pipe != nil {
				c.pipe.close()
				c.fail(window.Refused)
			}
		}
	}
}

func (w *World) fillDest(s *layout.Segment) {
	if w.rng.IntN(3) == 0 {
		s.CutCap = 60 + uint32(w.rng.IntN(300))
	}
	w.fillSource(s)
}

// fillSource gives a segment its buckets: 1, 4 or unequal ones.
func (w *World) fillSource(s *layout.Segment) {
	if !w.opt.buckets {
		return
	}
	switch w.rng.IntN(3) {
	case 0:
		s.Buckets = layout.EqualWidth(4)
	case 1:
		a, b := uint16(1+w.rng.IntN(30000)), uint16(31000+w.rng.IntN(30000))
		s.Buckets = []uint16{a, b}
	}
}

// forgetKeys lets destinations drop the dedup keys of a pruned source segment.
func (w *World) forgetKeys(s *segment) {
	if w.rng.IntN(2) == 0 {
		return
	}
	for _, r := range w.remotes {
		for g := uint64(1); g <= r.generation; g++ {
			k := w.dedupKey(s, g)
			for _, sv := range r.servers {
				if p := sv.producers[s.info.ID]; p != nil {
					p.close()
				}
				if sv.table != nil {
					sv.table.Prune(k)
					w.plan.Hit(faults.KeyPruned)
				}
			}
		}
	}
}

func (w *World) dedupKey(s *segment, generation uint64) dedup.Key {
	return dedup.Key{Cluster: w.src.name, Instance: instance, Segment: s.info.ID, Generation: generation}
}
