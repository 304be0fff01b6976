// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"unsafe"

	"georep/core/control"
	"georep/core/pb"
	"georep/core/window"
)

// windowBox is a window with the list that its actions are drained into.
type windowBox struct {
	*window.Window
	actions []window.Action
}

var windows = table[*machine[*windowBox]]{kind: 3}

// maxInstanceBytes bounds the id of a topic's life; Georep's own have 32 characters.
const maxInstanceBytes = 256

//export georep_window_new
func georep_window_new(config unsafe.Pointer, n C.uint32_t, out *C.georep_window, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		m := new(pb.WindowConfig)
		if err := message("config", config, n, m); err != nil {
			return err
		}
		c, err := control.WindowConfig(m)
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		inUse.Store(true)
		l := caps.Load()
		c.MaxEntryBytes = capped(c.MaxEntryBytes, l.entry)
		c.MaxDecompressed = capped(c.MaxDecompressed, l.decompressed)
		c.MaxMessages = capped(c.MaxMessages, l.messages)
		w, err := window.New(c)
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		return create(&windows, out, &windowBox{Window: w})
	})
}

// capped returns a window's own limit, which can not be above the process's.
func capped(own, process int) int {
	if own <= 0 {
		return process
	}
	return min(own, process)
}

//export georep_window_free
func georep_window_free(h C.georep_window) status {
	return fenced(nil, func() error { return discard(&windows, uint64(h)) })
}

//export georep_window_remote_instance
func georep_window_remote_instance(h C.georep_window, id unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		text, err := view("id", id, uint64(n), maxInstanceBytes)
		if err != nil {
			return err
		}
		return with(&windows, uint64(h), func(b *windowBox) error {
			b.RemoteInstance(string(text))
			return nil
		})
	})
}

//export georep_window_set_remote
func georep_window_set_remote(h C.georep_window, l C.georep_layout, maxMessageBytes C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		remote, err := layouts.get(uint64(l))
		if err != nil {
			return err
		}
		return with(&windows, uint64(h), func(b *windowBox) error {
			return withCode(C.GEOREP_E_ARG, b.SetRemote(remote, int(maxMessageBytes)))
		})
	})
}

//export georep_window_step
func georep_window_step(h C.georep_window, events *C.georep_event, nEvents C.uint32_t, arena unsafe.Pointer,
	arenaCap C.uint64_t, actions *C.georep_action, actionsCap C.uint32_t, nActions *C.uint32_t, arenaUsed,
	needed *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&windows, uint64(h), func(b *windowBox) error {
			evs, err := items("events", events, nEvents)
			if err != nil {
				return err
			}
			acts, err := items("actions", actions, actionsCap)
			if err != nil {
				return err
			}
			mem, err := output("arena", arena, uint64(arenaCap))
			if err != nil {
				return err
			}
			if nActions == nil || arenaUsed == nil || needed == nil {
				return bad(C.GEOREP_E_ARG, "n_actions, arena_used or needed: null")
			}
			*nActions, *arenaUsed, *needed = 0, 0, 0
			refused := b.apply(evs)
			n, used, more := b.drain(acts, mem)
			*nActions, *arenaUsed, *needed = C.uint32_t(n), C.uint64_t(used), C.uint64_t(more)
			return refused
		})
	})
}

// drain fills the caller's actions. Addresses in them point into the arena or
// into borrowed entries, both of them the caller's memory.
func (b *windowBox) drain(dst []C.georep_action, arena []byte) (n, used, needed int) {
	if len(dst) == 0 {
		return 0, 0, 0
	}
	if cap(b.actions) < len(dst) {
		b.actions = make([]window.Action, 0, len(dst))
	}
	acts, mem, needed := b.Ready(b.actions[:0:len(dst)], arena)
	for i := range acts {
		fillAction(&dst[i], &acts[i])
	}
	clear(acts) // no references to the caller's memory are kept here
	return len(acts), len(mem), needed
}

func fillAction(dst *C.georep_action, a *window.Action) {
	*dst = C.georep_action{
		kind:     C.uint32_t(a.Kind),
		path:     C.uint32_t(a.Path),
		reason:   C.uint32_t(a.Reason),
		bucket:   C.int32_t(a.Bucket),
		send_id:  C.uint64_t(a.SendID),
		segment:  C.uint64_t(a.Segment),
		ledger:   C.int64_t(a.Position.Ledger),
		entry:    C.int64_t(a.Position.Entry),
		part:     C.int64_t(a.Part),
		bytes:    C.int64_t(a.Bytes),
		messages: C.uint32_t(a.Messages),
	}
	if a.Kind != window.Send {
		dst.bucket = -1
	}
	dst.header_addr, dst.header_len = span(a.Header)
	dst.payload_addr, dst.payload_len = span(a.Payload)
	if a.Passed {
		dst.bytes = 1
	}
	if a.Kind == window.AskSchema {
		dst.payload_addr, dst.payload_len = span(a.Version)
	}
}

// span returns the address and length of memory that belongs to the caller.
func span(b []byte) (C.uint64_t, C.uint32_t) {
	if len(b) == 0 {
		return 0, 0
	}
	return C.uint64_t(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), C.uint32_t(len(b))
}

//export georep_window_want
func georep_window_want(h C.georep_window, entries *C.uint32_t, bytes *C.uint64_t) status {
	return fenced(nil, func() error {
		if entries == nil || bytes == nil {
			return bad(C.GEOREP_E_ARG, "entries or bytes: null")
		}
		return with(&windows, uint64(h), func(b *windowBox) error {
			n, size := b.Want()
			*entries, *bytes = C.uint32_t(max(0, n)), C.uint64_t(max(0, size))
			return nil
		})
	})
}

//export georep_window_status
func georep_window_status(h C.georep_window, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&windows, uint64(h), func(b *windowBox) error {
			return giveMessage(control.WindowStatus(b.Status(), b.Counters()), out, capacity, size)
		})
	})
}
