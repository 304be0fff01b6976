// SPDX-License-Identifier: Apache-2.0

package control

import (
	"georep/core/budget"
	"georep/core/pb"
)

// BudgetConfig returns the machine's configuration; budget.New checks it.
func BudgetConfig(c *pb.BudgetConfig) budget.Config {
	return budget.Config{
		BytesPerSecond:         c.GetBytesPerSecond(),
		BurstBytes:             c.GetBurstBytes(),
		Slots:                  int(c.GetSlots()),
		InFlightBytes:          c.GetInFlightBytes(),
		InFlightBytesPerRemote: c.GetInFlightBytesPerRemote(),
	}
}

// BudgetStatus returns what an operator sees of a budget. config is what the
// budget was made with.
func BudgetStatus(config *pb.BudgetConfig, s budget.Stats) *pb.BudgetStatus {
	return &pb.BudgetStatus{
		Config:        config,
		Tokens:        s.Tokens,
		SlotsInUse:    uint32(max(0, s.Held)),
		Waiting:       uint64(max(0, s.Waiting)),
		InFlightBytes: s.InFlight,
		ReadBytes:     s.Read,
		Counters: []*pb.Counter{
			{Name: "grants", Value: s.Grants},
			{Name: "debts", Value: s.Debts},
			{Name: "grantedBytes", Value: uint64(max(0, s.GrantedBytes))},
			{Name: "miscounted", Value: s.Miscounted},
		},
	}
}
