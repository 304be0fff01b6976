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

	"georep/core/control"
	"georep/core/exchange"
	"georep/core/pb"
)

// exchangeBox is a machine with the result that did not fit the caller's memory.
type exchangeBox struct {
	*control.Exchange
	result []byte // nil: none is kept
}

var exchanges = table[*machine[*exchangeBox]]{kind: 7}

//export georep_exchange_new
func georep_exchange_new(config unsafe.Pointer, n C.uint32_t, out *C.georep_exchange, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		c := new(pb.ExchangeConfig)
		if err := message("config", config, n, c); err != nil {
			return err
		}
		m, err := control.NewExchange(c)
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		return create(&exchanges, out, &exchangeBox{Exchange: m})
	})
}

//export georep_exchange_free
func georep_exchange_free(h C.georep_exchange) status {
	return fenced(nil, func() error { return discard(&exchanges, uint64(h)) })
}

//export georep_exchange_step
func georep_exchange_step(h C.georep_exchange, event unsafe.Pointer, n C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		ev := new(pb.ExchangeEvent)
		if err := message("event", event, n, ev); err != nil {
			return err
		}
		return with(&exchanges, uint64(h), func(x *exchangeBox) error {
			err := x.Step(ev)
			if errors.Is(err, exchange.ErrBusy) {
				return withCode(C.GEOREP_E_STATE, err)
			}
			return withCode(C.GEOREP_E_FORMAT, err)
		})
	})
}

//export georep_exchange_ready
func georep_exchange_ready(h C.georep_exchange, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t,
	e *errText) status {
	return fenced(e, func() error {
		return with(&exchanges, uint64(h), func(x *exchangeBox) error {
			return giveOnce(&x.result, x.Ready, out, capacity, size)
		})
	})
}

//export georep_exchange_status
func georep_exchange_status(h C.georep_exchange, now C.int64_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&exchanges, uint64(h), func(x *exchangeBox) error {
			return giveMessage(x.Status(int64(now)), out, capacity, size)
		})
	})
}
