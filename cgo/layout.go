// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"unsafe"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
	"georep/core/peer"
)

// layouts need no lock of their own: a layout never changes.
var layouts = table[*layout.Layout]{kind: 1}

//export georep_layout_new
func georep_layout_new(json unsafe.Pointer, n, profile C.uint32_t, out *C.georep_layout, e *errText) status {
	return fenced(e, func() error {
		b, err := view("json", json, uint64(n), maxControlBytes)
		if err != nil {
			return err
		}
		var p keyhash.Profile // 0: as the record suggests
		if profile != 0 {
			if p, err = profileOf(profile); err != nil {
				return err
			}
		}
		l, err := layout.ParsePulsarAs(b, p)
		return putLayout(l, err, out)
	})
}

//export georep_layout_from_proto
func georep_layout_from_proto(bytes unsafe.Pointer, n C.uint32_t, out *C.georep_layout, e *errText) status {
	return fenced(e, func() error {
		m := new(pb.Layout)
		if err := message("layout", bytes, n, m); err != nil {
			return err
		}
		l, err := peer.ToLayout(m)
		return putLayout(l, err, out)
	})
}

//export georep_layout_from_state
func georep_layout_from_state(bytes unsafe.Pointer, n C.uint32_t, out *C.georep_layout, e *errText) status {
	return fenced(e, func() error {
		m := new(pb.PeerState)
		if err := message("state", bytes, n, m); err != nil {
			return err
		}
		l, err := peer.ToLayout(m.GetLayout())
		return putLayout(l, err, out)
	})
}

func putLayout(l *layout.Layout, err error, out *C.georep_layout) error {
	if err != nil {
		return withCode(C.GEOREP_E_FORMAT, err)
	}
	if out == nil {
		return bad(C.GEOREP_E_ARG, "out: null")
	}
	h, err := layouts.put(l)
	if err == nil {
		*out = C.georep_layout(h)
	}
	return err
}

//export georep_layout_to_proto
func georep_layout_to_proto(h C.georep_layout, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		l, err := layouts.get(uint64(h))
		if err != nil {
			return err
		}
		return giveMessage(peer.FromLayout(l), out, capacity, size)
	})
}

//export georep_layout_free
func georep_layout_free(h C.georep_layout) status {
	return fenced(nil, func() error {
		_, err := layouts.take(uint64(h))
		return err
	})
}
