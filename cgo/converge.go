// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"georep/core/control"
	"georep/core/layout"
	"georep/core/pb"
)

// convergeBox is a machine with the result that did not fit the caller's memory.
type convergeBox struct {
	*control.Converge
	result []byte // nil: none is kept
}

var converges = table[*machine[*convergeBox]]{kind: 6}

//export georep_converge_new
func georep_converge_new(config unsafe.Pointer, n C.uint32_t, out *C.georep_converge, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		c := new(pb.ConvergeConfig)
		if err := message("config", config, n, c); err != nil {
			return err
		}
		m, err := control.NewConverge(c)
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		return create(&converges, out, &convergeBox{Converge: m})
	})
}

//export georep_converge_free
func georep_converge_free(h C.georep_converge) status {
	return fenced(nil, func() error { return discard(&converges, uint64(h)) })
}

//export georep_converge_step
func georep_converge_step(h C.georep_converge, event unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		ev := new(pb.ConvergeEvent)
		if err := message("event", event, n, ev); err != nil {
			return err
		}
		return with(&converges, uint64(h), func(c *convergeBox) error {
			return withCode(C.GEOREP_E_FORMAT, c.Step(ev))
		})
	})
}

//export georep_converge_ready
func georep_converge_ready(h C.georep_converge, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return fenced(e, func() error {
		return with(&converges, uint64(h), func(c *convergeBox) error {
			return giveOnce(&c.result, c.Ready, out, capacity, size)
		})
	})
}

//export georep_converge_status
func georep_converge_status(h C.georep_converge, now C.int64_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&converges, uint64(h), func(c *convergeBox) error {
			return giveMessage(c.Status(int64(now)), out, capacity, size)
		})
	})
}

//export georep_join
func georep_join(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return answered(request, n, out, capacity, size, e, new(pb.JoinRequest), control.Join)
}

//export georep_plan
func georep_plan(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return answered(request, n, out, capacity, size, e, new(pb.PlanRequest), control.Plan)
}

//export georep_diff
func georep_diff(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return answered(request, n, out, capacity, size, e, new(pb.DiffRequest), control.Diff)
}

// answered reads a request, and writes what f makes of it.
func answered[Q, R proto.Message](request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText, q Q, f func(Q) (R, error)) status {
	return fenced(e, func() error {
		if err := message("request", request, n, q); err != nil {
			return err
		}
		r, err := f(q)
		switch {
		case errors.Is(err, layout.ErrCap):
			return withCode(C.GEOREP_E_LIMIT, err)
		case err != nil:
			return withCode(C.GEOREP_E_FORMAT, err)
		}
		return giveMessage(r, out, capacity, size)
	})
}
