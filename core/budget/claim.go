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
	held     int64 // read, and held by the driver
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
	if r.used() != 0 || r.held != 0 || r.waiting != 0 || r.holding != 0 {
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

// Charge adds bytes that are in flight to the remote: payloads, verbatim or
// parts, that were handed to a producer and have no outcome yet.
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
	if r, n := b.taken(remoteID, bytes, func(r *remote) *int64 { return &r.inFlight }); r != nil {
		b.total -= n
		b.drop(r)
	}
}

// Hold adds bytes of entries that were read for the remote and are not released
// yet. They bound further reading (Room) and never a slot: what is read and
// waits for a slot must be able to get one.
func (b *Budget) Hold(remoteID uint32, bytes int64) {
	if bytes <= 0 {
		return
	}
	b.remote(remoteID).held += bytes
	b.heldBytes += bytes
}

// Unhold takes them back, clamped and counted like Uncharge.
func (b *Budget) Unhold(remoteID uint32, bytes int64) {
	if r, n := b.taken(remoteID, bytes, func(r *remote) *int64 { return &r.held }); r != nil {
		b.heldBytes -= n
		b.drop(r)
	}
}

// taken subtracts bytes from one gauge of a remote and returns how many there were.
func (b *Budget) taken(remoteID uint32, bytes int64, gauge func(*remote) *int64) (*remote, int64) {
	if bytes <= 0 {
		return nil, 0
	}
	r := b.byID[remoteID]
	if r == nil {
		b.stats.Miscounted++
		return nil, 0
	}
	g := gauge(r)
	if bytes > *g {
		b.stats.Miscounted++
		bytes = *g
	}
	*g -= bytes
	return r, bytes
}

// Room returns the bytes that may still be read for the remote: what is left of
// both caps, for what is held and for what is in flight, never negative, and at
// least 1 for a remote with nothing of either, so that no remote waits for
// another's acknowledgements alone.
func (b *Budget) Room(remoteID uint32) int64 {
	var used, held int64
	if r := b.byID[remoteID]; r != nil {
		used, held = r.used(), r.held
	}
	room := min(b.c.InFlightBytesPerRemote-max(used, held), b.c.InFlightBytes-max(b.total, b.heldBytes))
	if used == 0 && held == 0 {
		return max(room, 1)
	}
	return max(room, 0)
}

// Stats is a copy of the counters and gauges; bytes are decompressed for
// tokens and wire bytes for what was charged.
type Stats struct {
	Grants, Debts, Miscounted uint64
	GrantedBytes              int64
	Waiting, Held, Remotes    int
	Tokens, InFlight, Read    int64 // Read: bytes held by entries read
}

// Stats returns the counters since New and the present gauges.
func (b *Budget) Stats() Stats {
	s := b.stats
	s.Held, s.Remotes, s.Tokens, s.InFlight, s.Read = b.held, len(b.remotes), b.tokens, b.total, b.heldBytes
	for _, r := range b.remotes {
		s.Waiting += r.waiting
	}
	return s
}
