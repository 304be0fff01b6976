// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"georep/core/converge"
	"georep/core/exchange"
	"georep/core/pb"
)

// Exchange is a broker's [exchange.Sender] and [exchange.Answerer] that speak
// georep.proto. Not safe for concurrent use.
type Exchange struct {
	cluster string
	now     int64
	out     *exchange.Sender[*pb.TopicState]
	in      *exchange.Answerer[*pb.TopicState]
	actions []*pb.ExchangeAction // not given away yet
}

// NewExchange makes the exchange of one broker.
func NewExchange(c *pb.ExchangeConfig) (*Exchange, error) {
	d := exchange.DefaultConfig(c.GetCluster())
	if max(c.GetGatherMillis(), c.GetCallMillis(), c.GetAnswerMillis()) > math.MaxInt32 {
		return nil, fmt.Errorf("%w: gatherMillis, callMillis or answerMillis is too large", ErrConfig)
	}
	d.MaxStates = cmp.Or(int(c.GetMaxStates()), d.MaxStates)
	d.MaxBytes = cmp.Or(int(c.GetMaxBytes()), d.MaxBytes)
	d.GatherMillis = cmp.Or(int64(c.GetGatherMillis()), d.GatherMillis)
	d.CallMillis = cmp.Or(int64(c.GetCallMillis()), d.CallMillis)
	d.AnswerMillis = cmp.Or(int64(c.GetAnswerMillis()), d.AnswerMillis)
	d.MaxOpen = cmp.Or(int(c.GetMaxOpen()), d.MaxOpen)
	out, err := exchange.NewSender[*pb.TopicState](d)
	if err != nil {
		return nil, err
	}
	in, err := exchange.NewAnswerer[*pb.TopicState](d)
	return &Exchange{cluster: d.Cluster, out: out, in: in}, err
}

// Step takes one event; what it asks for comes with [Exchange.Ready]. An error names
// the field, or wraps [exchange.ErrBusy], and nothing has changed then.
func (x *Exchange) Step(e *pb.ExchangeEvent) error {
	now := e.GetNowMillis()
	switch ev := e.GetEvent().(type) {
	case *pb.ExchangeEvent_Push:
		if err := x.push(now, ev.Push); err != nil {
			return err
		}
	case *pb.ExchangeEvent_Returned:
		x.out.Returned(now, ev.Returned.GetCall(), toResponse(ev.Returned.GetResponse()))
	case *pb.ExchangeEvent_Failed:
		f := ev.Failed
		x.out.Failed(now, f.GetCall(), exchange.Failure{Unsupported: f.GetUnsupported(), Text: f.GetText(),
			Jitter: int(f.GetJitter())})
	case *pb.ExchangeEvent_Received:
		r := ev.Received
		if err := x.in.Receive(now, r.GetCall(), r.GetCaller(), judged(toRequest(r.GetRequest()))); err != nil {
			return err
		}
	case *pb.ExchangeEvent_Offered:
		if err := x.in.Offer(now, ev.Offered.GetCaller(), toRequest(ev.Offered.GetRequest())); err != nil {
			return err
		}
	case *pb.ExchangeEvent_Replied:
		x.in.Replied(now, ev.Replied.GetToken(), toAnswer(ev.Replied.GetAnswer()))
	case *pb.ExchangeEvent_Abandoned:
		x.in.Abandon(now, ev.Abandoned)
	case *pb.ExchangeEvent_Forget:
		x.out.Forget(now, ev.Forget)
		x.in.Forget(now, ev.Forget)
	case *pb.ExchangeEvent_Tick:
		x.out.Tick(now)
		x.in.Tick(now)
	default:
		return fmt.Errorf("%w: event: absent", ErrConfig)
	}
	x.now = max(x.now, now)
	return nil
}

func (x *Exchange) push(now int64, p *pb.ConvergeSend) error {
	s := p.GetState()
	if err := exchange.CheckTopic(s.GetTopic()); err != nil {
		return fmt.Errorf("push.state.%w", err)
	}
	if p.GetCluster() == "" || p.GetCluster() == x.cluster || s.GetCluster() != x.cluster {
		return fmt.Errorf("%w: push: cluster %q sends a state of %q to %q", ErrConfig, x.cluster, s.GetCluster(), p.GetCluster())
	}
	x.out.Push(now, exchange.Push[*pb.TopicState]{Cluster: p.GetCluster(), Topic: s.GetTopic(), Token: p.GetToken(),
		State: s, Bytes: proto.Size(s)})
	return nil
}

// Ready returns what there is to do, in order, and forgets it. What would make a
// message that is too large to be read comes with the next call, which is due at once.
func (x *Exchange) Ready() (*pb.ExchangeResult, error) {
	x.drain()
	r := &pb.ExchangeResult{WakeAtMillis: x.out.WakeAt()}
	if at := x.in.WakeAt(); at >= 0 && (r.WakeAtMillis < 0 || at < r.WakeAtMillis) {
		r.WakeAtMillis = at
	}
	n, bytes := 0, 0
	for ; n < len(x.actions); n++ {
		if bytes += proto.Size(x.actions[n]); n > 0 && bytes > exchange.MaxBytes {
			r.WakeAtMillis = x.now
			break
		}
	}
	r.Actions, x.actions = x.actions[:n:n], x.actions[n:]
	return r, nil
}

// drain takes what both machines have to do.
func (x *Exchange) drain() {
	for _, a := range x.out.Ready() {
		if c := a.Call; c != nil {
			x.actions = append(x.actions, &pb.ExchangeAction{Action: &pb.ExchangeAction_Call{Call: &pb.ExchangeCall{
				Call: c.ID, Cluster: c.Cluster, Address: c.Address, Request: &pb.ExchangeRequest{
					ProtocolVersion: exchange.Version, Cluster: x.cluster, States: c.States}}}})
			continue
		}
		x.deliver(a.Outcome.Topic, outcome(a.Outcome))
	}
	for _, a := range x.in.Ready() {
		if d := a.Deliver; d != nil {
			x.deliver(d.Topic, &pb.ConvergeEvent{Event: &pb.ConvergeEvent_Received{
				Received: &pb.ConvergePush{Token: d.Token, State: d.State}}})
			continue
		}
		x.actions = append(x.actions, &pb.ExchangeAction{Action: &pb.ExchangeAction_Respond{Respond: &pb.ExchangeRespond{
			Call: a.Respond.Call, Response: fromResponse(a.Respond.Response)}}})
	}
}

func (x *Exchange) deliver(topic string, e *pb.ConvergeEvent) {
	e.NowMillis = x.now
	x.actions = append(x.actions, &pb.ExchangeAction{Action: &pb.ExchangeAction_Deliver{Deliver: &pb.ExchangeDelivery{
		Topic: topic, Event: e}}})
}

// outcome returns the event that ends a push.
func outcome(o *exchange.Outcome[*pb.TopicState]) *pb.ConvergeEvent {
	if o.Answer == nil {
		return &pb.ConvergeEvent{Event: &pb.ConvergeEvent_PushFailed{PushFailed: &pb.ConvergePushFailure{
			Cluster: o.Cluster, Token: o.Token, Unsupported: o.Failure.Unsupported, Text: o.Failure.Text,
			Jitter: uint32(min(max(o.Failure.Jitter, 0), 1000))}}}
	}
	return &pb.ConvergeEvent{Event: &pb.ConvergeEvent_Answered{Answered: &pb.ConvergePushAnswer{
		Cluster: o.Cluster, Token: o.Token, Answer: fromAnswer(o.Answer)}}}
}

// Status returns what status calls show of the broker's calls.
func (x *Exchange) Status(now int64) *pb.ExchangeStatus {
	out := &pb.ExchangeStatus{Open: uint32(x.in.Open())}
	for _, p := range x.out.Status(now) {
		out.Peers = append(out.Peers, &pb.ExchangePeer{Cluster: p.Cluster, Waiting: uint32(p.Waiting),
			UnderWay: uint32(p.UnderWay), OldestMillis: p.OldestMillis, Calls: p.Count.Calls, Failures: p.Count.Failures,
			States: p.Count.States, Replaced: p.Count.Replaced, Moved: p.Count.Moved})
	}
	return out
}

func toRequest(m *pb.ExchangeRequest) *exchange.Request[*pb.TopicState] {
	r := &exchange.Request[*pb.TopicState]{Version: m.GetProtocolVersion(), Cluster: m.GetCluster()}
	if len(m.GetStates()) > exchange.MaxStates { // one more than may be: enough to be refused
		m.States = m.GetStates()[:exchange.MaxStates+1]
	}
	for _, s := range m.GetStates() {
		r.States = append(r.States, exchange.Item[*pb.TopicState]{Topic: s.GetTopic(), Cluster: s.GetCluster(), State: s})
	}
	return r
}

// judged reads every state, so that one that breaks a rule is answered by itself.
func judged(r *exchange.Request[*pb.TopicState]) *exchange.Request[*pb.TopicState] {
	for i := range r.States {
		r.States[i].Bad = badState(r.States[i].State)
	}
	return r
}

func badState(m *pb.TopicState) string {
	s, err := ToTopicState(m)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func toResponse(m *pb.ExchangeResponse) *exchange.Response[*pb.TopicState] {
	r := &exchange.Response[*pb.TopicState]{Version: m.GetProtocolVersion(), Cluster: m.GetCluster()}
	for _, a := range m.GetAnswers() {
		r.Answers = append(r.Answers, toAnswer(a))
	}
	return r
}

func fromResponse(r *exchange.Response[*pb.TopicState]) *pb.ExchangeResponse {
	out := &pb.ExchangeResponse{ProtocolVersion: r.Version, Cluster: r.Cluster}
	for i := range r.Answers {
		out.Answers = append(out.Answers, fromAnswer(&r.Answers[i]))
	}
	return out
}

func toAnswer(m *pb.ExchangeAnswer) exchange.Answer[*pb.TopicState] {
	return exchange.Answer[*pb.TopicState]{Topic: m.GetTopic(), Code: converge.Code(max(0, min(m.GetCode(), math.MaxUint8))),
		Text: m.GetText(), Leader: m.GetLeader(), State: m.GetState(), Bytes: proto.Size(m)}
}

func fromAnswer(a *exchange.Answer[*pb.TopicState]) *pb.ExchangeAnswer {
	return &pb.ExchangeAnswer{Topic: a.Topic, Code: pb.ConvergeCode(a.Code), Text: a.Text, Leader: a.Leader, State: a.State}
}
