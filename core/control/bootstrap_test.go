// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"georep/core/bootstrap"
	"georep/core/pb"
)

func planning(t *testing.T) *Bootstrap {
	t.Helper()
	joined := uint64(2)
	b, err := NewBootstrap(&pb.BootstrapConfig{Remote: "us", Segment: 7, NowMillis: 5, JoinedEpoch: &joined,
		End: &pb.Position{Ledger: 12, Entry: 1}, Lineage: []*pb.Segment{{Id: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	bootstrapWants(t, b, `{"actions":[{"hold":{"end":{"ledger":"12","entry":"1"},"sinceMillis":"5"}}],"wakeAtMillis":"-1"}`)
	bootstrapTakes(t, b, &pb.BootstrapEvent{Event: &pb.BootstrapEvent_Held{}})
	bootstrapWants(t, b, `{"actions":[{"read":{}}],"wakeAtMillis":"-1"}`)
	return b
}

func bootstrapTakes(t *testing.T, b *Bootstrap, e *pb.BootstrapEvent) {
	t.Helper()
	if err := b.Step(e); err != nil {
		t.Fatal(err)
	}
}

func bootstrapWants(t *testing.T, b *Bootstrap, text string) {
	t.Helper()
	r, err := b.Ready()
	if err != nil {
		t.Fatal(err)
	}
	want := new(pb.BootstrapResult)
	if err := protojson.Unmarshal([]byte(text), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(r, want) {
		t.Fatalf("%v, want %s", r, text)
	}
}

func readEvent(policy string, ledgers ...*pb.LogLedger) *pb.BootstrapEvent {
	return &pb.BootstrapEvent{NowMillis: 9, Event: &pb.BootstrapEvent_Read{Read: &pb.BootstrapRead{
		Policy: &pb.StartQuery{Remote: "us", NamespaceProperties: map[string]string{bootstrap.Property: policy}},
		Log:    &pb.SegmentLog{Ledgers: ledgers}}}}
}

// TestBootstrapSpeaksProto: the plan of a new remote, and what a later owner makes of it.
func TestBootstrapSpeaksProto(t *testing.T) {
	b := planning(t)
	bootstrapTakes(t, b, readEvent("12000",
		&pb.LogLedger{Id: 10, Entries: 100, Bytes: 1000, Offload: 3, Bookies: 2, Driver: "file", Uuid: "u", FirstMillis: 1000, LastMillis: 9000},
		&pb.LogLedger{Id: 11, Entries: 50, Bytes: 500, Offload: 1, Bookies: 1, LastMillis: 14000},
		&pb.LogLedger{Id: 12, Offload: 1, Bookies: 1, Open: true}))
	bootstrapWants(t, b, `{"actions":[{"find":{"segment":"7","first":{"ledger":"11"},"last":{"ledger":"11","entry":"49"},
		"millis":"12000"}}],"wakeAtMillis":"-1"}`)
	bootstrapTakes(t, b, &pb.BootstrapEvent{NowMillis: 10, Event: &pb.BootstrapEvent_Found{Found: &pb.Position{Ledger: 11, Entry: 20}}})
	plan := `{"action":"START_ACTION_START","asked":{"at":"START_AT_TIMESTAMP","timestampMillis":"12000"},
		"source":"namespace georep.startAt","start":{"ledger":"11","entry":"20"},"horizon":{"ledger":"11","entry":"19"},
		"skipped":[{"ledger":"10","entries":"100","bytes":"1000","offload":3,"driver":"file","uuid":"u","firstMillis":"1000",
		"lastMillis":"9000"},{"ledger":"11","entries":"20","bytes":"200","offload":1,"lastMillis":"14000"}],
		"entries":"120","bytes":"1200","offloadedEntries":"100","offloadedBytes":"1000","fromMillis":"1000","toMillis":"14000",
		"lineage":[{"id":"3"}],"plannedMillis":"10"}`
	bootstrapWants(t, b, `{"actions":[{"place":`+plan+`}],"wakeAtMillis":"-1"}`)
	stored := b.Status().GetPlan()

	half, err := NewBootstrap(&pb.BootstrapConfig{Remote: "us", Held: &pb.BootstrapHold{SinceMillis: 5}, Placed: stored})
	if err != nil {
		t.Fatal(err)
	}
	bootstrapWants(t, half, `{"actions":[{"place":`+plan+`}],"wakeAtMillis":"-1"}`)
	bootstrapTakes(t, half, &pb.BootstrapEvent{Event: &pb.BootstrapEvent_Placed{}})
	bootstrapWants(t, half, `{"actions":[{"begin":{}}],"wakeAtMillis":"-1"}`)

	later, err := NewBootstrap(&pb.BootstrapConfig{Remote: "us", Placed: stored})
	if err != nil {
		t.Fatal(err)
	}
	bootstrapWants(t, later, `{"actions":[{"begin":{}}],"wakeAtMillis":"-1"}`)
	if s := later.Status(); s.GetState() != "kept" || !proto.Equal(s.GetPlan(), stored) {
		t.Errorf("%v", s)
	}
}

// TestBootstrapTakesNothingForSaid: what a driver leaves out is not known, and not 0.
func TestBootstrapTakesNothingForSaid(t *testing.T) {
	for name, c := range map[string]struct {
		first *pb.LogLedger
		why   string
	}{
		"the offload is not said":          {&pb.LogLedger{Id: 10, Entries: 1, Bookies: 2}, "not known"},
		"an offload of a later version":    {&pb.LogLedger{Id: 10, Entries: 1, Bookies: 2, Offload: 99}, "not known"},
		"the copy in bookkeeper is not":    {&pb.LogLedger{Id: 10, Entries: 1, Offload: pb.OffloadState_OFFLOAD_STATE_UNREADABLE}, "not known"},
		"a copy of a later version":        {&pb.LogLedger{Id: 10, Entries: 1, Bookies: 77}, "not known"},
		"a ledger that no log has":         {&pb.LogLedger{Id: 10, Entries: -1, Offload: 3}, "bad ledgers: ledger 10: -1 entries"},
		"a ledger before all, and its own": {&pb.LogLedger{Id: -10, Entries: 1, Offload: 3}, "bad ledgers: ledger -10"},
	} {
		b := planning(t)
		bootstrapTakes(t, b, readEvent("earliestNotOffloaded", c.first, &pb.LogLedger{Id: 12, Offload: 1, Bookies: 1, Open: true}))
		bootstrapWants(t, b, `{"wakeAtMillis":"1009"}`)
		if s := b.Status(); s.GetState() != "waiting" || !strings.Contains(s.GetWhy(), c.why) || s.GetPlan() != nil ||
			s.GetRetryAtMillis() != 1009 || s.GetTries() != 1 {
			t.Errorf("%s: %v", name, s)
		}
	}
	b := planning(t)
	bootstrapTakes(t, b, readEvent("soon"))
	if s := b.Status(); !strings.HasPrefix(s.GetWhy(), `namespace georep.startAt: "soon" is none of`) {
		t.Errorf("%v", s)
	}
}

func TestBootstrapRefuses(t *testing.T) {
	for text, c := range map[string]*pb.BootstrapConfig{
		"remote: empty":          {},
		"end: -1:0":              {Remote: "us", End: &pb.Position{Ledger: -1}},
		"held.end: 0:-5":         {Remote: "us", Held: &pb.BootstrapHold{End: &pb.Position{Entry: -5}}},
		"action: START_ACTION_U": {Remote: "us", Placed: &pb.StartPlan{}},
		"action: 9":              {Remote: "us", Placed: &pb.StartPlan{Action: 9}},
		"start: absent":          {Remote: "us", Placed: &pb.StartPlan{Action: 3}},
		"at: START_AT_UNSPEC":    {Remote: "us", Placed: &pb.StartPlan{Action: 3, Start: &pb.Position{}}},
		"position: absent": {Remote: "us", Placed: &pb.StartPlan{Action: 3, Start: &pb.Position{},
			Asked: &pb.StartPoint{At: pb.StartAt_START_AT_POSITION}}},
	} {
		if _, err := NewBootstrap(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	b := planning(t)
	for _, e := range []*pb.BootstrapEvent{{}, {Event: &pb.BootstrapEvent_Placed{}}, {Event: &pb.BootstrapEvent_Found{Found: &pb.Position{Ledger: -3}}},
		{Event: &pb.BootstrapEvent_Held{}}} {
		before := b.Status()
		if err := b.Step(e); err == nil || !proto.Equal(before, b.Status()) {
			t.Errorf("%v: %v", e, err)
		}
	}
	if err := b.Step(&pb.BootstrapEvent{Event: &pb.BootstrapEvent_Placed{}}); !errors.Is(err, bootstrap.ErrOrder) {
		t.Error(err)
	}
	for text, r := range map[string]*pb.ResetRequest{
		"to.config: at: START_AT_UNSPECIFIED": {},
		"known[0].config: next: -1:0":         {To: &pb.StartPoint{At: 1}, Known: []*pb.ResetSegment{{Next: &pb.Position{Ledger: -1}}}},
		"known[0].config: found: 0:-1":        {To: &pb.StartPoint{At: 1}, Known: []*pb.ResetSegment{{Found: &pb.Position{Entry: -1}}}},
		"segment 0 is there twice":            {To: &pb.StartPoint{At: 1}, Known: []*pb.ResetSegment{{}, {}}},
	} {
		text = strings.ReplaceAll(text, "config", ErrConfig.Error())
		if _, err := PlanReset(r); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

func TestChooseStart(t *testing.T) {
	for _, c := range []struct {
		q    *pb.StartQuery
		want string
	}{
		{&pb.StartQuery{Remote: "us", ReplicationStartAt: "earliest"},
			`{"start":{"at":"START_AT_EARLIEST"},"source":"replicationStartAt","ordinary":"START_AT_EARLIEST","text":"earliest"}`},
		{&pb.StartQuery{Remote: "us", Text: "2023-11-14T22:13:20Z", TopicProperties: map[string]string{"georep.startAt": "x"}},
			`{"start":{"at":"START_AT_TIMESTAMP","timestampMillis":"1700000000000"},"source":"operator","ordinary":"START_AT_LATEST","text":"1700000000000"}`},
		{&pb.StartQuery{Remote: "us", TopicProperties: map[string]string{"georep.startAt.us": "12:3"}},
			`{"start":{"at":"START_AT_POSITION","position":{"ledger":"12","entry":"3"}},"source":"topic georep.startAt.us",
			"ordinary":"START_AT_LATEST","text":"12:3"}`},
	} {
		got, err := ChooseStart(c.q)
		want := new(pb.StartChoice)
		if e := protojson.Unmarshal([]byte(c.want), want); e != nil || err != nil || !proto.Equal(got, want) {
			t.Errorf("%v %v %v, want %s", got, err, e, c.want)
		}
	}
	if c, err := ChooseStart(&pb.StartQuery{Text: "soon"}); err != nil || c.GetStart() != nil || c.GetText() != "" ||
		!strings.Contains(c.GetTrouble(), `"soon" is none of`) {
		t.Errorf("%v %v", c, err)
	}
}

// FuzzBootstrap: no config and no events make it panic, and it never asks for two things at once.
func FuzzBootstrap(f *testing.F) {
	c, _ := proto.Marshal(&pb.BootstrapConfig{Remote: "us"})
	e, _ := proto.Marshal(readEvent("earliestNotOffloaded", &pb.LogLedger{Id: 1, Entries: 5, Offload: 3}))
	f.Add(c, e)
	f.Fuzz(func(t *testing.T, config, event []byte) {
		c, e := new(pb.BootstrapConfig), new(pb.BootstrapEvent)
		if Unmarshal(config, c) != nil || Unmarshal(event, e) != nil {
			return
		}
		b, err := NewBootstrap(c)
		if err != nil {
			return
		}
		for range 3 {
			r, err := b.Ready()
			if err != nil || len(r.GetActions()) > 1 {
				t.Fatal(r, err)
			}
			if b.Status().GetState() == "holding" {
				bootstrapTakes(t, b, &pb.BootstrapEvent{Event: &pb.BootstrapEvent_Held{}})
				continue
			}
			_ = b.Step(e)
			b.Status()
		}
	})
}
