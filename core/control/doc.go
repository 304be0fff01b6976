// SPDX-License-Identifier: Apache-2.0

// Package control turns the messages of georep.proto into the machines' own
// configurations, and the machines' snapshots into messages.
//
//	WindowConfig ─► window.Config      window.Status   ─► WindowStatus
//	BudgetConfig ─► budget.Config      budget.Stats    ─► BudgetStatus
//	OriginKey    ◄► dedup.Key          dedup.Table     ─► DedupStatus
//
// It also finds messages by name for conversion to and from proto3 JSON. All
// functions are pure and may be called from any thread.
package control
