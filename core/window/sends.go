// SPDX-License-Identifier: Apache-2.0

package window

import "slices"

// sendTable finds sends in flight by id. Ids rise by one, and sends end roughly
// in order, so a slice over the live part of the id space serves as the map.
type sendTable struct {
	base  uint64 // id of slots[0]
	slots []*send
	live  int
	free  []*send
}

func (t *sendTable) add() *send {
	var s *send
	if n := len(t.free); n > 0 {
		s, t.free = t.free[n-1], t.free[:n-1]
		*s = send{messages: s.messages[:0]}
	} else {
		s = new(send)
	}
	if t.base == 0 {
		t.base = 1 // 0 names no send
	}
	s.id = t.base + uint64(len(t.slots))
	t.slots = append(t.slots, s)
	t.live++
	return s
}

// last returns the highest id given out, 0 for none.
func (t *sendTable) last() uint64 {
	if t.base == 0 {
		return 0
	}
	return t.base + uint64(len(t.slots)) - 1
}

func (t *sendTable) get(id uint64) *send {
	if id < t.base || id-t.base >= uint64(len(t.slots)) {
		return nil
	}
	return t.slots[id-t.base]
}

func (t *sendTable) remove(s *send) {
	t.slots[s.id-t.base] = nil
	t.live--
	n := 0
	for n < len(t.slots) && t.slots[n] == nil {
		n++
	}
	// Moving the tail down costs its length; wait until at least half is free.
	if n > 64 && n*2 >= len(t.slots) || n == len(t.slots) {
		t.base += uint64(n)
		t.slots = append(t.slots[:0], t.slots[n:]...)
	}
	t.free = append(t.free, s)
}

// flight is the sends on their way to one destination, in the order sent. They
// end roughly in that order, so the first ones leave without the others moving.
type flight struct {
	sends []*send
	head  int // of sends, those that have left
}

func (f *flight) len() int { return len(f.sends) - f.head }

// all returns the sends in order; it aliases f until the next change.
func (f *flight) all() []*send { return f.sends[f.head:] }

func (f *flight) add(s *send) { f.sends = append(f.sends, s) }

func (f *flight) remove(s *send) {
	i := slices.Index(f.all(), s)
	switch {
	case i < 0:
		return
	case i == 0:
		f.sends[f.head] = nil
		f.head++
	default:
		f.sends = slices.Delete(f.sends, f.head+i, f.head+i+1)
	}
	if f.head*2 >= len(f.sends) {
		n := copy(f.sends, f.sends[f.head:])
		clear(f.sends[n:])
		f.sends, f.head = f.sends[:n], 0
	}
}
