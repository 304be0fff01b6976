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
)

// bootstrapBox is a machine with the result that did not fit the caller's memory.
type bootstrapBox struct {
	*control.Bootstrap
	result []byte // nil: none is kept
}

var bootstraps = table[*machine[*bootstrapBox]]{kind: 8}

//export georep_bootstrap_new
func georep_bootstrap_new(config unsafe.Pointer, n C.uint32_t, out *C.georep_bootstrap, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		c := new(pb.BootstrapConfig)
		if err := message("config", config, n, c); err != nil {
			return err
		}
		m, err := control.NewBootstrap(c)
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		return create(&bootstraps, out, &bootstrapBox{Bootstrap: m})
	})
}

//export georep_bootstrap_free
func georep_bootstrap_free(h C.georep_bootstrap) status {
	return fenced(nil, func() error { return discard(&bootstraps, uint64(h)) })
}

//export georep_bootstrap_step
func georep_bootstrap_step(h C.georep_bootstrap, event unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		ev := new(pb.BootstrapEvent)
		if err := message("event", event, n, ev); err != nil {
			return err
		}
		return with(&bootstraps, uint64(h), func(b *bootstrapBox) error {
			return withCode(C.GEOREP_E_FORMAT, b.Step(ev))
		})
	})
}

//export georep_bootstrap_ready
func georep_bootstrap_ready(h C.georep_bootstrap, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return fenced(e, func() error {
		return with(&bootstraps, uint64(h), func(b *bootstrapBox) error {
			return giveOnce(&b.result, b.Ready, out, capacity, size)
		})
	})
}

//export georep_bootstrap_status
func georep_bootstrap_status(h C.georep_bootstrap, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return fenced(e, func() error {
		return with(&bootstraps, uint64(h), func(b *bootstrapBox) error {
			return giveMessage(b.Status(), out, capacity, size)
		})
	})
}

//export georep_start_choose
func georep_start_choose(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return answered(request, n, out, capacity, size, e, new(pb.StartQuery), control.ChooseStart)
}

//export georep_reset_plan
func georep_reset_plan(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return answered(request, n, out, capacity, size, e, new(pb.ResetRequest), control.PlanReset)
}
