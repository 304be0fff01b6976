// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"georep/core/layout"
	"georep/core/pb"
)

func TestGone(t *testing.T) {
	sealed := active(3, 0, 65535, m1)
	sealed.State, sealed.Children = pb.SegmentState_SEGMENT_STATE_SEALED, []uint64{4, 5}
	s := state("eu", sealed, withParent(active(4, 0, 99, m1), 3), withParent(active(5, 100, 65535, m1), 3))
	entry := func(cluster, instance string, segment, generation uint64) *pb.DedupEntry {
		return &pb.DedupEntry{Key: &pb.OriginKey{Cluster: cluster, Instance: instance, Segment: segment, Generation: generation},
			Position: &pb.Position{Ledger: 1, Entry: 2}}
	}
	got, err := Gone(s, &pb.DedupStatus{Entries: []*pb.DedupEntry{
		entry("eu", "0123", 3, 1), // sealed, but there
		entry("eu", "0123", 4, 1),
		entry("eu", "0123", 2, 1), // pruned
		entry("eu", "0123", 9, 1), // above every id: the status is older than the state, so it has come and gone
		entry("eu", "ffff", 4, 7), // an earlier life of the topic
		entry("us", "ffff", 2, 1), // another cluster's
		{},                        // says nothing
	}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range got.GetKeys() {
		keys = append(keys, fmt.Sprintf("%s/%s/%d/%d", k.GetCluster(), k.GetInstance(), k.GetSegment(), k.GetGeneration()))
	}
	if want := []string{"eu/0123/2/1", "eu/0123/9/1", "eu/ffff/4/7"}; !slices.Equal(keys, want) {
		t.Errorf("gone: %v, want %v", keys, want)
	}
}

// A state that does not say what this cluster has lets nothing be forgotten.
func TestGoneNeedsAWholeState(t *testing.T) {
	held := &pb.DedupStatus{Entries: []*pb.DedupEntry{{Key: &pb.OriginKey{Cluster: "eu", Instance: "0123", Segment: 7}}}}
	for name, edit := range map[string]func(*pb.PeerState){
		"no cluster":  func(s *pb.PeerState) { s.Cluster = "" },
		"no instance": func(s *pb.PeerState) { s.Instance = "" },
		"no layout":   func(s *pb.PeerState) { s.Layout = nil },
		"a hole":      func(s *pb.PeerState) { s.Layout.Segments[0].Range.End = 9 },
		"no segments": func(s *pb.PeerState) { s.Layout.Segments = nil },
	} {
		s := state("eu", active(0, 0, 65535, m1))
		edit(s)
		got, err := Gone(s, held)
		if !errors.Is(err, ErrMessage) && !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
		if got != nil {
			t.Errorf("%s: gone %v", name, got)
		}
	}
	if _, err := Gone(nil, held); err == nil {
		t.Error("no state: no error")
	}
	if got, err := Gone(state("eu", active(0, 0, 65535, m1)), nil); err != nil || len(got.GetKeys()) != 0 {
		t.Errorf("no status: %v, %v", got, err)
	}
}
