// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/pb"
)

// broker is one end of the benchmark: its exchange and the machines of its topics.
type broker struct {
	b      *testing.B
	x      *Exchange
	topics map[string]*Converge
	calls  []*pb.ExchangeCall // that are to be made
	answer *pb.ExchangeResponse
}

func newBroker(b *testing.B, cluster, other string, topics int) *broker {
	b.Helper()
	x, err := NewExchange(&pb.ExchangeConfig{Cluster: cluster, MaxStates: 1000})
	if err != nil {
		b.Fatal(err)
	}
	br := &broker{b: b, x: x, topics: map[string]*Converge{}}
	for i := range topics {
		topic := fmt.Sprintf("topic://t/n/topic-%d", i)
		c, err := NewConverge(&pb.ConvergeConfig{Cluster: cluster, Topic: topic})
		if err != nil {
			b.Fatal(err)
		}
		br.topics[topic] = c
		for _, e := range []*pb.ConvergeEvent{
			{Event: &pb.ConvergeEvent_Stored{Stored: newRecord(cluster, 0).json()}},
			{Event: &pb.ConvergeEvent_Members{Members: &pb.ConvergeMembers{Clusters: []string{other}}}},
			{Event: &pb.ConvergeEvent_Lead{Lead: &pb.ConvergeLead{Term: 1}}},
		} {
			br.topic(topic, e)
		}
	}
	return br
}

// copied is what a driver does with a message: it takes bytes and gives bytes.
func copied[M proto.Message](b *testing.B, from M, to M) M {
	wire, err := proto.Marshal(from)
	if err == nil {
		err = Unmarshal(wire, to)
	}
	if err != nil {
		b.Fatal(err)
	}
	return to
}

// carried is what a call does with a message: it is JSON on its way.
func carried[M proto.Message](b *testing.B, name string, from M, to M) M {
	wire, err := proto.Marshal(from)
	if err != nil {
		b.Fatal(err)
	}
	text, err := ToJSON(name, wire)
	if err != nil {
		b.Fatal(err)
	}
	if wire, err = FromJSON(name, text); err != nil {
		b.Fatal(err)
	}
	if err := Unmarshal(wire, to); err != nil {
		b.Fatal(err)
	}
	return to
}

// topic lets a topic's machine take an event, and hands on what it wants.
func (br *broker) topic(name string, e *pb.ConvergeEvent) {
	c := br.topics[name]
	if err := c.Step(copied(br.b, e, new(pb.ConvergeEvent))); err != nil {
		br.b.Fatal(err)
	}
	r, err := c.Ready()
	if err != nil {
		br.b.Fatal(err)
	}
	for _, a := range copied(br.b, r, new(pb.ConvergeResult)).GetActions() {
		switch act := a.GetAction().(type) {
		case *pb.ConvergeAction_Push:
			br.exchange(&pb.ExchangeEvent{NowMillis: e.GetNowMillis(), Event: &pb.ExchangeEvent_Push{Push: act.Push}})
		case *pb.ConvergeAction_Answer:
			br.exchange(&pb.ExchangeEvent{NowMillis: e.GetNowMillis(), Event: &pb.ExchangeEvent_Replied{Replied: act.Answer}})
		default:
			br.b.Fatalf("%v", a)
		}
	}
}

// exchange lets the exchange take an event, and does what it wants.
func (br *broker) exchange(e *pb.ExchangeEvent) {
	if err := br.x.Step(copied(br.b, e, new(pb.ExchangeEvent))); err != nil {
		br.b.Fatal(err)
	}
	r, err := br.x.Ready()
	if err != nil {
		br.b.Fatal(err)
	}
	for _, a := range copied(br.b, r, new(pb.ExchangeResult)).GetActions() {
		switch act := a.GetAction().(type) {
		case *pb.ExchangeAction_Call:
			br.calls = append(br.calls, act.Call)
		case *pb.ExchangeAction_Deliver:
			br.topic(act.Deliver.GetTopic(), act.Deliver.GetEvent())
		case *pb.ExchangeAction_Respond:
			br.answer = act.Respond.GetResponse()
		}
	}
}

// call makes the calls there are, and takes the answers.
func (br *broker) call(now int64, to *broker) {
	for i, c := range br.calls {
		to.exchange(received(uint64(now)+uint64(i), carried(br.b, "ExchangeRequest", c.GetRequest(), new(pb.ExchangeRequest))))
		br.exchange(&pb.ExchangeEvent{NowMillis: now, Event: &pb.ExchangeEvent_Returned{Returned: &pb.ExchangeReturn{
			Call: c.GetCall(), Response: carried(br.b, "ExchangeResponse", to.answer, new(pb.ExchangeResponse))}}})
	}
	br.calls = br.calls[:0]
}

// BenchmarkRound is one round of anti-entropy of 1,000 idle topics in one direction: every
// topic pushes, in one call, and is answered; both ends, without the driver and HTTP.
func BenchmarkRound(b *testing.B) {
	const topics = 1000
	near, far := newBroker(b, "a", "b", topics), newBroker(b, "b", "a", topics)
	near.call(0, far) // the pushes of new leaders
	far.call(0, near)
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 61_000
		for t := range near.topics {
			near.topic(t, &pb.ConvergeEvent{NowMillis: now, Event: &pb.ConvergeEvent_Tick{Tick: &pb.ConvergeNothing{}}})
		}
		near.exchange(&pb.ExchangeEvent{NowMillis: now + 50, Event: &pb.ExchangeEvent_Tick{Tick: &pb.ConvergeNothing{}}})
		near.call(now+60, far)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/topics, "us/topic")
	if p := near.x.Status(now).GetPeers()[0]; p.GetStates() < uint64(b.N)*topics || p.GetFailures() != 0 {
		b.Fatalf("%d rounds: %v", b.N, p)
	}
}
