// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/converge"
	"georep/core/layout"
	"georep/core/pb"
)

// record is Pulsar's record of a topic, as a driver would keep it.
type record struct {
	Epoch      int64                     `json:"epoch"`
	Next       uint64                    `json:"nextSegmentId"`
	Segments   map[string]map[string]any `json:"segments"`
	Properties map[string]string         `json:"properties"`
}

func newRecord(instance string, starts ...int) *record {
	r := &record{Epoch: 1, Next: uint64(len(starts)), Segments: map[string]map[string]any{},
		Properties: map[string]string{"georep.instance": instance}}
	for i, s := range starts {
		end := 65535
		if i+1 < len(starts) {
			end = starts[i+1] - 1
		}
		r.add(uint64(i), s, end, nil)
	}
	return r
}

func (r *record) add(id uint64, start, end int, parents []uint64) {
	r.Segments[fmt.Sprint(id)] = map[string]any{"segmentId": id, "state": "ACTIVE", "parentIds": slices.Clip(parents),
		"childIds": []uint64{}, "hashRange": map[string]int{"start": start, "end": end}}
}

func (r *record) json() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// apply does what a driver does with a mutation.
func (r *record) apply(t *testing.T, m *pb.ConvergeMutation) {
	t.Helper()
	if uint64(r.Epoch) != m.GetExpectEpoch() {
		t.Fatalf("epoch %d, expected %d", r.Epoch, m.GetExpectEpoch())
	}
	ids := m.GetChildIds()
	for _, op := range m.GetOps() {
		for _, c := range op.GetChildren() {
			r.add(ids[0], int(c.GetRange().GetStart()), int(c.GetRange().GetEnd()), op.GetParents())
			r.Next, ids = ids[0]+1, ids[1:]
		}
		for _, p := range op.GetParents() {
			r.Segments[fmt.Sprint(p)]["state"] = "SEALED"
		}
	}
	if len(m.GetOps()) > 0 {
		r.Epoch++
	}
	for k, v := range m.GetProperties() {
		if r.Properties[k] = v; v == "" {
			delete(r.Properties, k)
		}
	}
}

func (r *record) starts() (out []int) {
	for _, s := range r.Segments {
		if s["state"] == "ACTIVE" {
			out = append(out, s["hashRange"].(map[string]int)["start"])
		}
	}
	slices.Sort(out)
	return out
}

type node struct {
	name string
	c    *Converge
	r    *record
}

func newNode(t *testing.T, name string, starts ...int) *node {
	t.Helper()
	c, err := NewConverge(&pb.ConvergeConfig{Cluster: name, Topic: "topic://t/n/x",
		DefaultProfile: pb.Profile_PROFILE_PIP486, CutCap: 77})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{name: name, c: c, r: newRecord(name+"-1", starts...)}
	n.step(t, &pb.ConvergeEvent{Event: &pb.ConvergeEvent_Stored{Stored: n.r.json()}})
	n.step(t, &pb.ConvergeEvent{Event: &pb.ConvergeEvent_Members{Members: &pb.ConvergeMembers{Clusters: []string{"a", "b"}}}})
	return n
}

func (n *node) step(t *testing.T, e *pb.ConvergeEvent) *pb.ConvergeResult {
	t.Helper()
	if err := n.c.Step(e); err != nil {
		t.Fatal(err)
	}
	out, err := n.c.Ready()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// overTheWire returns what arrives of a state.
func overTheWire(t *testing.T, s *pb.TopicState) *pb.TopicState {
	t.Helper()
	wire, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ToJSON("TopicState", wire)
	if err != nil {
		t.Fatal(err)
	}
	if wire, err = FromJSON("TopicState", text); err != nil {
		t.Fatal(err)
	}
	out := new(pb.TopicState)
	if err := Unmarshal(wire, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTwoClustersAgree drives two machines through the messages alone, as drivers
// in another language do: records as JSON, calls as they go over the wire.
func TestTwoClustersAgree(t *testing.T) {
	nodes := map[string]*node{"a": newNode(t, "a", 0, 0x5555, 0xaaaa), "b": newNode(t, "b", 0, 0x4000, 0x8000, 0xc000)}
	type job struct {
		at *node
		e  *pb.ConvergeEvent
	}
	var queue []job
	calls := map[uint64]job{} // received token -> the sender, with its token
	next := uint64(100)
	for _, name := range []string{"a", "b"} {
		queue = append(queue, job{nodes[name], &pb.ConvergeEvent{NowMillis: 1, Event: &pb.ConvergeEvent_Lead{Lead: &pb.ConvergeLead{Term: 1}}}})
	}
	for steps, later := 0, false; len(queue) > 0 || !later; steps++ {
		if steps > 100 {
			t.Fatal("they never stop")
		}
		if len(queue) == 0 { // each had to ask first, and was told to try again
			later = true
			for _, name := range []string{"a", "b"} {
				queue = append(queue, job{nodes[name], &pb.ConvergeEvent{NowMillis: 1000, Event: &pb.ConvergeEvent_Tick{Tick: &pb.ConvergeNothing{}}}})
			}
		}
		j := queue[0]
		queue = queue[1:]
		for _, a := range j.at.step(t, j.e).GetActions() {
			switch act := a.GetAction().(type) {
			case *pb.ConvergeAction_Push:
				next++
				calls[next] = job{j.at, &pb.ConvergeEvent{Event: &pb.ConvergeEvent_Answered{Answered: &pb.ConvergePushAnswer{
					Cluster: act.Push.GetCluster(), Token: act.Push.GetToken()}}}}
				queue = append(queue, job{nodes[act.Push.GetCluster()], &pb.ConvergeEvent{NowMillis: 2,
					Event: &pb.ConvergeEvent_Received{Received: &pb.ConvergePush{Token: next, State: overTheWire(t, act.Push.GetState())}}}})
			case *pb.ConvergeAction_Answer:
				back := calls[act.Answer.GetToken()]
				back.e.GetAnswered().Answer = act.Answer.GetAnswer()
				queue = append(queue, back)
			case *pb.ConvergeAction_Mutate:
				j.at.r.apply(t, act.Mutate)
				queue = append(queue, job{j.at, &pb.ConvergeEvent{NowMillis: 3, Event: &pb.ConvergeEvent_Committed{
					Committed: &pb.ConvergeCommit{Token: act.Mutate.GetToken(), Stored: j.at.r.json()}}}})
			default:
				t.Fatalf("%T", act)
			}
		}
	}
	want := "[0 16384 21845 32768 43690 49152]"
	for _, n := range nodes {
		if got := fmt.Sprint(n.r.starts()); got != want {
			t.Errorf("%s has %s, want %s", n.name, got, want)
		}
		p := n.c.Status(10).GetPeers()[0]
		if len(p.GetDiverged()) != 0 || p.GetConverged() != 6 || p.GetSupport() != "supported" || p.GetTrouble() != "" {
			t.Errorf("%s: %v", n.name, p)
		}
	}
	a := nodes["a"].r
	if got := a.Properties["georep.segment.3"]; got != `{"profile":"pip486","bucketStarts":[],"cutCap":77}` {
		t.Errorf("record of a child: %s", got)
	}
	if got := a.Properties["georep.splits"]; !strings.Contains(got, "[16384,0,21844]") || !strings.Contains(got, "[32768,21845,43689]") {
		t.Errorf("split log: %s", got)
	}
}

func TestStepNamesWhatItCanNotRead(t *testing.T) {
	n := newNode(t, "a", 0)
	shape := func(start uint32) *pb.TopicState {
		return &pb.TopicState{Cluster: "b", Shape: &pb.Shape{Profile: pb.Profile_PROFILE_PIP486,
			Segments: []*pb.ShapeSegment{{Start: start}}}}
	}
	for want, e := range map[string]*pb.ConvergeEvent{
		"event: absent":                              {},
		"state.shape: absent":                        {Event: &pb.ConvergeEvent_Received{Received: &pb.ConvergePush{}}},
		"shape.segments.start: 65536 is above 65535": {Event: &pb.ConvergeEvent_Received{Received: &pb.ConvergePush{State: shape(65536)}}},
		"stored: layout: bad JSON: empty":            {Event: &pb.ConvergeEvent_Stored{}},
		"cold.boundaries: 70000 is above 65535": {Event: &pb.ConvergeEvent_Cold{Cold: &pb.ConvergeCold{
			Boundaries: []uint32{70000}}}},
		"caps: {MaxSegments:0 MaxBuckets:0}": {Event: &pb.ConvergeEvent_Caps{Caps: &pb.LayoutCaps{}}},
	} {
		if err := n.c.Step(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestUnreadableAnswersEndWhatTheyAnswer: neither a push nor a mutation is waited
// for for ever.
func TestUnreadableAnswersEndWhatTheyAnswer(t *testing.T) {
	n := newNode(t, "a", 0)
	out := n.step(t, &pb.ConvergeEvent{NowMillis: 1, Event: &pb.ConvergeEvent_Lead{Lead: &pb.ConvergeLead{Term: 1}}})
	push := out.GetActions()[0].GetPush().GetToken()
	out = n.step(t, &pb.ConvergeEvent{NowMillis: 2, Event: &pb.ConvergeEvent_Answered{Answered: &pb.ConvergePushAnswer{
		Cluster: "b", Token: push, Answer: &pb.ExchangeAnswer{State: &pb.TopicState{}}}}})
	if p := n.c.Status(3).GetPeers()[0]; p.GetFailures() != 1 || !strings.Contains(p.GetTrouble(), "state.shape: absent") {
		t.Errorf("%v", p)
	}
	if out.GetWakeAtMillis() != 502 {
		t.Errorf("tries again at %d", out.GetWakeAtMillis())
	}
}

func TestAlgebraMessages(t *testing.T) {
	l := func(starts ...uint16) *pb.Layout {
		out := &pb.Layout{Epoch: 1}
		for i, s := range starts {
			end := uint32(65535)
			if i+1 < len(starts) {
				end = uint32(starts[i+1]) - 1
			}
			out.Segments = append(out.Segments, &pb.Segment{Id: uint64(i), Range: &pb.Range{Start: uint32(s), End: end},
				State: pb.SegmentState_SEGMENT_STATE_ACTIVE, Profile: pb.Profile_PROFILE_PIP486, BucketsKnown: true})
		}
		return out
	}
	s, err := Join(&pb.JoinRequest{Layouts: []*pb.Layout{l(0, 100), l(0, 200)}})
	if err != nil || len(s.GetSegments()) != 3 || s.GetSegments()[2].GetStart() != 200 {
		t.Errorf("join %v %v", s, err)
	}
	p, err := Plan(&pb.PlanRequest{Local: l(0, 100), Peers: []*pb.Layout{l(0, 200), l(0, 300)}})
	if err != nil || len(p.GetOps()) != 1 || p.GetOps()[0].GetKind() != pb.LayoutOpKind_LAYOUT_OP_KIND_SPLIT_EXPLICIT ||
		p.GetOps()[0].GetParents()[0] != 1 || len(p.GetOps()[0].GetChildren()) != 3 {
		t.Errorf("plan %v %v", p, err)
	}
	_, err = Plan(&pb.PlanRequest{Local: l(0, 100), Peers: []*pb.Layout{l(0, 200)}, Caps: &pb.LayoutCaps{MaxSegments: 2}})
	if err == nil || err.Error() != "layout: beyond the caps: 3 segments, 2 allowed" {
		t.Errorf("plan beyond the caps: %v", err)
	}
	d, err := Diff(&pb.DiffRequest{Local: l(0, 100, 200), Peer: l(0, 200)})
	if err != nil || d.GetConverged() != 1 || len(d.GetDiverged()) != 1 || !d.GetDiverged()[0].GetPeerIsCoarser() ||
		d.GetDiverged()[0].GetLocalIsCoarser() {
		t.Errorf("diff %v %v", d, err)
	}
	if _, err := Join(&pb.JoinRequest{Layouts: []*pb.Layout{l(0), l(5)}}); err == nil || !strings.HasPrefix(err.Error(), "layouts[1]: ") {
		t.Errorf("a layout with a gap: %v", err)
	}
	if _, err := Join(&pb.JoinRequest{}); err == nil {
		t.Error("a join of nothing")
	}
}

// TestCodesAndKindsMatch: the numbers of the machine are those of the messages.
func TestCodesAndKindsMatch(t *testing.T) {
	for n, name := range pb.ConvergeCode_name {
		if n != 0 && strings.HasPrefix(converge.Code(n).String(), "code(") {
			t.Errorf("%s has no name in the machine", name)
		}
	}
	if got := converge.Code(len(pb.ConvergeCode_name)).String(); !strings.HasPrefix(got, "code(") {
		t.Errorf("%s is in no message", got)
	}
	for n, name := range pb.LayoutOpKind_name {
		if n != 0 && "LAYOUT_OP_KIND_"+strings.ToUpper(strings.ReplaceAll(layout.OpKind(n).String(), "-", "_")) != name {
			t.Errorf("%d is %s here and %s there", n, layout.OpKind(n), name)
		}
	}
}
