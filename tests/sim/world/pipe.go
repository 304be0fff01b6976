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

// sealedReceipt is the error TopicTerminated; the driver makes two calls of it.
const sealedReceipt window.Outcome = 200

// outgoing is one publish, as the client holds it until its receipt.
type outgoing struct {
	id      uint64
	r       *replicator
	src     *segment
	sender  *check.Sender
	wire    []byte
	sent    check.Sent
	pos     entry.Position
	part    int64
	path    placement.Action
	exposed bool // a connection that the server accepted carried it
}

// conn is a client's producer on one destination segment; it outlives pipes.
type conn struct {
	r       *replicator
	s       *server
	pending []*outgoing // without a receipt, in order
	pipe    *pipe
	closed  bool
}

// pipe is one connection of a producer. Server and client see its end apart.
type pipe struct {
	c       *conn
	s       *server
	open    bool        // the server reads it
	lost    bool        // the client does not
	queue   []*outgoing // not read by the server yet
	receive int64       // time of the last receipt: they keep their order
}

// send queues a publish, and connects where there is no connection.
func (c *conn) send(o *outgoing) {
	c.pending = append(c.pending, o)
	if c.pipe == nil {
		c.connect()
		return
	}
	if c.pipe.open {
		c.pipe.carry(o)
	}
}

func (p *pipe) carry(o *outgoing) {
	o.exposed = true
	p.queue = append(p.queue, o)
	p.s.w.after(p.s.w.delay(8), p.read)
}

// read lets the server take the next publish.
func (p *pipe) read() {
	if !p.open || len(p.queue) == 0 || p.s.r.dead {
		return
	}
	o := p.queue[0]
	p.queue = p.queue[1:]
	if p.lost {
		p.s.w.plan.Hit(faults.OldArrives)
	}
	p.s.take(p, o)
}

// connect opens a new pipe after a while. The server drops the producer of the
// same name that it has; until then that one may still deliver.
func (c *conn) connect() {
	w := c.r.w
	p := &pipe{c: c, s: c.s}
	c.pipe = p
	w.after(1+w.delay(10), p.accept)
}

// accept is the server's side of connect. A dead one keeps the client waiting.
func (p *pipe) accept() {
	c := p.c
	if c.pipe != p || c.closed {
		return
	}
	switch {
	case c.s.dest.Pruned || c.s.r.down || c.r.instance != c.s.r.instance:
		c.fail(window.Refused)
		return
	case c.s.r.dead:
		c.r.w.after(20, p.accept)
		return
	case c.s.sealed:
		c.sealed(nil)
		return
	}
	c.s.load()
	if old := c.s.producers[c.r.seg.info.ID]; old != nil {
		old.close()
	}
	c.s.producers[c.r.seg.info.ID] = p
	p.open = true
	for _, o := range c.pending {
		p.carry(o)
	}
}

// close ends the pipe on the server's side: what it has not read is gone.
func (p *pipe) close() {
	if p.open {
		p.open = false
		p.queue = nil
	}
}

// receipt sends an answer to the client, behind the earlier ones.
func (p *pipe) receipt(o *outgoing, out window.Outcome) {
	w := p.s.w
	p.receive = max(p.receive, w.now+w.delay(6))
	w.atTime(p.receive, func() {
		if p.lost || p.c.pipe != p || p.c.closed || p.s.r.dead {
			return
		}
		p.c.answered(o, out)
	})
}

// answered gives the window the outcome of o, and after an error of the rest.
func (c *conn) answered(o *outgoing, out window.Outcome) {
	i := slices.Index(c.pending, o)
	if i < 0 {
		return
	}
	if out == sealedReceipt {
		c.sealed(o)
		return
	}
	c.pending = slices.Delete(c.pending, i, i+1)
	if out == window.Acked || out == window.Duplicate {
		c.r.outcome(o, out)
		return
	}
	c.drop()
	c.r.outcome(o, out)
	c.rest(window.Refused)
}

// receipt gives the window the outcome of o alone.
func (c *conn) receipt(o *outgoing, out window.Outcome) {
	if i := slices.Index(c.pending, o); i >= 0 {
		c.pending = slices.Delete(c.pending, i, i+1)
		c.r.outcome(o, out)
	}
}

// drop takes the connection away from the client.
func (c *conn) drop() {
	c.closed = true
	if c.pipe != nil {
		c.pipe.lost = true
	}
	c.r.conns = slices.DeleteFunc(c.r.conns, func(o *conn) bool { return o == c })
}

// rest gives every pending publish an outcome: quiet where the server can not
// have seen it, else unknown.
func (c *conn) rest(quiet window.Outcome) {
	pending := c.pending
	c.pending = nil
	for _, o := range pending {
		if o.exposed || c.r.w.rng.IntN(4) > 0 { // an earlier owner may have stored it
			c.r.outcome(o, window.Unknown)
		} else {
			c.r.outcome(o, quiet)
		}
	}
}

func (c *conn) fail(quiet window.Outcome) {
	c.drop()
	c.rest(quiet)
}

// sealed tells the window that the segment is terminated. It resolves the sends
// by the watermark; outcomes that come first are as good.
func (c *conn) sealed(o *outgoing) {
	c.drop()
	c.r.event()
	c.r.win.SegmentSealed(c.s.dest.Seg.ID)
	if o != nil {
		if i := slices.Index(c.pending, o); i >= 0 {
			c.pending = slices.Delete(c.pending, i, i+1)
			c.r.outcome(o, window.Refused)
		}
	}
	c.rest(window.Refused)
	c.r.wake()
}

// clientNotices ends the pipe on the client's side after a while.
func (p *pipe) clientNotices() {
	w := p.s.w
	w.after(w.delay(5), func() {
		if p.c.pipe == p && !p.c.closed {
			p.c.broken()
		}
	})
}

// broken is what a client does when its connection is gone: it tells the
// replicator. It never sends again by itself: a receipt would not say for which try.
func (c *conn) broken() {
	if len(c.pending) > 0 {
		c.r.w.plan.Hit(faults.LostReceipt)
	}
	c.fail(window.Refused)
}
