// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"

	"georep/core/budget"
	"georep/core/entry"
	"georep/core/layout"
	"georep/core/window"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// replicator is one owner's driver of a window and its gate: what the broker
// plugin does around the core.
type replicator struct {
	w        *World
	id       int
	seg      *segment
	r        *remote
	key      budget.Key
	life     *check.Life
	sender   *check.Sender
	win      *window.Window
	gate     *window.Gate
	cur      *cursor
	lent     map[entry.Position][]byte
	readAt   int
	known    *layout.Layout // of the remote
	conns    []*conn
	charged  int64 // bytes in flight on the budget
	grants   int   // rises when a slot is given back: older grants are stale
	asked    map[uint64]bool
	doubts   map[entry.Position]bool // an attempt may have been stored
	told     map[entry.Position]bool // parked positions that the operator was told
	mine     map[int]bool            // deleted by this owner: a read may have been on its way
	ticking  bool
	pumping  bool
	stopped  bool
	instance int            // life of the remote's topic that it knows
	ended    bool           // the window knows that nothing more comes
	starved  bool           // the budget has no room for what the window wants
	since    entry.Position // end of the log when it began
	hazard   bool           // something may have been passed by: no new owner until it is skipped
	arena    []byte
}

// startReplicator makes a replicator after a while, from the cursor's state then.
func (w *World) startReplicator(s *segment, r *remote, delay int64) {
	w.after(delay, func() {
		if s.pruned || w.running(s, r) != nil {
			return
		}
		w.owners++
		rp := &replicator{w: w, id: w.owners, seg: s, r: r, key: budget.Key(w.owners), cur: s.cursors[r],
			life: w.chk.Life(r.name, r.generation), sender: &check.Sender{ID: w.owners, Told: map[*check.Dest]bool{}},
			gate: window.NewGate(s.info.ID), lent: map[entry.Position][]byte{}, asked: map[uint64]bool{},
			doubts: map[entry.Position]bool{}, told: map[entry.Position]bool{}, mine: map[int]bool{}, instance: -1}
		var end entry.Position // before the first entry
		if n := len(s.log); n > 0 {
			end = s.log[n-1].Pos
		} else {
			end.Entry = -1
		}
		win, err := window.New(window.Config{Source: w.placementSource(s, r), Topic: topicName, Instance: instance,
			Generation: r.generation, SentBefore: end, PlaceEncryptedBatch: w.opt.place, ParkedPass: w.opt.pass, KeepCodec: w.opt.keepCodec,
			MaxEntryBytes: 1 << 20, MaxDecompressed: 1 << 20, MaxMessages: 1000, MaxInFlightEntries: w.opt.window,
			MaxInFlightBytes: 1 << 16, MaxOpenUnits: 4, MaxUnitMillis: 150, RetryMillis: 5})
		if err != nil {
			w.chk.Fail(check.Contract, s.info.ID, "window.New: %v", err)
			return
		}
		rp.win, rp.since = win, end
		rp.readAt = rp.cur.low
		w.replicators = append(w.replicators, rp)
		w.tracef("owner %d starts on segment %d to %s, generation %d, from %d of %d", rp.id, s.info.ID, r.name, r.generation, rp.readAt, len(s.log))
		rp.learnRemote()
		rp.learnSource()
		rp.pollGate()
	})
}

func (w *World) running(s *segment, r *remote) *replicator {
	for _, rp := range w.replicators {
		if rp.seg == s && rp.r == r {
			return rp
		}
	}
	return nil
}

// stop ends the owner. Its connections are gone for it; what they carry may still
// arrive unless quiet closes them on the server too.
func (rp *replicator) stop(quiet bool) {
	w := rp.w
	rp.stopped = true
	for _, c := range slices.Clone(rp.conns) {
		c.drop()
		if quiet && c.pipe != nil {
			c.pipe.close()
		}
	}
	rp.charge(-rp.charged)
	w.bank.giveBack(rp)
	w.absorb(rp.win.Counters())
	w.replicators = slices.DeleteFunc(w.replicators, func(o *replicator) bool { return o == rp })
	w.tracef("owner %d of segment %d to %s stops", rp.id, rp.seg.info.ID, rp.r.name)
}

func (rp *replicator) event() { rp.w.events++ }

// learnRemote delivers the remote's layout of this moment, after the handshake.
func (rp *replicator) learnRemote() {
	w := rp.w
	l, most, life := rp.r.cl.layout(), rp.r.maxMessage, rp.r.instance
	if !rp.r.tellMax {
		most = 0
	}
	d := w.delay(6)
	if w.chance(faults.LateLayout, 0.15) {
		d += w.rng.Int64N(80)
	}
	if w.chance(faults.HandshakeLost, 0.02) {
		d += 4 + w.rng.Int64N(60)
		w.after(w.delay(4), func() {
			if !rp.stopped {
				rp.event()
				rp.win.Block(window.Block(1 + w.rng.IntN(4)))
				rp.wake()
			}
		})
	}
	w.after(d, func() {
		if rp.stopped {
			return
		}
		if life < rp.instance { // the watch answers in order
			return
		}
		if rp.cur.life != life {
			rp.drain(true) // what was acknowledged by the old one is done
			rp.cur.life = life
			rp.life.Recreated(rp.seg.log, func(e *check.Entry) bool { return rp.lent[e.Pos] == nil && rp.win.Has(e.Pos) })
		}
		if rp.known == nil || rp.instance != life || l.Epoch() >= rp.known.Epoch() {
			rp.known = l
		}
		rp.instance = life
		rp.event()
		rp.win.RemoteInstance(fmt.Sprint("life-", life))
		if err := rp.win.SetRemote(l, most); err != nil {
			w.chk.Fail(check.Contract, rp.seg.info.ID, "SetRemote: %v", err)
		}
		rp.wake()
	})
}

// wake lets the replicator work soon.
func (rp *replicator) wake() {
	if rp.pumping || rp.stopped {
		return
	}
	rp.pumping = true
	rp.w.after(rp.w.rng.Int64N(3), func() {
		rp.pumping = false
		if !rp.stopped {
			rp.pump()
		}
	})
}

// pump feeds the window and carries out what it says.
func (rp *replicator) pump() {
	rp.feed()
	rp.drain(false)
	rp.feed()
	rp.drain(false)
	if rp.win.NeedsTick() && !rp.ticking {
		rp.ticking = true
		rp.w.after(1+rp.w.rng.Int64N(6), func() {
			rp.ticking = false
			if !rp.stopped {
				rp.event()
				rp.win.Tick(rp.w.now)
				rp.wake()
			}
		})
	}
}

// feed reads from the cursor what the window wants and the budget has room for.
func (rp *replicator) feed() {
	entries, bytes := rp.win.Want()
	room := rp.w.bank.b.Room(rp.r.index)
	rp.starved = room == 0
	bytes = min(bytes, room)
	for entries > 0 && bytes > 0 && rp.readAt < len(rp.seg.log) {
		i := rp.readAt
		rp.readAt++
		if rp.cur.has(i) && !(rp.mine[i] && rp.w.chance(faults.Reread, 0.01)) {
			continue
		}
		e := rp.seg.log[i]
		if rp.win.Has(e.Pos) {
			continue
		}
		entries--
		bytes -= int64(len(e.Raw))
		rp.offer(i, e)
	}
	if rp.w.chance(faults.Reread, 0.004) {
		rp.readAt = rp.cur.low
	}
	if rp.seg.sealed && !rp.ended && rp.readAt == len(rp.seg.log) {
		rp.ended = true
		rp.event()
		rp.win.SourceEnded()
	}
}

func (rp *replicator) offer(i int, e *check.Entry) {
	if rp.lent[e.Pos] != nil {
		rp.w.chk.Fail(check.Contract, e.Segment, "entry %v is neither held nor released", e.Pos)
		return
	}
	buf := slices.Clone(e.Raw)
	rp.lent[e.Pos] = buf
	rp.event()
	if err := rp.win.Offer(e.Pos, rp.seg.flags[i], buf); err != nil {
		rp.w.chk.Fail(check.Contract, e.Segment, "Offer %v: %v", e.Pos, err)
	}
}

// outcome reports one send's end to the window.
func (rp *replicator) outcome(o *outgoing, out window.Outcome) {
	if rp.stopped {
		return
	}
	rp.charge(-int64(len(o.wire)))
	rp.doubts[o.pos] = rp.doubts[o.pos] || out == window.Unknown
	rp.event()
	if rp.w.tracing {
		rp.w.trace("owner %d: send #%d %v/%d -> outcome %d", rp.id, o.id, o.pos, o.part, out)
	}
	rp.win.Outcome(o.id, out)
	rp.wake()
}

func (rp *replicator) charge(n int64) {
	rp.charged += n
	rp.w.bank.charge(rp.r, n)
}
