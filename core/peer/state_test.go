// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/layout"
	"georep/core/pb"
)

const stored = `{"epoch":7,"nextSegmentId":3,"segments":{
 "0":{"segmentId":0,"hashRange":{"start":0,"end":65535},"state":"SEALED","parentIds":[],"childIds":[1,2]},
 "1":{"segmentId":1,"hashRange":{"start":0,"end":32767},"state":"ACTIVE","parentIds":[0],"childIds":[]},
 "2":{"segmentId":2,"hashRange":{"start":32768,"end":65535},"state":"ACTIVE","parentIds":[0],"childIds":[]}},
 "properties":{"georep.instance":"00ff","georep.generation.us":"4","georep.generation.ap":"1","owner":"team",
  "georep.segment.1":"{\"profile\":\"pip486\",\"bucketStarts\":[100,200],\"cutCap\":1000}",
  "georep.segment.2":"{\"profile\":\"pip486\"}"}}`

func TestBuildState(t *testing.T) {
	got, err := BuildState(&pb.StateRequest{MetadataJson: stored, Cluster: "eu", Topic: topic, LeaderTerm: 5, Counter: 6,
		MaxMessageBytes: 1 << 20, DefaultProfile: pb.Profile_PROFILE_M1, PluginVersion: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	one := withParent(active(1, 0, 32767, pip486, 100, 200), 0)
	one.CutCap = 1000
	want := &pb.PeerState{
		ProtocolVersion: ProtocolVersion, PluginVersion: "0.1.0", Cluster: "eu", Topic: topic, Instance: "00ff",
		LeaderTerm: 5, Counter: 6, MaxMessageBytes: 1 << 20, Features: features,
		Generations: map[string]uint64{"us": 4, "ap": 1},
		Layout: &pb.Layout{Epoch: 7, Segments: []*pb.Segment{
			{Id: 0, Range: &pb.Range{End: 65535}, State: pb.SegmentState_SEGMENT_STATE_SEALED, Children: []uint64{1, 2},
				Profile: m1, BucketsKnown: true},
			one, withParent(active(2, 32768, 65535, pip486), 0),
		}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("BuildState = %v\nwant %v", got, want)
	}
	if c := Check(got, state("us", active(0, 0, 65535, pip486))); c.GetVerdict() != pb.PeerVerdict_PEER_VERDICT_SUPPORTED {
		t.Errorf("Check = %v", c)
	}
}

func TestBuildStateRefuses(t *testing.T) {
	good := pb.StateRequest{MetadataJson: stored, Cluster: "eu", Topic: topic}
	cases := []struct {
		name string
		edit func(r *pb.StateRequest)
		is   error
		text string
	}{
		{"no cluster", func(r *pb.StateRequest) { r.Cluster = "" }, ErrMessage, "cluster"},
		{"not a scalable topic", func(r *pb.StateRequest) { r.Topic = "persistent://a/b/c" }, ErrMessage, "topic"},
		{"unknown profile", func(r *pb.StateRequest) { r.DefaultProfile = 9 }, ErrMessage, "defaultProfile"},
		{"no JSON", func(r *pb.StateRequest) { r.MetadataJson = "{" }, layout.ErrSyntax, "byte 1"},
		{"generation", func(r *pb.StateRequest) { r.MetadataJson = strings.Replace(stored, `"4"`, `"four"`, 1) },
			ErrMessage, "properties.georep.generation.us"},
		{"segment record", func(r *pb.StateRequest) { r.MetadataJson = strings.Replace(stored, `100,200`, `200,100`, 1) },
			layout.ErrInvalid, "georep.segment.1.bucketStarts"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := proto.Clone(&good).(*pb.StateRequest)
			c.edit(r)
			if _, err := BuildState(r); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("BuildState: %v, want %v with %q", err, c.is, c.text)
			}
		})
	}
	r := proto.Clone(&good).(*pb.StateRequest)
	r.MetadataJson = strings.Replace(stored, "georep.instance", "other.instance", 1)
	s, err := BuildState(r)
	if err != nil || s.GetInstance() != "" {
		t.Errorf("without an instance: %q, %v", s.GetInstance(), err)
	}
}

func TestToLayoutNamesTheField(t *testing.T) {
	for field, edit := range map[string]func(s *pb.Segment){
		"range: absent":      func(s *pb.Segment) { s.Range = nil },
		"range: 0..70000":    func(s *pb.Segment) { s.Range.End = 70000 },
		"state":              func(s *pb.Segment) { s.State = 0 },
		"profile":            func(s *pb.Segment) { s.Profile = 0 },
		"bucketStarts[1]":    func(s *pb.Segment) { s.BucketStarts = []uint32{5, 65536} },
		"0.bucketStarts":     func(s *pb.Segment) { s.BucketStarts = []uint32{5, 5} },
		"is still active":    func(s *pb.Segment) { s.Id, s.Parents = 2, []uint64{1} },
		"is not older":       func(s *pb.Segment) { s.Parents = []uint64{5} },
		"no active segment ": func(s *pb.Segment) { s.Range.Start = 5 },
	} {
		s := active(0, 0, 32767, pip486)
		edit(s)
		_, err := ToLayout(&pb.Layout{Segments: []*pb.Segment{s, active(1, 32768, 65535, pip486)}})
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v, want %q in it", err, field)
		}
		if err != nil && !errors.Is(err, ErrMessage) && !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("error %v wraps no sentinel", err)
		}
	}
}
