// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	"georep/core/entry"
	"georep/core/placement"
	"georep/core/window"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// poison overwrites memory that the window gave back.
const poison = 0xDD

func spoil(b []byte) {
	for i := range b {
		b[i] = poison
	}
}

// drain carries out actions until none is left, or now and then stops early, as
// a driver does whose thread is taken away (never with all).
func (rp *replicator) drain(all bool) {
	w := rp.w
	acts := make([]window.Action, 0, 1+w.rng.IntN(12))
	space := 1 << 14
	if w.rng.IntN(3) == 0 {
		space = 64 + w.rng.IntN(600)
	}
	for n := 0; !rp.stopped; n++ {
		if n > 10_000 {
			w.chk.Fail(check.Contract, rp.seg.info.ID, "Ready has no end")
			return
		}
		if cap(rp.arena) < space {
			rp.arena = make([]byte, 0, space)
		}
		out, used, needed := rp.win.Ready(acts[:0], rp.arena[:0:space])
		w.events++
		for i := range out {
			rp.act(&out[i])
			if rp.stopped || w.chk.First() != nil {
				return
			}
		}
		spoil(used)
		if needed > 0 {
			if needed > space {
				w.plan.Hit(faults.SmallArena)
			}
			space = max(space, needed)
			continue
		}
		if len(out) == 0 {
			return
		}
		if !all && w.rng.IntN(40) == 0 {
			rp.wake()
			return
		}
	}
}

func (rp *replicator) act(a *window.Action) {
	w := rp.w
	w.events++
	if w.tracing {
		rp.traceAction(a)
	}
	switch a.Kind {
	case window.Send:
		rp.send(a)
	case window.Delete:
		rp.delete(a.Position)
	case window.Release:
		buf := rp.lent[a.Position]
		if buf == nil {
			w.chk.Fail(check.Contract, rp.seg.info.ID, "entry %v released twice", a.Position)
			return
		}
		spoil(buf)
		delete(rp.lent, a.Position)
	case window.AskBudget:
		w.bank.request(rp, a.Bytes)
	case window.ReturnBudget:
		w.bank.giveBack(rp)
	case window.AskWatermark:
		rp.askWatermark(a.Segment)
	case window.AskSchema:
		rp.askSchema(slices.Clone(a.Version))
	case window.CloseProducer:
		for _, c := range slices.Clone(rp.conns) {
			if c.s.dest.Seg.ID == a.Segment {
				c.fail(window.Refused)
			}
		}
	case window.Parked:
		w.parkedBy[a.Reason]++
		rp.told[a.Position] = true
		if e := rp.entryAt(a.Position); e != nil {
			w.chk.Parked(rp.life, e, a.Reason)
		}
	default:
		w.chk.Fail(check.Contract, rp.seg.info.ID, "unknown action %d", a.Kind)
	}
}

func (rp *replicator) entryAt(pos entry.Position) *check.Entry {
	i := rp.seg.index(pos)
	if i < 0 {
		rp.w.chk.Fail(check.Contract, rp.seg.info.ID, "action names %v, which is no entry", pos)
		return nil
	}
	return rp.seg.log[i]
}

// send puts an entry on the wire. The bytes are copied now: arena and entry may
// change afterwards.
func (rp *replicator) send(a *window.Action) {
	w := rp.w
	sv := rp.r.serverOf(rp.instance, a.Segment)
	if sv == nil {
		w.chk.Fail(check.Contract, rp.seg.info.ID, "send to segment %d, which never was", a.Segment)
		return
	}
	if a.Path == placement.Rebatch && !w.bank.watch.Holds(rp.key) {
		w.chk.Fail(check.Budget, rp.seg.info.ID, "parts of %v are sent without a slot", a.Position)
		return
	}
	w.sentBy[a.Path]++
	w.sentFor[a.Reason]++
	w.chk.Publishes(rp.life, rp.seg.info.ID, rp.seg.ancestors, w.logOf)
	cut := 0
	if s := rp.known.Get(a.Segment); s != nil {
		cut = s.CutBytes()
	}
	o := &outgoing{id: a.SendID, r: rp, src: rp.seg, sender: rp.sender, wire: slices.Concat(a.Header, a.Payload),
		sent: check.Sent{At: w.now, Cut: cut}, pos: a.Position, part: a.Part, path: a.Path}
	rp.charge(int64(len(o.wire)))
	rp.connTo(sv).send(o)
}

func (rp *replicator) connTo(sv *server) *conn {
	for _, c := range rp.conns {
		if c.s == sv {
			return c
		}
	}
	c := &conn{r: rp, s: sv}
	rp.conns = append(rp.conns, c)
	return c
}

// delete asks the cursor to drop a position; that takes a while and may fail.
func (rp *replicator) delete(pos entry.Position) {
	w := rp.w
	e := rp.entryAt(pos)
	if e == nil {
		return
	}
	w.chk.Deleted(rp.life, e)
	w.after(w.delay(4), func() {
		if rp.stopped {
			return
		}
		rp.event()
		if w.chance(faults.DeleteFails, 0.02) {
			rp.win.DeleteFailed(pos)
		} else {
			i := rp.seg.index(pos)
			rp.cur.delete(i)
			rp.mine[i] = true
			rp.win.Deleted(pos)
		}
		rp.wake()
	})
}

func (rp *replicator) askWatermark(id uint64) {
	w := rp.w
	d := w.delay(6)
	if w.chance(faults.LateWatermark, 0.1) {
		d += w.rng.Int64N(60)
	}
	w.after(d, func() {
		if rp.stopped {
			return
		}
		st, pos, part := rp.r.watermark(id, w.dedupKey(rp.seg, rp.life.Generation))
		sv, life := rp.r.server(id), rp.r.instance
		w.after(w.delay(4), func() {
			if rp.stopped || rp.instance != life { // of another life of the topic
				return
			}
			rp.event()
			if st == window.WatermarkKnown || st == window.WatermarkNone {
				rp.sender.Told[sv.dest] = true
			}
			w.tracef("owner %d: watermark of %d: status %d %v/%d", rp.id, id, st, pos, part)
			rp.win.Watermark(id, st, pos, part)
			rp.wake()
		})
	})
}

func (rp *replicator) askSchema(version []byte) {
	w := rp.w
	d := w.delay(6)
	if w.chance(faults.LateSchema, 0.1) {
		d += w.rng.Int64N(60)
	}
	w.after(d, func() {
		if rp.stopped {
			return
		}
		rp.event()
		if w.chance(faults.NoSchema, 0.1) {
			rp.win.SchemaFailed(version)
		} else {
			rp.win.SchemaMapped(version, []byte(check.MappedSchema(string(version))))
		}
		rp.wake()
	})
}
