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
	"unsafe"

	"google.golang.org/protobuf/proto"

	"georep/core/control"
)

// message parses the caller's protobuf bytes into m.
func message(what string, p unsafe.Pointer, n C.uint32_t, m proto.Message) error {
	b, err := view(what, p, uint64(n), maxControlBytes)
	if err != nil {
		return err
	}
	if err := control.Unmarshal(b, m); err != nil {
		return controlError(fmt.Errorf("%s: %w", what, err))
	}
	return nil
}

// controlError gives an error about a message its status.
func controlError(err error) error {
	if errors.Is(err, control.ErrLimit) {
		return withCode(C.GEOREP_E_LIMIT, err)
	}
	return withCode(C.GEOREP_E_FORMAT, err)
}

// giveMessage writes the bytes of m into the caller's memory.
func giveMessage(m proto.Message, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return withCode(C.GEOREP_E_FORMAT, err)
	}
	return give(b, out, capacity, size)
}

// giveOnce writes what ready returns into the caller's memory; what does not fit is
// kept for the next call, because ready forgets it.
func giveOnce[R proto.Message](kept *[]byte, ready func() (R, error), out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t) error {
	if *kept == nil {
		r, err := ready()
		if err == nil {
			*kept, err = proto.MarshalOptions{Deterministic: true}.Marshal(r)
		}
		if err != nil {
			return withCode(C.GEOREP_E_FORMAT, err)
		}
	}
	if err := give(*kept, out, capacity, size); err != nil {
		return err
	}
	*kept = nil
	return nil
}
