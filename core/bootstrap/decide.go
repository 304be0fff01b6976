// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "fmt"

// Unknown is an offset that could not be found out.
const Unknown int64 = -1

// Action says what becomes of a remote that has no position yet.
type Action uint8

// Actions.
const (
	Keep          Action = 1 // it has a position: leave it
	Ordinary      Action = 2 // the rule does not apply: the ordinary start policy decides
	Start         Action = 3 // start at Decision.At, what is before it is skipped
	StartAllKept  Action = 4 // P lies before the log start: everything that is left, from the log start
	Retry         Action = 5 // not known yet: hold a cursor at the log start, and ask again
	actionsBeyond Action = 6
)

var actionNames = [...]string{"", "keep", "ordinary-policy", "start", "truncate-and-start", "retry"}

// String returns the name in kebab case.
func (a Action) String() string {
	if a < actionsBeyond {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Facts are what the decision is made from. Offsets are the log's own, any unit
// that is ordered; intervals are half-open.
type Facts struct {
	HasPosition bool // the remote's cursor was placed before
	Enabled     bool // the rule is asked for
	Compacted   bool // the topic is compacted: offsets do not say what is left
	LogStart    int64
	LocalStart  int64 // the first offset that bookkeeper still has
	Pending     int64 // earliest pending offload, or Unknown
	LogEnd      int64
}

// Decision is the answer. Skipped is [LogStart, At) with Start.
type Decision struct {
	Action Action
	At     int64 // with Start and StartAllKept
}

// Decide is KIP-1023's rule.
func Decide(f Facts) Decision {
	switch {
	case f.HasPosition:
		return Decision{Action: Keep}
	case !f.Enabled || f.Compacted || f.LogEnd <= f.LogStart:
		return Decision{Action: Ordinary}
	case f.Pending == Unknown && f.LocalStart <= f.LogStart:
		return Decision{Action: Start, At: f.LogStart} // nothing was trimmed locally
	case f.Pending == Unknown:
		return Decision{Action: Retry}
	case f.Pending < f.LogStart:
		return Decision{Action: StartAllKept, At: f.LogStart}
	}
	return Decision{Action: Start, At: min(f.Pending, f.LogEnd)}
}
