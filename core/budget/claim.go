// SPDX-License-Identifier: Apache-2.0

package budget

import "georep/core/internal/mutant"

// claim is one key's request: waiting, or holding a slot.
type claim struct {
	key     Key
	bytes   int64
	ticket  uint64
	remote  *remote
	granted bool
	gone    bool // cancelled; its queue entry is skipped
}

// remote is what one remote cluster holds and waits for.
type remote struct {
	id       uint32
	inFlight int64 // charged by the driver
	reserved int64 // bytes of operations that hold a slot
	waiting  int
	holding  int
	queue    []*claim // in ticket order, cancelled ones included
}

// head returns the first live claim; the queue must hold one.
func (r *remote) head() *claim {
	for r.queue[0].gone {
		r.queue = r.queue[1:]
	}
	return r.queue[0]
}

func (r *remote) used() int64 { return r.inFlight + r.reserved }

func (b *Budget) remote(id uint32) *remote {
	r := b.byID[id]
	if r == nil {
		r = &remote{id: id}
		b.byID[id] = r
		b.remotes = append(b.remotes, r)
	}
	return r
}

// drop forgets a remote that holds nothing, so that memory follows use.
func (b *Budget) drop(r *remote) {
	if r.used() != 0 || r.waiting != 0 || r.holding != 0 {
		return
	}
	delete(b.byID, r.id)
	for i, o := range b.remotes {
		if o == r {
			b.remotes = append(b.remotes[:i], b.remotes[i+1:]...)
			return
		}
	}
}

// full says whether the remote gets no further operation now.
func (b *Budget) full(r *remote) bool {
	if mutant.On(mutant.CapIgnored) {
		return false
	}
	if r.used() == 0 {
		return false
	}
	return r.used() >= b.c.InFlightBytesPerRemote || b.total >= b.c.InFlightBytes
}

// next returns the remote whose head has the lowest ticket among those below
// their cap, or nil.
func (b *Budget) next() *remote {
	var best *remote
	for _, r := range b.remotes {
		if r.waiting == 0 || b.full(r) {
			continue
		}
		if best == nil || r.head().ticket < best.head().ticket {
			best = r
		}
	}
	return best
}

// Request queues one operation of the given decompressed bytes (negative
// counts as 0). A key has at most one: a second call while the first waits or
// holds its slot changes nothing.
func (b *Budget) Request(k Key, remoteID uint32, bytes int64) {
	if b.keys[k] != nil {
		return
	}
	b.ticket++
	r := b.remote(remoteID)
	c := &claim{key: k, bytes: min(max(bytes, 0), maxBytes), ticket: b.ticket, remote: r}
	b.keys[k] = c
	r.queue = append(r.queue, c)
	r.waiting++
}

// Return hands the key's slot back, or cancels its waiting request. A key
// without either is ignored, so every exit may call it.
func (b *Budget) Return(k Key) {
	c := b.keys[k]
	if c == nil {
		return
	}
	delete(b.keys, k)
	r := c.remote
	if c.granted {
		b.held--
		r.holding--
		r.reserved -= c.bytes
		b.total -= c.bytes
	} else {
		c.gone = true
		r.waiting--
		r.compact()
	}
	b.drop(r)
}

// compact removes cancelled claims once they are the larger half, so that a
// queue is bounded by twice what waits.
func (r *remote) compact() {
	if len(r.queue) <= 2*r.waiting+8 {
		return
	}
	live := make([]*claim, 0, r.waiting)
	for _, c := range r.queue {
		if !c.gone {
			live = append(live, c)
		}
	}
	r.queue = live
}

// Granted serves what can be served now and appends the keys to dst in order.
// A granted key holds a slot until Return.
func (b *Budget) Granted(dst []Key) []Key {
	for b.held < b.c.Slots {
		r := b.next()
		if r == nil {
			break
		}
		c := r.head()
		if b.tokens < b.need(c) {
			break
		}
		r.queue = r.queue[1:]
		r.waiting--
		c.granted = true
		b.tokens -= c.bytes
		b.held++
		r.holding++
		r.reserved += c.bytes
		b.total += c.bytes
		b.stats.Grants++
		b.stats.GrantedBytes += c.bytes
		if b.tokens < 0 {
			b.stats.Debts++
		}
		dst = append(dst, c.key)
	}
	return dst
}

// Charge adds bytes that are in flight to the remote: parts and verbatim
// entries handed to a producer and not yet released.
func (b *Budget) Charge(remoteID uint32, bytes int64) {
	if bytes <= 0 {
		return
	}
	b.remote(remoteID).inFlight += bytes
	b.total += bytes
}

// Uncharge takes them back. More than was charged is clamped and counted in
// Stats.Miscounted.
func (b *Budget) Uncharge(remoteID uint32, bytes int64) {
	if bytes <= 0 {
		return
	}
	r := b.byID[remoteID]
	if r == nil {
		b.stats.Miscounted++
		return
	}
	if bytes > r.inFlight {
		b.stats.Miscounted++
		bytes = r.inFlight
	}
	r.inFlight -= bytes
	b.total -= bytes
	b.drop(r)
}

// Room returns the bytes that the remote may still put in flight: what is
// left of both caps, never negative, and at least 1 for a remote with nothing
// in flight, so that no remote waits for another's acknowledgements alone.
func (b *Budget) Room(remoteID uint32) int64 {
	var used int64
	if r := b.byID[remoteID]; r != nil {
		used = r.used()
	}
	room := max(min(b.c.InFlightBytesPerRemote-used, b.c.InFlightBytes-b.total), 0)
	if used == 0 {
		room = max(room, 1)
	}
	return room
}

// Stats is a copy of the counters and gauges; bytes are decompressed for
// tokens and wire bytes for what was charged.
type Stats struct {
	Grants, Debts, Miscounted uint64
	GrantedBytes              int64
	Waiting, Held, Remotes    int
	Tokens, InFlight          int64
}

// Stats returns the counters since New and the present gauges.
func (b *Budget) Stats() Stats {
	s := b.stats
	s.Held, s.Remotes, s.Tokens, s.InFlight = b.held, len(b.remotes), b.tokens, b.total
	for _, r := range b.remotes {
		s.Waiting += r.waiting
	}
	return s
}
