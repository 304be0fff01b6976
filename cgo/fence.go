// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"unsafe"
)

type (
	status  = C.georep_status
	errText = C.georep_error
)

// statusError is an error that knows its status; see fail.
type statusError struct {
	code status
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// bad returns an error that leaves the library with the given status.
func bad(code status, format string, a ...any) error {
	return &statusError{code, fmt.Errorf(format, a...)}
}

// withCode gives an error of the core its status; nil stays nil.
func withCode(code status, err error) error {
	if err == nil {
		return nil
	}
	return &statusError{code, err}
}

// fenced runs f between the fences: a panic becomes GEOREP_E_PANIC and an
// address that can not be read GEOREP_E_FAULT, because an unrecovered panic
// would end the host's process.
func fenced(e *errText, f func() error) (s status) {
	defer fence(&s, e, debug.SetPanicOnFault(true))
	injected()
	return fail(e, f())
}

// fence ends every export that does not use fenced for speed.
func fence(s *status, e *errText, old bool) {
	if r := recover(); r != nil {
		*s = caught(e, r)
	}
	debug.SetPanicOnFault(old)
}

// caught reports a recovered panic. Writing the text may fault in its turn,
// when the error struct itself is what the caller got wrong.
func caught(e *errText, r any) (s status) {
	s = C.GEOREP_E_PANIC
	defer func() { _ = recover() }()
	if f, ok := r.(interface{ Addr() uintptr }); ok {
		s = C.GEOREP_E_FAULT
		fail(e, bad(s, "address %#x can not be accessed", f.Addr()))
		return s
	}
	fail(e, bad(s, "panic: %v\n%s", r, debug.Stack()))
	return s
}

// fail writes err into the caller's error struct and returns its status.
func fail(e *errText, err error) status {
	if err == nil {
		return C.GEOREP_OK
	}
	code := status(C.GEOREP_E_ARG)
	if se, ok := errors.AsType[*statusError](err); ok {
		code = se.code
	}
	if e == nil || uintptr(e.struct_size) < unsafe.Sizeof(*e) {
		return code
	}
	e.code = C.int32_t(code)
	dst := unsafe.Slice((*byte)(unsafe.Pointer(&e.text[0])), len(e.text))
	text := err.Error()
	n := copy(dst[:len(dst)-1], text)
	for n > 0 && n < len(text) && text[n]&0xc0 == 0x80 { // not in the middle of a character
		n--
	}
	dst[n] = 0
	return code
}
