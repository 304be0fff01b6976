// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import "georep/core/window"

// gateBox is a gate with the list that its questions are collected in.
type gateBox struct {
	*window.Gate
	asks []uint64
}

var gates = table[*machine[*gateBox]]{kind: 4}

//export georep_gate_new
func georep_gate_new(segment C.uint64_t, out *C.georep_gate, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		return create(&gates, out, &gateBox{Gate: window.NewGate(uint64(segment))})
	})
}

//export georep_gate_free
func georep_gate_free(h C.georep_gate) status {
	return fenced(nil, func() error { return discard(&gates, uint64(h)) })
}

//export georep_gate_layout
func georep_gate_layout(h C.georep_gate, l C.georep_layout, e *errText) status {
	return fenced(e, func() error {
		source, err := layouts.get(uint64(l))
		if err != nil {
			return err
		}
		return with(&gates, uint64(h), func(g *gateBox) error {
			g.Layout(source)
			return nil
		})
	})
}

//export georep_gate_backlog
func georep_gate_backlog(h C.georep_gate, segment C.uint64_t, sealedWhenRead C.uint32_t, backlog C.int64_t, found C.uint32_t) status {
	return fenced(nil, func() error {
		return with(&gates, uint64(h), func(g *gateBox) error {
			if found != 0 && backlog < 0 {
				return bad(C.GEOREP_E_ARG, "backlog %d", int64(backlog))
			}
			g.Backlog(uint64(segment), sealedWhenRead != 0, int64(backlog), found != 0)
			return nil
		})
	})
}

//export georep_gate_ask
func georep_gate_ask(h C.georep_gate, segments *C.uint64_t, capacity C.uint32_t, n *C.uint32_t) status {
	return fenced(nil, func() error {
		return with(&gates, uint64(h), func(g *gateBox) error {
			dst, err := items("segments", segments, capacity)
			if err != nil {
				return err
			}
			if n == nil {
				return bad(C.GEOREP_E_ARG, "n: null")
			}
			g.asks = g.Ask(g.asks[:0])
			*n = C.uint32_t(len(g.asks))
			for i := range min(len(dst), len(g.asks)) {
				dst[i] = C.uint64_t(g.asks[i])
			}
			if len(g.asks) > len(dst) {
				return bad(C.GEOREP_E_SPACE, "%d segments", len(g.asks))
			}
			return nil
		})
	})
}

//export georep_gate_open
func georep_gate_open(h C.georep_gate, open *C.uint32_t) status {
	return fenced(nil, func() error {
		if open == nil {
			return bad(C.GEOREP_E_ARG, "open: null")
		}
		return with(&gates, uint64(h), func(g *gateBox) error {
			*open = 0
			if g.Open() {
				*open = 1
			}
			return nil
		})
	})
}
