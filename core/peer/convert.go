// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"errors"
	"fmt"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
)

// ErrMessage marks a message whose field holds what its type can not.
var ErrMessage = errors.New("peer: bad message")

// FromLayout returns the message of a layout; it copies what it takes.
func FromLayout(l *layout.Layout) *pb.Layout {
	out := &pb.Layout{Epoch: l.Epoch()}
	for _, s := range l.Segments() {
		out.Segments = append(out.Segments, fromSegment(s))
	}
	return out
}

func fromSegment(s *layout.Segment) *pb.Segment {
	out := &pb.Segment{
		Id:           s.ID,
		Range:        &pb.Range{Start: uint32(s.Range.Start), End: uint32(s.Range.End)},
		State:        pb.SegmentState(s.State),
		Parents:      append([]uint64(nil), s.Parents...),
		Children:     append([]uint64(nil), s.Children...),
		Profile:      pb.Profile(s.Profile),
		BucketsKnown: s.BucketsKnown,
		CutCap:       s.CutCap,
		Legacy:       s.Legacy,
	}
	for _, b := range s.Buckets {
		out.BucketStarts = append(out.BucketStarts, uint32(b))
	}
	return out
}

// ToLayout checks a message and returns the layout that it describes. Errors
// wrap [ErrMessage] or layout.ErrInvalid and name the field.
func ToLayout(m *pb.Layout) (*layout.Layout, error) {
	if m == nil {
		return nil, fmt.Errorf("%w: layout: absent", ErrMessage)
	}
	if n := len(m.GetSegments()); n > layout.MaxSegments {
		return nil, fmt.Errorf("%w: layout.segments: %d are above the cap of %d", ErrMessage, n, layout.MaxSegments)
	}
	segs := make([]layout.Segment, 0, len(m.GetSegments()))
	for i, s := range m.GetSegments() {
		seg, err := toSegment(s)
		if err != nil {
			return nil, fmt.Errorf("%w: layout.segments[%d].%w", ErrMessage, i, err)
		}
		segs = append(segs, seg)
	}
	return layout.New(m.GetEpoch(), segs)
}

func toSegment(s *pb.Segment) (out layout.Segment, err error) {
	r, err := ToRange(s.GetRange())
	if err != nil {
		return out, err
	}
	out = layout.Segment{
		ID:           s.GetId(),
		Range:        r,
		Parents:      s.GetParents(),
		Children:     s.GetChildren(),
		BucketsKnown: s.GetBucketsKnown(),
		CutCap:       s.GetCutCap(),
		Legacy:       s.GetLegacy(),
	}
	switch s.GetState() {
	case pb.SegmentState_SEGMENT_STATE_ACTIVE:
		out.State = layout.Active
	case pb.SegmentState_SEGMENT_STATE_SEALED:
		out.State = layout.Sealed
	default:
		return out, fmt.Errorf("state: %v", s.GetState())
	}
	if out.Profile, err = ToProfile(s.GetProfile()); err != nil {
		return out, err
	}
	for i, b := range s.GetBucketStarts() {
		if b > 0xFFFF {
			return out, fmt.Errorf("bucketStarts[%d]: %d is above 65535", i, b)
		}
		out.Buckets = append(out.Buckets, uint16(b))
	}
	return out, nil
}

// ToRange returns the range of a message, or an error that names the field.
func ToRange(r *pb.Range) (layout.Range, error) {
	switch {
	case r == nil:
		return layout.Range{}, errors.New("range: absent")
	case r.GetEnd() > 0xFFFF || r.GetStart() > r.GetEnd():
		return layout.Range{}, fmt.Errorf("range: %d..%d is no range within 0..65535", r.GetStart(), r.GetEnd())
	}
	return layout.Range{Start: uint16(r.GetStart()), End: uint16(r.GetEnd())}, nil
}

// ToProfile returns the routing profile of a message.
func ToProfile(p pb.Profile) (keyhash.Profile, error) {
	switch p {
	case pb.Profile_PROFILE_M1:
		return keyhash.M1, nil
	case pb.Profile_PROFILE_PIP486:
		return keyhash.PIP486, nil
	}
	return 0, fmt.Errorf("profile: %v", p)
}
