// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"

	"georep/core/entry"
)

// ErrOrder marks an event that ends an action that was not asked for.
var ErrOrder = errors.New("bootstrap: not asked for")

// Hold is kept with a cursor that waits for its plan.
type Hold struct {
	End   entry.Position // as in [Want]
	Since int64
}

// Config describes one (segment, remote).
type Config struct {
	// Created and Joined are layout epochs: of the segment, and of the topic when
	// replication to the remote began. A younger segment starts at its beginning: it
	// continues one that is replicated.
	Created, Joined uint64
	JoinedKnown     bool
	End             entry.Position // of the log now, as in [Want]
	Held            *Hold          // what the cursor has; nil: nothing
	Placed          *Plan
	HasPosition     bool // it has neither, and has replicated before
}

// Planner places the cursor of one (segment, remote). A driver makes it when the
// segment is loaded, does what Ready says, one thing at a time, and reports back.
//
//	holding --held--> planning --read--> placing --placed--> begun
//	   ^               ^    |  ^                |
//	   |           found|    v  |                |
//	   |           searching    |                |
//	   '------- waiting <------'--- failed, or P not known
//
// A place that failed is tried again with the same plan: it may have moved the cursor, and
// what was trimmed behind it would be in no second one.
//
// The cursor is held at the log start before anything is read: what a plan was made for
// cannot be trimmed before the cursor stands there. A new owner finds the hold and goes
// on with it: what has been written since planning began is never skipped, however
// long that takes.
type Planner struct {
	cfg     Config
	state   State
	hold    Hold
	held    bool // the cursor stands at the log start, and its hold is durable
	told    bool // the state's action was given
	tries   int
	retryAt int64
	log     Log
	want    Want
	search  Search
	plan    *Plan
	why     string
	stats   Counts
}

// State is where a planner is.
type State uint8

// States.
const (
	Holding   State = 0
	Planning  State = 1
	Searching State = 2
	Placing   State = 3
	Waiting   State = 4
	Begun     State = 5
	Kept      State = 6 // begun: the cursor had its position
)

var stateNames = [...]string{"holding", "planning", "searching", "placing", "waiting", "placed", "kept"}

// String returns the name that status shows.
func (s State) String() string { return stateNames[s] }

// Retry pauses, milliseconds: doubling from first to most.
const (
	retryFirst = 1_000
	retryMost  = 60_000
)

// Counts are how often a planner came by its branches.
type Counts struct {
	Unknown, Failed, Resumed, Bounded, Younger, Searched, Refused uint64
}

// NewPlanner returns a planner at the time now.
func NewPlanner(now int64, c Config) *Planner {
	p := &Planner{cfg: c, hold: Hold{End: c.End, Since: now}, plan: c.Placed}
	switch {
	case c.Held != nil && c.Placed != nil: // whether the cursor was moved is not known, that nothing was sent is
		p.hold, p.held, p.state = *c.Held, true, Placing
		p.stats.Resumed++
	case c.Placed != nil || c.Held == nil && c.HasPosition:
		p.state = Kept
	case c.Held != nil:
		p.hold, p.held, p.state = *c.Held, true, Planning
		p.stats.Resumed++
	}
	if p.hold.End == Nowhere { // the first owner did not know: a later bound is better than none
		p.hold.End = c.End
	}
	return p
}

// Task is what the driver has to do: that of the state, with what belongs to it.
type Task struct {
	State  State
	Hold   Hold   // Holding: put the cursor at the log start, with this; then Held
	Search Search // Searching: the first entry of Millis or later; then Found
	Millis int64
	Plan   *Plan // Placing: put the cursor there, with this, remove the hold; then Placed
}

// Ready returns what there is to do, once. In Planning policy and ledgers are to be read,
// then Read; in Begun and Kept replication begins.
func (p *Planner) Ready() (Task, bool) {
	if p.told || p.state == Waiting {
		return Task{}, false
	}
	p.told = true
	a := Task{State: p.state}
	switch p.state {
	case Holding:
		a.Hold = p.hold
	case Searching:
		a.Search, a.Millis = p.search, p.want.Start.Millis
	case Placing:
		a.Plan = p.plan
	}
	return a, true
}

// enter changes the state.
func (p *Planner) enter(s State) { p.state, p.told = s, false }

// ends checks that the driver does now what the state asks for.
func (p *Planner) ends(s State) error {
	if p.state != s || !p.told {
		return fmt.Errorf("%w while %v", ErrOrder, p.state)
	}
	return nil
}

// Held tells that the cursor stands at the log start, and the hold is durable with it.
func (p *Planner) Held() error {
	if err := p.ends(Holding); err != nil {
		return err
	}
	p.held = true
	p.enter(Planning)
	return nil
}

// Read takes policy and ledgers as they are in the store now. The policy is read again
// with each try: what an operator sets right takes effect.
func (p *Planner) Read(now int64, c Choice, l Log) error {
	if err := p.ends(Planning); err != nil {
		return err
	}
	if p.cfg.JoinedKnown && p.cfg.Created > p.cfg.Joined {
		p.stats.Younger++
		c = Choice{Start: Point{At: Earliest}, Source: "younger segment", Ordinary: Earliest}
	}
	p.log, p.want = l, Want{Choice: c, End: p.hold.End}
	if c.Trouble != "" {
		p.stats.Refused++
		p.wait(now, c.Trouble)
		return nil
	}
	p.make(now)
	return nil
}

// Found tells what a search has come to: an entry, or behind the last one of its ledger.
func (p *Planner) Found(now int64, at entry.Position) error {
	if err := p.ends(Searching); err != nil {
		return err
	}
	if at.Ledger != p.search.First.Ledger || at.Entry < 0 || at.Entry > p.search.Last.Entry+1 {
		return fmt.Errorf("%w: found %v in %v to %v", ErrStart, at, p.search.First, p.search.Last)
	}
	p.want.Found = &at
	p.make(now)
	return nil
}

func (p *Planner) make(now int64) {
	plan, search, err := Make(p.log, p.want)
	switch {
	case err != nil:
		p.stats.Refused++
		p.wait(now, err.Error())
	case search != nil:
		p.stats.Searched++
		p.search = *search
		p.enter(Searching)
	case plan.Action == Retry:
		p.stats.Unknown++
		p.wait(now, "which ledgers are offloaded is not known, and some are in tiered storage only")
	default:
		if plan.Bounded {
			p.stats.Bounded++
		}
		plan.Millis = now
		p.plan, p.why, p.log = &plan, "", Log{}
		p.enter(Placing)
	}
}

// Placed tells that cursor and plan are durable.
func (p *Planner) Placed() error {
	if err := p.ends(Placing); err != nil {
		return err
	}
	p.why = ""
	p.enter(Begun)
	return nil
}

// Failed tells that the action did not succeed. Nothing is guessed: the cursor is held
// where nothing can be lost, and it is tried again.
func (p *Planner) Failed(now int64, why string) error {
	if !p.told || p.state >= Waiting {
		return fmt.Errorf("%w while %v", ErrOrder, p.state)
	}
	p.stats.Failed++
	plan := p.plan
	placing := p.state == Placing
	p.wait(now, why)
	if placing { // it may have moved the cursor, and retention may follow it: the plan stands
		p.plan = plan
	}
	return nil
}

func (p *Planner) wait(now int64, why string) {
	pause := int64(retryFirst)
	for range min(p.tries, 10) {
		pause = min(2*pause, retryMost)
	}
	p.tries++
	p.why, p.retryAt, p.log, p.plan = why, now+pause, Log{}, nil
	p.enter(Waiting)
}

// Tick tells the time.
func (p *Planner) Tick(now int64) {
	switch {
	case p.state != Waiting || now < p.retryAt:
	case p.plan != nil:
		p.enter(Placing)
	case p.held:
		p.enter(Planning)
	default:
		p.enter(Holding)
	}
}

// WakeAt returns when the next Tick is due, -1 for never.
func (p *Planner) WakeAt() int64 {
	if p.state == Waiting {
		return p.retryAt
	}
	return -1
}

// Status is what status calls show.
type Status struct {
	State   State
	Why     string // what it waits for, "" for nothing
	Tries   int    // that have failed
	Since   int64  // when planning began
	RetryAt int64  // -1: it does not wait
	Plan    *Plan  // nil while there is none
}

// Status returns it; the plan is not to be changed.
func (p *Planner) Status() Status {
	return Status{State: p.state, Why: p.why, Tries: p.tries, Since: p.hold.Since, RetryAt: p.WakeAt(), Plan: p.plan}
}

// Counts returns how often it came by its branches.
func (p *Planner) Counts() Counts { return p.stats }
