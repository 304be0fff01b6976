// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/exchange"
	"georep/core/pb"
)

func newExchange(t *testing.T, c *pb.ExchangeConfig) *Exchange {
	t.Helper()
	x, err := NewExchange(c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func step(t *testing.T, x *Exchange, e *pb.ExchangeEvent) *pb.ExchangeResult {
	t.Helper()
	if err := x.Step(e); err != nil {
		t.Fatal(err)
	}
	out := &pb.ExchangeResult{}
	for {
		r, err := x.Ready()
		if err != nil {
			t.Fatal(err)
		}
		out.Actions = append(out.Actions, r.GetActions()...)
		if out.WakeAtMillis = r.GetWakeAtMillis(); len(r.GetActions()) == 0 {
			return out
		}
	}
}

// topicState is what an honest cluster says, with as many segments of equal width.
func topicState(cluster, topic string, segments int) *pb.TopicState {
	s := &pb.TopicState{Cluster: cluster, Topic: "topic://t/n/" + topic, Instance: "i", Epoch: 1,
		Caps:  &pb.LayoutCaps{MaxSegments: 8, MaxBuckets: 8},
		Shape: &pb.Shape{Profile: pb.Profile_PROFILE_PIP486}}
	for i := range segments {
		s.Shape.Segments = append(s.Shape.Segments, &pb.ShapeSegment{Start: uint32(i * 65536 / segments)})
	}
	return s
}

func pushOf(now int64, token uint64, s *pb.TopicState) *pb.ExchangeEvent {
	return &pb.ExchangeEvent{NowMillis: now, Event: &pb.ExchangeEvent_Push{Push: &pb.ConvergeSend{Cluster: "b", Token: token,
		State: s}}}
}

func received(call uint64, r *pb.ExchangeRequest) *pb.ExchangeEvent {
	return &pb.ExchangeEvent{Event: &pb.ExchangeEvent_Received{Received: &pb.ExchangeReceipt{Call: call, Request: r}}}
}

// TestLiesAreAnsweredOneByOne: what a peer says wrongly of one topic is an answer that
// names the field, and keeps no other topic waiting.
func TestLiesAreAnsweredOneByOne(t *testing.T) {
	lies := []struct {
		want string
		lie  func(s *pb.TopicState)
	}{
		{"version: 9223372036854775807.0.0", func(s *pb.TopicState) { s.Epoch = 1<<63 - 1 }},
		{"segments: 65536 are above the cap of 16384", func(s *pb.TopicState) { s.Shape = topicState("", "", 65536).GetShape() }},
		{"starts", func(s *pb.TopicState) { s.Shape.Segments[0].Start = 1 }},
		{"starts", func(s *pb.TopicState) { s.Shape.Segments[1].Start = 60000 }},
		{"shape.segments.start: 65536 is above 65535", func(s *pb.TopicState) { s.Shape.Segments[1].Start = 65536 }},
		{"shape.segments.bucketStarts: 2147483648 is above", func(s *pb.TopicState) { s.Shape.Segments[1].BucketStarts = []uint32{1 << 31} }},
		{"bucket", func(s *pb.TopicState) { s.Shape.Segments[1].BucketStarts = []uint32{5, 5} }},
		{"caps: max_segments 0", func(s *pb.TopicState) { s.Caps.MaxSegments = 0 }},
		{"caps: max_buckets 4294967295", func(s *pb.TopicState) { s.Caps.MaxBuckets = 1<<32 - 1 }},
		{"instance: 0 bytes", func(s *pb.TopicState) { s.Instance = "" }},
		{"shape: absent", func(s *pb.TopicState) { s.Shape = nil }},
		{"shape.profile", func(s *pb.TopicState) { s.Shape.Profile = 7 }},
		{"splits[0].parent", func(s *pb.TopicState) { s.Splits = []*pb.Cut{{At: 9}, {At: 8}} }},
	}
	r := &pb.ExchangeRequest{ProtocolVersion: 3, Cluster: "a"}
	for i, l := range lies {
		s := topicState("a", fmt.Sprint("lie", i), 4)
		l.lie(s)
		r.States = append(r.States, s)
	}
	r.States = append(r.States, topicState("a", "honest", 4))
	x := newExchange(t, &pb.ExchangeConfig{Cluster: "b"})
	out := step(t, x, received(1, r))
	if len(out.GetActions()) != 1 || out.GetActions()[0].GetDeliver().GetTopic() != "topic://t/n/honest" {
		t.Fatalf("handed on: %v", out)
	}
	// The topic's machine can read what it is given.
	c, err := NewConverge(&pb.ConvergeConfig{Cluster: "b", Topic: "topic://t/n/honest"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Step(out.GetActions()[0].GetDeliver().GetEvent()); err != nil {
		t.Error(err)
	}
	done, err := c.Ready()
	if err != nil {
		t.Fatal(err)
	}
	reply := done.GetActions()[0].GetAnswer()
	out = step(t, x, &pb.ExchangeEvent{Event: &pb.ExchangeEvent_Replied{Replied: reply}})
	answers := out.GetActions()[0].GetRespond().GetResponse().GetAnswers()
	if len(answers) != len(lies)+1 || answers[len(lies)].GetCode() != pb.ConvergeCode_CONVERGE_CODE_NOT_LEADER {
		t.Fatalf("%d answers: %v", len(answers), answers[len(answers)-1])
	}
	for i, l := range lies {
		if a := answers[i]; a.GetCode() != pb.ConvergeCode_CONVERGE_CODE_BAD_STATE || !strings.Contains(a.GetText(), l.want) ||
			a.GetTopic() != r.GetStates()[i].GetTopic() {
			t.Errorf("%v, want %s", a, l.want)
		}
	}
}

func TestExchangeStepNamesWhatItRefuses(t *testing.T) {
	x := newExchange(t, &pb.ExchangeConfig{Cluster: "a", MaxOpen: 2})
	many := &pb.ExchangeRequest{ProtocolVersion: 1, Cluster: "b"}
	for i := range 5000 {
		many.States = append(many.States, topicState("b", fmt.Sprint(i), 1))
	}
	for want, e := range map[string]*pb.ExchangeEvent{
		"event: absent":            {},
		"push.state.topic":         pushOf(0, 1, nil),
		`cluster "a" sends a sta`:  pushOf(0, 1, topicState("b", "x", 1)),
		"protocolVersion: absent":  received(1, nil),
		"states: 1001 are above":   received(1, many),
		`"a" is this cluster's ow`: received(1, &pb.ExchangeRequest{ProtocolVersion: 1, Cluster: "a"}),
	} {
		if err := x.Step(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, r := range map[string]*pb.ExchangeRequest{
		"states: 1001 are above":   many,
		`"a" is this cluster's ow`: {ProtocolVersion: 1, Cluster: "a"},
		"":                         {ProtocolVersion: 1, Cluster: "b", States: many.GetStates()[:1]},
	} {
		err := x.Step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Offered{Offered: &pb.ExchangeReceipt{Request: r}}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("offered: %v, want %s", err, want)
		}
	}
	if r, err := x.Ready(); err != nil || len(r.GetActions()) != 0 || r.GetWakeAtMillis() != -1 {
		t.Errorf("something was done: %v %v", r, err)
	}
	step(t, x, received(1, &pb.ExchangeRequest{ProtocolVersion: 1, Cluster: "b", States: many.GetStates()[:1]}))
	if err := x.Step(received(2, &pb.ExchangeRequest{ProtocolVersion: 1, Cluster: "b"})); !errors.Is(err, exchange.ErrBusy) {
		t.Errorf("a second call: %v", err)
	}
	if _, err := NewExchange(&pb.ExchangeConfig{Cluster: "a", GatherMillis: 1 << 40}); err == nil {
		t.Error("a gather delay of 35 years")
	}
}

// TestResultsCanBeRead: a burst of large calls comes in results that are below the
// caps of a message, as bytes and as JSON.
func TestResultsCanBeRead(t *testing.T) {
	x := newExchange(t, &pb.ExchangeConfig{Cluster: "a"})
	for i := range 20 {
		e := pushOf(int64(i*60), 1, topicState("a", fmt.Sprint(i), 16384))
		e.GetPush().Cluster = fmt.Sprint("peer", i)
		if err := x.Step(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Step(&pb.ExchangeEvent{NowMillis: 2000, Event: &pb.ExchangeEvent_Tick{}}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for results := 1; ; results++ {
		r, err := x.Ready()
		if err != nil || results > 20 {
			t.Fatal(results, err)
		}
		calls += len(r.GetActions())
		wire, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := ToJSON("ExchangeResult", wire)
		if err != nil || len(text) > MaxBytes {
			t.Fatal(len(text), err)
		}
		if r.GetWakeAtMillis() != 2000 {
			break
		}
	}
	if calls != 20 {
		t.Errorf("%d calls", calls)
	}
}

// TestLargestCallIsWithinTheCaps: states of the least bytes for a segment fill a call
// that the other side still reads.
func TestLargestCallIsWithinTheCaps(t *testing.T) {
	x := newExchange(t, &pb.ExchangeConfig{Cluster: "a", MaxBytes: exchange.MaxBytes, MaxStates: exchange.MaxStates})
	var call *pb.ExchangeCall
	for i := 0; call == nil; i++ {
		s := topicState("a", fmt.Sprint(i), 0)
		for at := range uint32(400) {
			s.Shape.Segments = append(s.Shape.Segments, &pb.ShapeSegment{Start: at, Cold: at > 0 && i%2 == 0})
		}
		for _, a := range step(t, x, pushOf(0, 1, s)).GetActions() {
			call = a.GetCall()
		}
	}
	wire, err := proto.Marshal(call.GetRequest())
	if err != nil {
		t.Fatal(err)
	}
	text, err := ToJSON("ExchangeRequest", wire)
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromJSON("ExchangeRequest", text)
	if err != nil {
		t.Fatal(err)
	}
	y := newExchange(t, &pb.ExchangeConfig{Cluster: "b"})
	r := new(pb.ExchangeRequest)
	if err := Unmarshal(back, r); err != nil {
		t.Fatal(err)
	}
	if out := step(t, y, received(1, r)); len(out.GetActions()) != len(call.GetRequest().GetStates()) {
		t.Errorf("%d of %d states are handed on, %d bytes, %d of JSON", len(out.GetActions()), len(call.GetRequest().GetStates()),
			len(wire), len(text))
	}
	if len(wire) < exchange.MaxBytes*9/10 {
		t.Errorf("a call of %d bytes is no full one", len(wire))
	}
}

// TestNewerPeerIsUnderstood: what a later version adds is ignored, at any depth.
func TestNewerPeerIsUnderstood(t *testing.T) {
	b, err := FromJSON("ExchangeRequest", []byte(`{"protocolVersion":2,"cluster":"a","zone":{"x":[1]},"states":[
		{"cluster":"a","topic":"topic://t/n/x","tempo":3,"shape":{"profile":"PROFILE_PIP999","segments":[{"heat":1}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := new(pb.ExchangeRequest)
	if err := Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	x := newExchange(t, &pb.ExchangeConfig{Cluster: "b"})
	a := step(t, x, received(1, r)).GetActions()[0].GetRespond().GetResponse()
	if a.GetProtocolVersion() != exchange.Version || !strings.Contains(a.GetAnswers()[0].GetText(), "shape.profile") {
		t.Errorf("%v", a)
	}
	b, err = FromJSON("ExchangeEvent", []byte(`{"received":{"call":"2","request":{"protocolVersion":2,"cluster":"a","zone":1}}}`))
	e := new(pb.ExchangeEvent)
	if err != nil || Unmarshal(b, e) != nil || x.Step(e) != nil {
		t.Errorf("a newer peer's request inside an event: %v", err)
	}
	deep := strings.Repeat(`{"x":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	if _, err := FromJSON("ExchangeRequest", []byte(deep)); err == nil {
		t.Error("100,000 objects in each other are read")
	}
	deep = strings.Repeat(`[`, 1_000_000)
	if _, err := FromJSON("ExchangeRequest", []byte(`{"x":`+deep)); err == nil {
		t.Error("a million lists in each other are read")
	}
}

// FuzzExchange: no event breaks the machine, and no result is too large to be read.
func FuzzExchange(f *testing.F) {
	for _, e := range []*pb.ExchangeEvent{pushOf(1, 2, topicState("a", "x", 3)),
		received(1, &pb.ExchangeRequest{ProtocolVersion: 1, Cluster: "b", States: []*pb.TopicState{topicState("b", "x", 3)}}),
		{NowMillis: 60, Event: &pb.ExchangeEvent_Tick{}},
		{Event: &pb.ExchangeEvent_Returned{Returned: &pb.ExchangeReturn{Call: 1, Response: &pb.ExchangeResponse{
			ProtocolVersion: 1, Cluster: "b", Answers: []*pb.ExchangeAnswer{{Topic: "topic://t/n/x", Code: 3, Leader: "l"}}}}}},
		{Event: &pb.ExchangeEvent_Failed{Failed: &pb.ExchangeFailure{Call: 1}}},
		{Event: &pb.ExchangeEvent_Replied{Replied: &pb.ConvergeReply{Token: 1, Answer: &pb.ExchangeAnswer{Code: 99}}}},
		{Event: &pb.ExchangeEvent_Abandoned{Abandoned: 1}},
		{Event: &pb.ExchangeEvent_Forget{Forget: "topic://t/n/x"}},
	} {
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := NewExchange(&pb.ExchangeConfig{Cluster: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Step(pushOf(0, 1, topicState("a", "x", 2))); err != nil {
			t.Fatal(err)
		}
		if err := x.Step(&pb.ExchangeEvent{NowMillis: 50, Event: &pb.ExchangeEvent_Tick{}}); err != nil {
			t.Fatal(err)
		}
		e := new(pb.ExchangeEvent)
		if Unmarshal(b, e) != nil {
			return
		}
		refused := x.Step(e) != nil
		r, err := x.Ready()
		if err != nil || r.GetActions()[0].GetCall().GetCall() != 1 || refused && len(r.GetActions()) != 1 {
			t.Fatal(r, err)
		}
		if _, err := proto.Marshal(r); err != nil {
			t.Fatal(err)
		}
		x.Status(1 << 50)
	})
}
