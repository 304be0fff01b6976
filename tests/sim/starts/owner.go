// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"georep/core/bootstrap"
	"georep/core/entry"
	"georep/core/window"
	"georep/tests/sim/check"
)

// cursor is what is durable of one (segment, remote).
type cursor struct {
	next       entry.Position
	hold       *bootstrap.Hold
	plan       *bootstrap.Plan
	generation uint64
	published  bool // something was sent in this generation
}

// owner replicates one (segment, remote), until it dies.
type owner struct {
	w       *World
	s       *segment
	r       int
	alive   bool
	p       *bootstrap.Planner
	gate    *window.Gate // nil: it has not begun
	read    bootstrap.Log
	seen    []ledger // as they were when that was read; nil: the plan was made by an earlier owner
	choice  bootstrap.Choice
	counted bool
}

// own makes the owner of a segment's cursor for a remote, from what is durable.
func (s *segment) own(r int) {
	w := s.w
	c := bootstrap.Config{Created: s.created, Joined: w.remotes[r].epoch, JoinedKnown: true, End: s.tail()}
	if cur := s.cursors[r]; cur != nil {
		c.Held, c.Placed = cur.hold, cur.plan
	}
	o := &owner{w: w, s: s, r: r, alive: true, p: bootstrap.NewPlanner(w.now, c)}
	s.owners[r] = o
	w.events++
	w.tracef("%s is owned: held %v, placed %v", o, c.Held != nil, c.Placed != nil)
	o.pump()
}

// die forgets all that is not durable.
func (o *owner) die() {
	if !o.alive {
		return
	}
	o.alive = false
	o.tally()
	o.s.owners[o.r] = nil
}

// succeed lets another broker take over.
func (o *owner) succeed(delay int64) {
	o.die()
	o.w.after(delay, func() {
		if o.s.owners[o.r] == nil && !o.w.remotes[o.r].reset {
			o.s.own(o.r)
		}
	})
}

// later does something while the owner lives.
func (o *owner) later(most int64, do func()) {
	o.w.after(1+o.w.rng.Int64N(most), func() {
		if o.alive && o.w.first == nil {
			do()
		}
	})
}

// took reports the outcome of an event.
func (o *owner) took(err error) {
	o.w.events++
	if err != nil {
		o.w.fail(check.StartsCrashed, "%s: %v", o, err)
		return
	}
	o.pump()
}

func (o *owner) fail(why string) { o.took(o.p.Failed(o.w.now, why)) }

// pump does what the planner asks for.
func (o *owner) pump() {
	t, ok := o.p.Ready()
	if !ok {
		if at := o.p.WakeAt(); at >= 0 {
			o.w.after(at-o.w.now, func() {
				if o.alive && o.p.WakeAt() == at {
					o.p.Tick(o.w.now)
					o.w.events++
					o.pump()
				}
			})
		}
		return
	}
	o.w.events++
	o.w.tracef("%s: %v", o, t.State)
	switch t.State {
	case bootstrap.Holding:
		o.later(40, func() { o.hold(t.Hold) })
	case bootstrap.Planning:
		o.later(40, o.readLog)
	case bootstrap.Searching:
		o.later(40, func() { o.search(t) })
	case bootstrap.Placing:
		if o.seen != nil {
			o.checkPlan(t.Plan)
		}
		o.later(40, func() { o.place(t.Plan) })
	default:
		o.begin()
	}
}

func (o *owner) hold(h bootstrap.Hold) {
	w := o.w
	switch {
	case w.chance("hold-failed", 0.1):
		o.fail("hold")
		return
	case w.chance("crash-while-holding", 0.08):
		if w.rng.IntN(2) == 0 {
			o.held(h)
		}
		o.succeed(w.rng.Int64N(3_000))
		return
	}
	o.held(h)
	if w.chance("hold-answer-lost", 0.08) {
		o.fail("hold: no answer")
		return
	}
	o.took(o.p.Held())
}

// held makes a hold durable.
func (o *owner) held(h bootstrap.Hold) {
	c := o.s.cursors[o.r]
	if c == nil {
		c = &cursor{generation: 1}
		o.s.cursors[o.r] = c
	}
	if c.hold == nil { // the first one counts: an answer that was lost makes no later one
		c.hold = &h
	}
	c.next = o.s.first()
}

// readLog reads policy and ledgers, and hands them over a little later.
func (o *owner) readLog() {
	w := o.w
	if c := o.s.cursors[o.r]; c == nil || c.hold == nil || o.s.at(c.next) != o.s.first() {
		w.fail(check.UnknownStart, "%s reads the log without a hold at its start", o)
		return
	}
	if w.chance("read-failed", 0.15) {
		o.fail("store")
		return
	}
	o.seen, o.read = o.s.snapshot(), o.s.record()
	o.choice = bootstrap.Choose(bootstrap.Policy{Remote: w.remotes[o.r].name, Topic: w.topic, Namespace: w.namespace,
		ReplicationStartAt: w.ordinary})
	o.later(40, func() { o.took(o.p.Read(w.now, o.choice, o.read)) })
}

// search finds the first entry of a time in a range of one ledger.
func (o *owner) search(t bootstrap.Task) {
	if o.w.chance("search-failed", 0.2) {
		o.fail("bookie")
		return
	}
	at, ok := o.s.find(t.Search, t.Millis)
	if !ok { // evicted meanwhile
		o.fail("no such ledger")
		return
	}
	o.took(o.p.Found(o.w.now, at))
}

// find returns the first entry of a range that was published then or later.
func (s *segment) find(r bootstrap.Search, millis int64) (entry.Position, bool) {
	at := r.First
	for ; at.Compare(r.Last) <= 0; at.Entry++ {
		e := s.item(at)
		if e == nil {
			return at, false
		}
		if e.millis >= millis {
			break
		}
	}
	return at, true
}

// place makes a plan durable in steps; between any two of them the owner may die.
func (o *owner) place(p *bootstrap.Plan) {
	w := o.w
	if w.chance("place-failed", 0.1) {
		o.fail("cursor")
		return
	}
	steps := 3
	if w.chance("crash-while-placing", 0.12) {
		steps = w.rng.IntN(3)
	}
	c := o.s.cursors[o.r]
	if steps > 0 {
		c.plan = p
		o.s.decide(o.r, o.seen, p)
	}
	if steps > 1 {
		c.next = o.s.at(p.Start)
	}
	if steps < 3 {
		o.succeed(w.rng.Int64N(3_000))
		return
	}
	if w.chance("place-answer-lost", 0.08) {
		o.fail("cursor: no answer")
		return
	}
	c.hold = nil
	o.took(o.p.Placed())
}
