// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/pb"
)

const topic = "topic://public/default/orders"

func active(id uint64, start, end uint32, profile pb.Profile, buckets ...uint32) *pb.Segment {
	return &pb.Segment{Id: id, Range: &pb.Range{Start: start, End: end}, State: pb.SegmentState_SEGMENT_STATE_ACTIVE,
		Profile: profile, BucketsKnown: true, BucketStarts: buckets}
}

func state(cluster string, segments ...*pb.Segment) *pb.PeerState {
	return &pb.PeerState{ProtocolVersion: ProtocolVersion, PluginVersion: "0.1.0", Cluster: cluster, Topic: topic,
		Instance: "0123", Layout: &pb.Layout{Epoch: 1, Segments: segments}}
}

const (
	m1     = pb.Profile_PROFILE_M1
	pip486 = pb.Profile_PROFILE_PIP486
)

func TestCheck(t *testing.T) {
	legacy := func(s *pb.Segment) *pb.Segment { s.Legacy = "persistent://public/default/orders-partition-0"; return s }
	sealed := func(s *pb.Segment, child uint64) *pb.Segment {
		s.State, s.Children = pb.SegmentState_SEGMENT_STATE_SEALED, []uint64{child}
		return s
	}
	cases := []struct {
		name          string
		local, remote *pb.PeerState
		edit          func(local, remote *pb.PeerState)
		verdict       pb.PeerVerdict
		reason        string
		detail        string
	}{
		{name: "the same shape", local: state("eu", active(0, 0, 65535, pip486)), remote: state("us", active(0, 0, 65535, pip486)),
			verdict: pb.PeerVerdict_PEER_VERDICT_SUPPORTED},
		{name: "another shape and buckets", local: state("eu", active(0, 0, 65535, pip486)),
			remote:  state("us", active(3, 0, 999, pip486, 7, 9), active(4, 1000, 65535, pip486)),
			verdict: pb.PeerVerdict_PEER_VERDICT_SUPPORTED},
		{name: "no answer", local: state("eu", active(0, 0, 65535, m1)), remote: nil,
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonNoState, detail: "plugin"},
		{name: "newer protocol", edit: func(_, r *pb.PeerState) { r.ProtocolVersion++ },
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonProtocolVersion, detail: "version 2"},
		{name: "own instance missing", edit: func(l, _ *pb.PeerState) { l.Instance = "" },
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonLocalState},
		{name: "remote instance missing", edit: func(_, r *pb.PeerState) { r.Instance = "" },
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonNoInstance},
		{name: "itself", edit: func(_, r *pb.PeerState) { r.Cluster = "eu" },
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonSameCluster, detail: "eu"},
		{name: "another topic", edit: func(_, r *pb.PeerState) { r.Topic += "2" },
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonTopic, detail: "orders2"},
		{name: "no layout", edit: func(_, r *pb.PeerState) { r.Layout = nil },
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonLayout, detail: "absent"},
		{name: "a hole in the ring", edit: func(_, r *pb.PeerState) { r.Layout.Segments[0].Range.End = 9 },
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonLayout, detail: "10..65535"},
		{name: "own layout broken", edit: func(l, _ *pb.PeerState) { l.Layout.Segments[0].Range = nil },
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonLocalState, detail: "range"},
		{name: "profiles differ", local: state("eu", active(0, 0, 65535, m1)), remote: state("us", active(0, 0, 65535, pip486)),
			verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, reason: ReasonProfile, detail: "by m1, the remote by pip486"},
		{name: "profiles of sealed segments do not matter",
			local:   state("eu", sealed(active(0, 0, 65535, m1), 1), withParent(active(1, 0, 65535, pip486), 0)),
			remote:  state("us", active(0, 0, 65535, pip486)),
			verdict: pb.PeerVerdict_PEER_VERDICT_SUPPORTED},
		{name: "legacy destination", local: state("eu", active(0, 0, 65535, m1)), remote: state("us", legacy(active(0, 0, 65535, m1))),
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonLegacy, detail: "orders-partition-0"},
		{name: "legacy source", local: state("eu", legacy(active(0, 0, 65535, m1))), remote: state("us", active(0, 0, 65535, pip486)),
			verdict: pb.PeerVerdict_PEER_VERDICT_SUPPORTED},
		{name: "buckets not known", edit: func(_, r *pb.PeerState) { r.Layout.Segments[0].BucketsKnown = false },
			verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, reason: ReasonBucketsUnknown, detail: "segment 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			local, remote := c.local, c.remote
			if c.edit != nil {
				local, remote = state("eu", active(0, 0, 65535, pip486)), state("us", active(0, 0, 65535, pip486))
				c.edit(local, remote)
			}
			got := Check(local, remote)
			if got.GetVerdict() != c.verdict || got.GetReason() != c.reason || !strings.Contains(got.GetDetail(), c.detail) {
				t.Errorf("Check = %v", got)
			}
			if (c.reason == "") != (got.GetDetail() == "") {
				t.Errorf("reason %q with detail %q", c.reason, got.GetDetail())
			}
		})
	}
}

// A remote prepares its topic for a caller that may write to it afterwards, and
// for no other.
func TestCheckPrepare(t *testing.T) {
	cases := []struct {
		name    string
		edit    func(local, remote *pb.PeerState)
		reason  string
		prepare bool
	}{
		{"nothing lacks", func(_, _ *pb.PeerState) {}, "", false},
		{"no instance", func(_, r *pb.PeerState) { r.Instance = "" }, ReasonNoInstance, true},
		{"no bucket list", func(_, r *pb.PeerState) { r.Layout.Segments[0].BucketsKnown = false }, ReasonBucketsUnknown, true},
		{"neither", func(_, r *pb.PeerState) { r.Instance, r.Layout.Segments[0].BucketsKnown = "", false }, ReasonNoInstance, true},
		{"another profile", func(_, r *pb.PeerState) { r.Instance, r.Layout.Segments[0].Profile = "", m1 }, ReasonProfile, false},
		{"a legacy topic", func(_, r *pb.PeerState) { r.Instance, r.Layout.Segments[0].Legacy = "", "persistent://a/b/c" }, ReasonLegacy, false},
		{"another topic", func(_, r *pb.PeerState) { r.Instance, r.Topic = "", r.Topic+"2" }, ReasonTopic, false},
		{"the remote itself", func(l, r *pb.PeerState) { r.Instance, r.Cluster = "", l.Cluster }, ReasonSameCluster, false},
		{"a caller without instance", func(l, r *pb.PeerState) { l.Instance, r.Instance = "", "" }, ReasonLocalState, false},
		{"a caller without layout", func(l, r *pb.PeerState) { l.Layout, r.Instance = nil, "" }, ReasonLocalState, false},
		{"another protocol", func(l, r *pb.PeerState) { l.ProtocolVersion, r.Instance = 0, "" }, ReasonProtocolVersion, false},
	}
	for _, c := range cases {
		local, remote := state("eu", active(0, 0, 65535, pip486)), state("us", active(0, 0, 65535, pip486))
		c.edit(local, remote)
		if got := Check(local, remote); got.GetPrepare() != c.prepare || got.GetReason() != c.reason {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func withParent(s *pb.Segment, parent uint64) *pb.Segment {
	s.Parents = []uint64{parent}
	return s
}

func TestCheckOfNothing(t *testing.T) {
	if got := Check(nil, nil); got.GetReason() != ReasonNoState {
		t.Errorf("Check(nil, nil) = %v", got)
	}
	if got := Check(nil, state("us")); got.GetVerdict() == pb.PeerVerdict_PEER_VERDICT_SUPPORTED {
		t.Errorf("Check(nil, us) = %v", got)
	}
}

// FuzzCheck: whatever a peer sends gets a verdict, and a layout that is accepted
// comes back from its message unchanged.
func FuzzCheck(f *testing.F) {
	for _, s := range []*pb.PeerState{
		state("us", active(0, 0, 65535, pip486, 1, 2, 3)),
		state("us", active(1, 0, 32767, m1), active(2, 32768, 65535, m1)),
	} {
		b, err := proto.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	local := state("eu", active(0, 0, 65535, pip486))
	f.Fuzz(func(t *testing.T, b []byte) {
		var remote pb.PeerState
		if proto.Unmarshal(b, &remote) != nil {
			return
		}
		c := Check(local, &remote)
		if c.GetVerdict() == pb.PeerVerdict_PEER_VERDICT_UNSPECIFIED {
			t.Fatalf("no verdict: %v", c)
		}
		l, err := ToLayout(remote.GetLayout())
		if err != nil {
			if c.GetVerdict() == pb.PeerVerdict_PEER_VERDICT_SUPPORTED {
				t.Fatalf("supported with a layout that does not hold: %v", err)
			}
			return
		}
		again, err := ToLayout(FromLayout(l))
		if err != nil || !proto.Equal(FromLayout(l), FromLayout(again)) {
			t.Fatalf("layout changes on its way: %v", err)
		}
	})
}
