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
)

// Caps of single calls. Everything that is allocated in proportion to an
// argument is checked against one of them first.
const (
	maxControlBytes = control.MaxBytes // one JSON text or message
	maxSnapshot     = 256 << 20        // of a dedup table
	maxOutBytes     = 1 << 40          // an arena or output buffer, as claimed
	maxCallItems    = 1 << 16          // entries, events, actions or parts of one call
	maxStructSize   = 4096             // of an option struct
	maxNameBytes    = 64 << 10         // a cluster, topic or message name
	maxMaskBytes    = 1 << 20          // a bit for each message
)

// addr turns an address that came in a struct into a pointer.
func addr(a C.uint64_t) unsafe.Pointer {
	u := uintptr(a)
	return *(*unsafe.Pointer)(unsafe.Pointer(&u))
}

// view returns the caller's n bytes at p: not copied, valid during the call.
func view(what string, p unsafe.Pointer, n, limit uint64) ([]byte, error) {
	switch {
	case n == 0:
		return nil, nil
	case p == nil:
		return nil, bad(C.GEOREP_E_ARG, "%s: null address with length %d", what, n)
	case n > limit:
		return nil, bad(C.GEOREP_E_LIMIT, "%s: %d bytes, limit %d", what, n, limit)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// viewBytes is view for a georep_bytes.
func viewBytes(what string, b C.georep_bytes, limit uint64) ([]byte, error) {
	return view(what, addr(b.addr), uint64(b.len), limit)
}

// text copies a string argument.
func text(what string, b C.georep_bytes) (string, error) {
	v, err := viewBytes(what, b, maxNameBytes)
	return string(v), err
}

// output returns the caller's output memory with length 0 and capacity n.
func output(what string, p unsafe.Pointer, n uint64) ([]byte, error) {
	v, err := view(what, p, n, maxOutBytes)
	return v[:0:len(v)], err
}

// options copies an option struct: as much as the caller's version has, zero
// for the rest. need is the size of the oldest version.
func options[T any](what string, p *T, need uintptr) (o T, err error) {
	if p == nil {
		return o, bad(C.GEOREP_E_ARG, "%s: null", what)
	}
	n := uintptr(*(*uint32)(unsafe.Pointer(p)))
	if n < need || n > maxStructSize {
		return o, bad(C.GEOREP_E_ABI, "%s: struct_size %d is no version of it", what, n)
	}
	n = min(n, unsafe.Sizeof(o))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&o)), n), unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	return o, nil
}

// items returns the caller's array of n elements.
func items[T any](what string, p *T, n C.uint32_t) ([]T, error) {
	switch {
	case n == 0:
		return nil, nil
	case p == nil:
		return nil, bad(C.GEOREP_E_ARG, "%s: null array with length %d", what, n)
	case n > maxCallItems:
		return nil, bad(C.GEOREP_E_LIMIT, "%s: %d elements, limit %d", what, n, maxCallItems)
	}
	return unsafe.Slice(p, n), nil
}

// give copies a result into the caller's memory, or says how large it is.
func give(b []byte, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t) error {
	if size == nil {
		return bad(C.GEOREP_E_ARG, "len: null")
	}
	*size = C.uint64_t(len(b))
	if uint64(len(b)) > uint64(capacity) {
		return bad(C.GEOREP_E_SPACE, "result of %d bytes, room for %d", len(b), uint64(capacity))
	}
	if len(b) == 0 {
		return nil
	}
	dst, err := view("out", out, uint64(len(b)), maxOutBytes)
	if err != nil {
		return err
	}
	copy(dst, b)
	return nil
}
