// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"

	"georep/core/converge"
	"georep/core/layout"
	"georep/core/pb"
	"georep/core/peer"
)

// hash16 narrows a hash; above 65535 is an error that names the field.
func hash16(v uint32, field string) (uint16, error) {
	if v > 0xFFFF {
		return 0, fmt.Errorf("%w: %s: %d is above 65535", ErrConfig, field, v)
	}
	return uint16(v), nil
}

func hashes16(in []uint32, field string) ([]uint16, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]uint16, len(in))
	for i, v := range in {
		h, err := hash16(v, field)
		if err != nil {
			return nil, err
		}
		out[i] = h
	}
	return out, nil
}

func hashes32(in []uint16) []uint32 {
	if len(in) == 0 {
		return nil
	}
	out := make([]uint32, len(in))
	for i, v := range in {
		out[i] = uint32(v)
	}
	return out
}

// TopicState returns the message of a state.
func TopicState(s *converge.State, topic string) *pb.TopicState {
	if s == nil {
		return nil
	}
	out := &pb.TopicState{Cluster: s.Cluster, Topic: topic, Instance: s.Instance, Epoch: s.Version.Epoch,
		LeaderTerm: s.Version.Term, Counter: s.Version.Counter, Shape: fromShape(s.Shape), Caps: fromCaps(s.Caps)}
	for i, at := range s.Shape.Starts {
		seg := out.Shape.Segments[i]
		for _, c := range s.Cold {
			seg.Cold = seg.Cold || c == at
		}
		for _, c := range s.ColdBuckets {
			if c.Segment == at {
				seg.ColdBucketStarts = hashes32(c.Starts)
			}
		}
	}
	for _, c := range s.Splits {
		out.Splits = append(out.Splits, &pb.Cut{At: uint32(c.At), Parent: fromRange(c.Parent)})
	}
	return out
}

// ToTopicState reads a peer's message; the machine checks what it says. Errors wrap
// [ErrConfig] and name the field.
func ToTopicState(m *pb.TopicState) (*converge.State, error) {
	if m == nil || m.GetShape() == nil {
		return nil, fmt.Errorf("%w: state.shape: absent", ErrConfig)
	}
	shape, err := toShape(m.GetShape())
	if err != nil {
		return nil, err
	}
	s := &converge.State{Cluster: m.GetCluster(), Instance: m.GetInstance(), Shape: shape,
		Version: converge.Version{Epoch: m.GetEpoch(), Term: m.GetLeaderTerm(), Counter: m.GetCounter()},
		Caps:    toCaps(m.GetCaps())}
	for i, seg := range m.GetShape().GetSegments() {
		if seg.GetCold() {
			s.Cold = append(s.Cold, shape.Starts[i])
		}
		if len(seg.GetColdBucketStarts()) > 0 {
			starts, err := hashes16(seg.GetColdBucketStarts(), "shape.segments.coldBucketStarts")
			if err != nil {
				return nil, err
			}
			s.ColdBuckets = append(s.ColdBuckets, converge.ColdBuckets{Segment: shape.Starts[i], Starts: starts})
		}
	}
	for i, c := range m.GetSplits() {
		at, err := hash16(c.GetAt(), "splits.at")
		if err != nil {
			return nil, err
		}
		r, err := peer.ToRange(c.GetParent())
		if err != nil {
			return nil, fmt.Errorf("%w: splits[%d].parent: %w", ErrConfig, i, err)
		}
		s.Splits = append(s.Splits, layout.Cut{At: at, Parent: r})
	}
	return s, nil
}

func fromShape(s layout.Shape) *pb.Shape {
	out := &pb.Shape{Profile: pb.Profile(s.Profile)}
	for i, at := range s.Starts {
		out.Segments = append(out.Segments, &pb.ShapeSegment{Start: uint32(at), BucketStarts: hashes32(s.Buckets[i])})
	}
	return out
}

func toShape(m *pb.Shape) (s layout.Shape, err error) {
	if s.Profile, err = peer.ToProfile(m.GetProfile()); err != nil {
		return s, fmt.Errorf("%w: shape.profile: %w", ErrConfig, err)
	}
	for _, seg := range m.GetSegments() {
		at, err := hash16(seg.GetStart(), "shape.segments.start")
		if err != nil {
			return s, err
		}
		b, err := hashes16(seg.GetBucketStarts(), "shape.segments.bucketStarts")
		if err != nil {
			return s, err
		}
		s.Starts, s.Buckets = append(s.Starts, at), append(s.Buckets, b)
	}
	return s, nil
}

func fromCaps(c layout.Caps) *pb.LayoutCaps {
	return &pb.LayoutCaps{MaxSegments: uint32(c.MaxSegments), MaxBuckets: uint32(c.MaxBuckets)}
}

func toCaps(c *pb.LayoutCaps) layout.Caps {
	return layout.Caps{MaxSegments: int(c.GetMaxSegments()), MaxBuckets: int(c.GetMaxBuckets())}
}

func fromRange(r layout.Range) *pb.Range {
	return &pb.Range{Start: uint32(r.Start), End: uint32(r.End)}
}

func fromOps(ops []layout.Op) (out []*pb.LayoutOp) {
	for _, op := range ops {
		o := &pb.LayoutOp{Kind: pb.LayoutOpKind(op.Kind), Parents: op.Parents}
		for _, c := range op.Children {
			o.Children = append(o.Children, &pb.LayoutChild{Range: fromRange(c.Range), BucketStarts: hashes32(c.Buckets)})
		}
		out = append(out, o)
	}
	return out
}

func fromDiverged(list []layout.Diverged) (out []*pb.DivergedRange) {
	for _, d := range list {
		out = append(out, &pb.DivergedRange{Range: fromRange(d.Range), LocalSegments: uint32(d.Local),
			PeerSegments: uint32(d.Peer), LocalIsCoarser: d.LocalIsCoarser, PeerIsCoarser: d.PeerIsCoarser})
	}
	return out
}
