// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"unsafe"

	"georep/core/budget"
	"georep/core/control"
	"georep/core/pb"
)

// budgetBox is a budget with what its exports need besides: the configuration
// for status, and grants that did not fit the caller's array.
type budgetBox struct {
	*budget.Budget
	config  *pb.BudgetConfig
	granted []budget.Key
}

var budgets = table[*machine[*budgetBox]]{kind: 2}

//export georep_budget_new
func georep_budget_new(config unsafe.Pointer, n C.uint32_t, out *C.georep_budget, e *errText) status {
	return fenced(e, func() error {
		if out == nil {
			return bad(C.GEOREP_E_ARG, "out: null")
		}
		c := new(pb.BudgetConfig)
		if err := message("config", config, n, c); err != nil {
			return err
		}
		b, err := budget.New(control.BudgetConfig(c))
		if err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
		return create(&budgets, out, &budgetBox{Budget: b, config: c})
	})
}

//export georep_budget_free
func georep_budget_free(h C.georep_budget) status {
	return fenced(nil, func() error { return discard(&budgets, uint64(h)) })
}

//export georep_budget_request
func georep_budget_request(h C.georep_budget, key C.uint64_t, remote C.uint32_t, bytes C.int64_t) status {
	return onBudget(h, func(b *budgetBox) error {
		b.Request(budget.Key(key), uint32(remote), int64(bytes))
		return nil
	})
}

//export georep_budget_return
func georep_budget_return(h C.georep_budget, key C.uint64_t) status {
	return onBudget(h, func(b *budgetBox) error {
		b.Return(budget.Key(key))
		return nil
	})
}

// countBytes takes a number of bytes that must not be negative to one of the budget's gauges.
func countBytes(h C.georep_budget, remote C.uint32_t, bytes C.int64_t, gauge func(*budget.Budget, uint32, int64)) status {
	return onBudget(h, func(b *budgetBox) error {
		if bytes < 0 {
			return bad(C.GEOREP_E_ARG, "bytes: %d", int64(bytes))
		}
		gauge(b.Budget, uint32(remote), int64(bytes))
		return nil
	})
}

//export georep_budget_charge
func georep_budget_charge(h C.georep_budget, remote C.uint32_t, bytes C.int64_t) status {
	return countBytes(h, remote, bytes, (*budget.Budget).Charge)
}

//export georep_budget_uncharge
func georep_budget_uncharge(h C.georep_budget, remote C.uint32_t, bytes C.int64_t) status {
	return countBytes(h, remote, bytes, (*budget.Budget).Uncharge)
}

//export georep_budget_hold
func georep_budget_hold(h C.georep_budget, remote C.uint32_t, bytes C.int64_t) status {
	return countBytes(h, remote, bytes, (*budget.Budget).Hold)
}

//export georep_budget_unhold
func georep_budget_unhold(h C.georep_budget, remote C.uint32_t, bytes C.int64_t) status {
	return countBytes(h, remote, bytes, (*budget.Budget).Unhold)
}

//export georep_budget_room
func georep_budget_room(h C.georep_budget, remote C.uint32_t, bytes *C.int64_t) status {
	return onBudget(h, func(b *budgetBox) error {
		if bytes == nil {
			return bad(C.GEOREP_E_ARG, "bytes: null")
		}
		*bytes = C.int64_t(b.Room(uint32(remote)))
		return nil
	})
}

//export georep_budget_advance
func georep_budget_advance(h C.georep_budget, now C.int64_t) status {
	return onBudget(h, func(b *budgetBox) error {
		b.Advance(int64(now))
		return nil
	})
}

//export georep_budget_granted
func georep_budget_granted(h C.georep_budget, keys *C.uint64_t, capacity C.uint32_t, n *C.uint32_t, wake *C.int64_t) status {
	return onBudget(h, func(b *budgetBox) error {
		dst, err := items("keys", keys, capacity)
		if err != nil {
			return err
		}
		if n == nil {
			return bad(C.GEOREP_E_ARG, "n: null")
		}
		b.granted = b.Granted(b.granted)
		i := 0
		for ; i < len(dst) && i < len(b.granted); i++ {
			dst[i] = C.uint64_t(b.granted[i])
		}
		b.granted = b.granted[:copy(b.granted, b.granted[i:])]
		*n = C.uint32_t(i)
		if wake != nil {
			*wake = C.int64_t(b.NextWakeNanos())
		}
		return nil
	})
}

//export georep_budget_status
func georep_budget_status(h C.georep_budget, out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		return with(&budgets, uint64(h), func(b *budgetBox) error {
			return giveMessage(control.BudgetStatus(b.config, b.Stats()), out, capacity, size)
		})
	})
}

func onBudget(h C.georep_budget, f func(b *budgetBox) error) status {
	return fenced(nil, func() error { return with(&budgets, uint64(h), f) })
}
