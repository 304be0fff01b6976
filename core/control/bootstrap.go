// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"

	"georep/core/bootstrap"
	"georep/core/pb"
)

// Bootstrap is a [bootstrap.Planner] that speaks georep.proto. Not safe for concurrent
// use.
type Bootstrap struct {
	p       *bootstrap.Planner
	segment uint64
	lineage []*pb.Segment
}

// NewBootstrap makes the machine of one (segment, remote).
func NewBootstrap(c *pb.BootstrapConfig) (*Bootstrap, error) {
	if c.GetRemote() == "" {
		return nil, fmt.Errorf("%w: remote: empty", ErrConfig)
	}
	b := &Bootstrap{segment: c.GetSegment(), lineage: c.GetLineage()}
	cfg := bootstrap.Config{Created: c.GetCreatedEpoch(), Joined: c.GetJoinedEpoch(), JoinedKnown: c.JoinedEpoch != nil,
		HasPosition: c.GetHasPosition()}
	var err error
	if cfg.End, err = toPosition(c.GetEnd(), "end"); err != nil {
		return nil, err
	}
	if h := c.GetHeld(); h != nil {
		end, err := toPosition(h.GetEnd(), "held.end")
		if err != nil {
			return nil, err
		}
		cfg.Held = &bootstrap.Hold{End: end, Since: h.GetSinceMillis()}
	}
	if c.GetPlaced() != nil {
		if cfg.Placed, err = toStartPlan(c.GetPlaced()); err != nil {
			return nil, fmt.Errorf("placed.%w", err)
		}
		if b.lineage = c.GetPlaced().GetLineage(); len(b.lineage) == 0 {
			b.lineage = c.GetLineage()
		}
	}
	b.p = bootstrap.NewPlanner(c.GetNowMillis(), cfg)
	return b, nil
}

// Step takes one event; what it asks for comes with [Bootstrap.Ready]. An event that
// cannot be read or was not asked for is an error, and changes nothing.
func (b *Bootstrap) Step(e *pb.BootstrapEvent) error {
	now := e.GetNowMillis()
	switch ev := e.GetEvent().(type) {
	case *pb.BootstrapEvent_Held:
		return b.p.Held()
	case *pb.BootstrapEvent_Read:
		return b.p.Read(now, bootstrap.Choose(toPolicy(ev.Read.GetPolicy())), toLog(ev.Read.GetLog()))
	case *pb.BootstrapEvent_Found:
		at, err := toPosition(ev.Found, "found")
		if err != nil {
			return err
		}
		return b.p.Found(now, at)
	case *pb.BootstrapEvent_Placed:
		return b.p.Placed()
	case *pb.BootstrapEvent_Failed:
		return b.p.Failed(now, ev.Failed)
	case *pb.BootstrapEvent_Tick:
		b.p.Tick(now)
		return nil
	}
	return fmt.Errorf("%w: event: absent", ErrConfig)
}

// Ready returns what there is to do, and forgets it.
func (b *Bootstrap) Ready() (*pb.BootstrapResult, error) {
	r := &pb.BootstrapResult{WakeAtMillis: b.p.WakeAt()}
	t, ok := b.p.Ready()
	if !ok {
		return r, nil
	}
	a := &pb.BootstrapAction{}
	switch t.State {
	case bootstrap.Holding:
		a.Action = &pb.BootstrapAction_Hold{Hold: &pb.BootstrapHold{End: fromPosition(t.Hold.End), SinceMillis: t.Hold.Since}}
	case bootstrap.Planning:
		a.Action = &pb.BootstrapAction_Read{Read: &pb.ConvergeNothing{}}
	case bootstrap.Searching:
		a.Action = &pb.BootstrapAction_Find{Find: fromSearch(b.segment, t.Search, t.Millis)}
	case bootstrap.Placing:
		a.Action = &pb.BootstrapAction_Place{Place: b.plan(t.Plan)}
	default:
		a.Action = &pb.BootstrapAction_Begin{Begin: &pb.ConvergeNothing{}}
	}
	r.Actions = append(r.Actions, a)
	return r, nil
}

// Status returns what status calls show.
func (b *Bootstrap) Status() *pb.BootstrapStatus {
	s := b.p.Status()
	out := &pb.BootstrapStatus{State: s.State.String(), Why: s.Why, Tries: uint32(s.Tries), SinceMillis: s.Since,
		RetryAtMillis: s.RetryAt}
	if s.Plan != nil {
		out.Plan = b.plan(s.Plan)
	}
	return out
}

func (b *Bootstrap) plan(p *bootstrap.Plan) *pb.StartPlan {
	out := fromStartPlan(p)
	out.Lineage = b.lineage
	return out
}

// ChooseStart says where a remote starts by properties, or what an operator's words mean.
func ChooseStart(q *pb.StartQuery) (*pb.StartChoice, error) {
	c := bootstrap.Choose(toPolicy(q))
	if q.GetText() != "" {
		c.Source, c.Trouble = "operator", ""
		var err error
		if c.Start, err = bootstrap.Parse(q.GetText()); err != nil {
			c.Trouble = err.Error()
		}
	}
	out := &pb.StartChoice{Source: c.Source, Ordinary: pb.StartAt(c.Ordinary), Trouble: c.Trouble}
	if c.Trouble == "" {
		out.Start, out.Text = fromPoint(c.Start), c.Start.String()
	}
	return out, nil
}

// PlanReset says what moving cursors would do, and whether it may be done.
func PlanReset(r *pb.ResetRequest) (*pb.ResetPlan, error) {
	to, err := toPoint(r.GetTo())
	if err != nil {
		return nil, fmt.Errorf("to.%w", err)
	}
	var known []bootstrap.Segment
	for i, m := range r.GetKnown() {
		s := bootstrap.Segment{ID: m.GetSegment(), Parents: m.GetParents(), Log: toLog(m.GetLog()),
			Published: m.GetPublished(), Generation: m.GetGeneration(), Planning: m.GetPlanning()}
		if s.Next, err = toPosition(m.GetNext(), "next"); err != nil {
			return nil, fmt.Errorf("known[%d].%w", i, err)
		}
		if m.GetFound() != nil {
			at, err := toPosition(m.GetFound(), "found")
			if err != nil {
				return nil, fmt.Errorf("known[%d].%w", i, err)
			}
			s.Found = &at
		}
		if m.GetPlaced() != nil {
			if s.Placed, err = toStartPlan(m.GetPlaced()); err != nil {
				return nil, fmt.Errorf("known[%d].placed.%w", i, err)
			}
		}
		known = append(known, s)
	}
	p, err := bootstrap.PlanReset(to, r.GetSegments(), known)
	if err != nil {
		return nil, err
	}
	out := &pb.ResetPlan{Refused: p.Refused, Together: p.Together, Total: fromMove(&p.Total)}
	for _, s := range known {
		if search, ok := p.Searches[s.ID]; ok {
			out.Finds = append(out.Finds, fromSearch(s.ID, search, to.Millis))
		}
	}
	for i := range p.Moves {
		m := &p.Moves[i]
		one := fromMove(m)
		one.Segment, one.Generation, one.InPlace = m.Segment, m.Generation, m.InPlace
		one.Start, one.Plan = fromPosition(m.Plan.Start), fromStartPlan(&m.Plan)
		out.Segments = append(out.Segments, one)
	}
	return out, nil
}
