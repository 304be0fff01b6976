// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
)

// table maps handles to values:
//
//	63           32 31    28 27          0
//	[ generation   |  kind  |    slot    ]
//
// A handle that was freed, or made by another table, finds nothing. get takes
// no lock. Slots come in blocks that are never moved.
type table[T any] struct {
	kind   uint32
	mu     sync.Mutex
	free   []uint32
	used   uint32
	blocks [tableBlocks]atomic.Pointer[block[T]]
}

const (
	blockSlots  = 1024
	tableBlocks = 1024
	slotBits    = 28
)

type block[T any] [blockSlots]atomic.Pointer[owned[T]]

type owned[T any] struct {
	handle uint64
	value  T
}

// generation never repeats before 2^32 handles were made; 0 is left out, so
// that no handle is 0.
var generation atomic.Uint32

func (t *table[T]) put(v T) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint32
	switch {
	case len(t.free) > 0:
		i, t.free = t.free[len(t.free)-1], t.free[:len(t.free)-1]
	case t.used < blockSlots*tableBlocks:
		i = t.used
		t.used++
		if i%blockSlots == 0 {
			t.blocks[i/blockSlots].Store(new(block[T]))
		}
	default:
		return 0, bad(C.GEOREP_E_LIMIT, "%d handles of one kind", t.used)
	}
	g := generation.Add(1)
	if g == 0 {
		g = generation.Add(1)
	}
	h := uint64(g)<<32 | uint64(t.kind)<<slotBits | uint64(i)
	t.slot(i).Store(&owned[T]{h, v})
	return h, nil
}

func (t *table[T]) slot(i uint32) *atomic.Pointer[owned[T]] {
	if i >= blockSlots*tableBlocks {
		return nil
	}
	b := t.blocks[i/blockSlots].Load()
	if b == nil {
		return nil
	}
	return &b[i%blockSlots]
}

func (t *table[T]) get(h uint64) (v T, err error) {
	if s := t.slot(uint32(h) & (1<<slotBits - 1)); s != nil {
		if o := s.Load(); o != nil && o.handle == h {
			return o.value, nil
		}
	}
	return v, bad(C.GEOREP_E_HANDLE, "handle %#x is stale or of another kind", h)
}

// take removes a handle and returns what it stood for.
func (t *table[T]) take(h uint64) (v T, err error) {
	i := uint32(h) & (1<<slotBits - 1)
	if s := t.slot(i); s != nil {
		if o := s.Load(); o != nil && o.handle == h && s.CompareAndSwap(o, nil) {
			t.mu.Lock()
			t.free = append(t.free, i)
			t.mu.Unlock()
			return o.value, nil
		}
	}
	return v, bad(C.GEOREP_E_HANDLE, "handle %#x is stale or of another kind", h)
}

// machine is a state machine behind a handle: one caller at a time, and none
// any more after a panic inside it, because its state can not be trusted then.
type machine[T any] struct {
	mu     sync.Mutex
	broken bool
	closed bool
	m      T
}

// with runs f alone on the machine behind h.
func with[T any](t *table[*machine[T]], h uint64, f func(m T) error) error {
	o, err := t.get(h)
	if err != nil {
		return err
	}
	if err := o.enter(h); err != nil {
		return err
	}
	defer o.leave()
	err = f(o.m)
	o.broken = false
	return err
}

// enter takes the lock; leave gives it back. Between them broken is set, so
// that a panic on the way leaves it set.
func (o *machine[T]) enter(h uint64) error {
	o.mu.Lock()
	switch {
	case o.closed:
		o.mu.Unlock()
		return bad(C.GEOREP_E_HANDLE, "handle %#x was freed", h)
	case o.broken:
		o.mu.Unlock()
		return bad(C.GEOREP_E_STATE, "handle %#x panicked or faulted in an earlier call: free it", h)
	}
	o.broken = true
	return nil
}

func (o *machine[T]) leave() { o.mu.Unlock() }

// create makes a machine's handle.
func create[T any, H ~uint64](t *table[*machine[T]], out *H, m T) error {
	h, err := t.put(&machine[T]{m: m})
	if err != nil {
		return err
	}
	*out = H(h)
	return nil
}

// discard frees a machine's handle; it returns after a call that is inside.
func discard[T any](t *table[*machine[T]], h uint64) error {
	o, err := t.take(h)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var none T
	o.closed, o.m = true, none
	return nil
}
