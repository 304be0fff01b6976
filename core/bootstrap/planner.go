// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "georep/core/entry"

// Planner places the cursor of one (segment, remote). A driver makes it when the
// segment is loaded, does what Next says and reports back.
//
//	planning --(log read: start)--> placed
//	   |  ^
//	   |  '--(time)--.
//	   '--(log not readable, P not known)--> holding: a cursor stands at the log start
//
// A new owner that finds the cursor of a plan that was not finished goes on with
// planning: the driver says so with Pending.
type Planner struct {
	start   StartAt
	at      entry.Position
	state   plannerState
	held    bool // the cursor stands at the log start
	tries   int
	retryAt int64
	plan    Plan
	why     string
}

type plannerState uint8

const (
	planning plannerState = iota
	holding
	placed
	kept
)

// Retry pauses, milliseconds: doubling from first to most.
const (
	retryFirst = 1_000
	retryMost  = 60_000
)

// NewPlanner returns a planner. hasPosition: the cursor was there and placed;
// pending: it was there, left by a planner that was not finished.
func NewPlanner(s StartAt, at entry.Position, hasPosition, pending bool) *Planner {
	p := &Planner{start: s, at: at, held: pending}
	if hasPosition && !pending {
		p.state = kept
	}
	return p
}

// Step is what the driver has to do now.
type Step uint8

// Steps.
const (
	Nothing Step = 0 // all is done
	ReadLog Step = 1 // read the ledgers, then Read or Failed
	Hold    Step = 2 // make a cursor at the log start and mark it as pending, then Held
	Place   Step = 3 // move the cursor to Plan().Start and store the plan with it, then Placed
	Wait    Step = 4 // until WakeAt
	Default Step = 5 // the ordinary start policy decides; nothing else to do
)

// Next returns what there is to do.
func (p *Planner) Next(now int64) Step {
	switch {
	case p.state == placed || p.state == kept:
		return Nothing
	case p.plan.Action == Ordinary:
		return Default
	case p.plan.Action == Start || p.plan.Action == StartAllKept:
		return Place
	case p.state == holding && !p.held:
		return Hold
	case p.state == holding && now < p.retryAt:
		return Wait
	}
	return ReadLog
}

// Read takes the ledgers as they are in the store now.
func (p *Planner) Read(now int64, l Log) {
	plan, err := Make(l, p.start, p.at)
	switch {
	case err != nil:
		p.Failed(now, err.Error())
	case plan.Action == Retry:
		p.Failed(now, "which ledgers are offloaded is not known, and some are in tiered storage only")
	default:
		p.plan, p.why = plan, ""
	}
}

// Failed tells that the log could not be read. Nothing is guessed: the cursor is
// held where nothing can be lost.
func (p *Planner) Failed(now int64, why string) {
	wait := int64(retryFirst)
	for range min(p.tries, 10) {
		wait = min(2*wait, retryMost)
	}
	p.tries++
	p.state, p.why, p.retryAt = holding, why, now+wait
}

// Held tells that the cursor stands at the log start.
func (p *Planner) Held() { p.held = true }

// Placed tells that cursor and plan are durable.
func (p *Planner) Placed() { p.state = placed }

// Plan returns the plan; its Action is 0 while there is none.
func (p *Planner) Plan() Plan { return p.plan }

// WakeAt returns when to call Next again after Wait.
func (p *Planner) WakeAt() int64 { return p.retryAt }

// Why says what planning waits for, "" for nothing.
func (p *Planner) Why() string { return p.why }

// Tries returns how often reading the log has failed.
func (p *Planner) Tries() int { return p.tries }
