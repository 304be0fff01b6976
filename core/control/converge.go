// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"fmt"
	"math"

	"georep/core/converge"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
	"georep/core/peer"
)

// Converge is a [converge.Machine] that speaks georep.proto. Not safe for
// concurrent use.
type Converge struct {
	m       *converge.Machine
	topic   string
	profile keyhash.Profile // of segments that record none; 0: as the record suggests
	cutCap  uint32
	nextID  uint64 // of the record as it was read last
	routing keyhash.Profile
}

// NewConverge makes the machine of one topic.
func NewConverge(c *pb.ConvergeConfig) (*Converge, error) {
	d := converge.DefaultConfig(c.GetCluster())
	for _, v := range []struct {
		to   *int64
		from uint64
	}{
		{&d.AntiEntropyMillis, c.GetAntiEntropyMillis()}, {&d.RetryFirstMillis, c.GetRetryFirstMillis()},
		{&d.RetryMaxMillis, c.GetRetryMaxMillis()}, {&d.GrowWaitMillis, c.GetGrowWaitMillis()},
		{&d.AnswerMillis, c.GetAnswerMillis()}, {&d.MarkMillis, c.GetMarkMillis()},
	} {
		if v.from > math.MaxInt32*1000 {
			return nil, fmt.Errorf("%w: %d ms are too many", ErrConfig, v.from)
		}
		*v.to = cmp.Or(int64(v.from), *v.to)
	}
	d.Caps.MaxSegments = cmp.Or(int(c.GetCaps().GetMaxSegments()), d.Caps.MaxSegments)
	d.Caps.MaxBuckets = cmp.Or(int(c.GetCaps().GetMaxBuckets()), d.Caps.MaxBuckets)
	out := &Converge{topic: c.GetTopic(), cutCap: cmp.Or(c.GetCutCap(), layout.DefaultCutCap)}
	var err error
	if c.GetDefaultProfile() != pb.Profile_PROFILE_UNSPECIFIED {
		if out.profile, err = peer.ToProfile(c.GetDefaultProfile()); err != nil {
			return nil, fmt.Errorf("%w: defaultProfile: %w", ErrConfig, err)
		}
	}
	out.m, err = converge.New(d)
	return out, err
}

// Ready returns what there is to do, in order, and forgets it.
func (c *Converge) Ready() (*pb.ConvergeResult, error) {
	out := &pb.ConvergeResult{}
	for _, a := range c.m.Ready() {
		m, err := c.action(&a)
		if err != nil {
			return nil, err
		}
		out.Actions = append(out.Actions, m)
	}
	out.WakeAtMillis = c.m.WakeAt()
	return out, nil
}

// Step takes one event; what it asks for comes with [Converge.Ready]. An event that
// can not be read is an error that names the field, and changes nothing.
func (c *Converge) Step(e *pb.ConvergeEvent) error {
	now := e.GetNowMillis()
	switch ev := e.GetEvent().(type) {
	case *pb.ConvergeEvent_Stored:
		l, err := c.read(ev.Stored)
		if err != nil {
			return err
		}
		c.m.Store(now, l)
	case *pb.ConvergeEvent_Lead:
		c.m.Lead(now, ev.Lead.GetTerm())
	case *pb.ConvergeEvent_Resign:
		c.m.Resign(now)
	case *pb.ConvergeEvent_Members:
		c.m.Members(now, ev.Members.GetClusters())
	case *pb.ConvergeEvent_Caps:
		caps := toCaps(ev.Caps)
		if caps.MaxSegments < 1 || caps.MaxBuckets < 1 {
			return fmt.Errorf("%w: caps: %+v", ErrConfig, caps)
		}
		c.m.SetCaps(now, caps)
	case *pb.ConvergeEvent_Cold:
		cold, err := hashes16(ev.Cold.GetBoundaries(), "cold.boundaries")
		if err != nil {
			return err
		}
		c.m.Cold(now, cold)
	case *pb.ConvergeEvent_Committed:
		l, err := c.read(ev.Committed.GetStored())
		if err != nil { // it is over all the same, and must not be waited for
			c.m.MutationFailed(now, ev.Committed.GetToken(), err.Error())
			return nil
		}
		c.m.Committed(now, ev.Committed.GetToken(), l)
	case *pb.ConvergeEvent_MutationFailed:
		c.m.MutationFailed(now, ev.MutationFailed.GetToken(), ev.MutationFailed.GetText())
	case *pb.ConvergeEvent_Drained:
		c.m.Drained(now, ev.Drained)
	case *pb.ConvergeEvent_Tick:
		c.m.Tick(now)
	case nil:
		return fmt.Errorf("%w: event: absent", ErrConfig)
	default:
		return c.takeCall(e)
	}
	return nil
}

// takeCall takes what peers and operators say.
func (c *Converge) takeCall(e *pb.ConvergeEvent) error {
	now := e.GetNowMillis()
	switch ev := e.GetEvent().(type) {
	case *pb.ConvergeEvent_Received:
		s, err := ToTopicState(ev.Received.GetState())
		if err != nil {
			return err
		}
		c.m.Received(now, ev.Received.GetToken(), s)
	case *pb.ConvergeEvent_Answered:
		a := ev.Answered.GetAnswer()
		var s *converge.State
		if a.GetState() != nil {
			var err error
			if s, err = ToTopicState(a.GetState()); err != nil {
				c.m.PushFailed(now, ev.Answered.GetCluster(), ev.Answered.GetToken(), false, err.Error(), 0)
				return nil
			}
		}
		c.m.Answered(now, ev.Answered.GetCluster(), ev.Answered.GetToken(), converge.Code(a.GetCode()), a.GetText(), s)
	case *pb.ConvergeEvent_PushFailed:
		f := ev.PushFailed
		c.m.PushFailed(now, f.GetCluster(), f.GetToken(), f.GetUnsupported(), f.GetText(), int(f.GetJitter()))
	case *pb.ConvergeEvent_WishSplit:
		c.m.WishSplit(now, ev.WishSplit.GetWish(), ev.WishSplit.GetSegment())
	case *pb.ConvergeEvent_WishMerge:
		c.m.WishMerge(now, ev.WishMerge.GetWish(), ev.WishMerge.GetLeft(), ev.WishMerge.GetRight())
	case *pb.ConvergeEvent_WishRebucket:
		starts, err := hashes16(ev.WishRebucket.GetBucketStarts(), "wishRebucket.bucketStarts")
		if err != nil {
			return err
		}
		c.m.WishRebucket(now, ev.WishRebucket.GetWish(), ev.WishRebucket.GetSegment(), starts)
	case *pb.ConvergeEvent_CancelMark:
		boundary, err := hash16(ev.CancelMark.GetBoundary(), "cancelMark.boundary")
		if err != nil {
			return err
		}
		segment, err := hash16(ev.CancelMark.GetSegment(), "cancelMark.segment")
		if err != nil {
			return err
		}
		c.m.CancelMark(now, ev.CancelMark.GetWish(), boundary, segment)
	}
	return nil
}

// read parses the store's record and remembers which id comes next.
func (c *Converge) read(stored string) (converge.Local, error) {
	l, next, err := converge.ParseRecord([]byte(stored), c.profile)
	if err != nil {
		return l, fmt.Errorf("stored: %w", err)
	}
	c.nextID, c.routing = next, l.Layout.Profile()
	return l, nil
}

func (c *Converge) action(a *converge.Action) (*pb.ConvergeAction, error) {
	answer := &pb.ExchangeAnswer{Topic: c.topic, Code: pb.ConvergeCode(a.Code), Text: a.Text,
		State: TopicState(a.State, c.topic)}
	switch a.Kind {
	case converge.Push:
		return &pb.ConvergeAction{Action: &pb.ConvergeAction_Push{Push: &pb.ConvergeSend{Cluster: a.Peer, Token: a.Token,
			State: answer.State}}}, nil
	case converge.Answer:
		return &pb.ConvergeAction{Action: &pb.ConvergeAction_Answer{Answer: &pb.ConvergeReply{Token: a.Token,
			Answer: answer}}}, nil
	case converge.Verdict:
		return &pb.ConvergeAction{Action: &pb.ConvergeAction_Verdict{Verdict: &pb.ConvergeVerdict{Wish: a.Token,
			Code: answer.Code, Text: a.Text}}}, nil
	}
	mu := a.Mutation
	properties, err := mu.Properties(c.nextID, c.routing, c.cutCap)
	if err != nil {
		return nil, err
	}
	out := &pb.ConvergeMutation{Token: a.Token, ExpectEpoch: mu.Expect, Ops: fromOps(mu.Ops), Properties: properties,
		Why: mu.Why.String(), ExpectTerm: mu.Term}
	next := c.nextID
	for _, op := range mu.Ops {
		for range op.Children {
			out.ChildIds = append(out.ChildIds, next)
			next++
		}
	}
	return &pb.ConvergeAction{Action: &pb.ConvergeAction_Mutate{Mutate: out}}, nil
}

// Status returns what status calls show of the topic's convergence.
func (c *Converge) Status(now int64) *pb.ConvergeStatus {
	s := c.m.Status(now)
	out := &pb.ConvergeStatus{Leading: s.Leading, Epoch: s.Version.Epoch, Caps: fromCaps(s.Caps),
		EffectiveCaps: fromCaps(s.Effective), Cold: hashes32(s.Cold), Awaits: s.Awaits, NoRing: s.NoRing, Dissent: s.Dissent}
	if s.Why != 0 {
		out.Mutating = s.Why.String()
	}
	for _, k := range s.Marks {
		out.Marks = append(out.Marks, &pb.ManualMark{Boundary: uint32(k.Boundary), Segment: uint32(k.Segment),
			BucketStarts: hashes32(k.Starts), UntilMillis: k.UntilMillis})
	}
	for _, p := range s.Peers {
		out.Peers = append(out.Peers, &pb.PeerConvergence{Cluster: p.Cluster, Support: p.Support.String(), Known: p.Known,
			Epoch: p.Version.Epoch, AgeMillis: p.AgeMillis, AcknowledgedEpoch: p.Acked.Epoch,
			Diverged: fromDiverged(p.Diverged), Converged: uint32(p.Converged), LagMillis: p.LagMillis,
			SilentMillis: p.SilentMillis,
			Cold:         hashes32(p.Cold), Caps: fromCaps(p.Caps), Refused: p.Refused, Declined: p.Declined,
			Trouble: p.Trouble, Failures: uint32(p.Failures), Instance: p.Instance})
	}
	return out
}
