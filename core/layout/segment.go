// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"strings"

	"georep/core/keyhash"
)

// ErrInvalid marks a layout that breaks a rule; the text names the segment and field.
var ErrInvalid = errors.New("layout: invalid")

// Caps of a layout. A larger one is refused before anything is built from it.
const (
	MaxSegments   = 1 << 16 // segments, sealed ones included
	MaxEdges      = 1 << 16 // parents, or children, of one segment
	DefaultCutCap = 4 << 20 // bytes; used where a segment records none
)

// State says whether a segment takes writes.
type State uint8

// States of a segment.
const (
	Active State = 1 // takes writes
	Sealed State = 2 // read only, until it is pruned
)

// String returns the state as Pulsar spells it.
func (s State) String() string {
	switch s {
	case Active:
		return "ACTIVE"
	case Sealed:
		return "SEALED"
	}
	return fmt.Sprintf("STATE(%d)", uint8(s))
}

// Segment is one node of the DAG. Range, Profile and Buckets never change
// during its life. The slices belong to the layout and must not be written to.
type Segment struct {
	ID                uint64
	Range             Range
	State             State
	Parents, Children []uint64
	Profile           keyhash.Profile // how its entries were routed
	Buckets           []uint16        // starts of buckets 1.., rising; empty = one bucket
	BucketsKnown      bool            // false: do not write to it
	CutCap            uint32          // uncompressed bytes that a part may hold; 0 = DefaultCutCap
	Legacy            string          // persistent:// topic behind a legacy segment, else ""
}

// Bucket returns the number of the bucket that hashB falls into: the number of
// starts at or below it. Source: PIP-486.
func (s *Segment) Bucket(hashB uint16) int {
	lo, hi := 0, len(s.Buckets)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.Buckets[mid] <= hashB {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// CutBytes returns the cut cap in bytes, with the default filled in.
func (s *Segment) CutBytes() int {
	if s.CutCap == 0 {
		return DefaultCutCap
	}
	return int(s.CutCap)
}

// IsLegacy says whether s wraps a persistent:// topic and so routes by modulo.
func (s *Segment) IsLegacy() bool { return s.Legacy != "" }

func (s *Segment) fault(field, format string, args ...any) error {
	return fmt.Errorf("%w: segments.%d.%s: %s", ErrInvalid, s.ID, field, fmt.Sprintf(format, args...))
}

// validate checks what can be said about s alone.
func (s *Segment) validate() error {
	switch {
	case s.Range.Start > s.Range.End:
		return s.fault("hashRange", "start %d is above end %d", s.Range.Start, s.Range.End)
	case s.State != Active && s.State != Sealed:
		return s.fault("state", "%d is neither ACTIVE nor SEALED", s.State)
	case s.Profile != keyhash.M1 && s.Profile != keyhash.PIP486:
		return s.fault("profile", "%d is unknown", s.Profile)
	case s.Profile == keyhash.M1 && len(s.Buckets) > 0:
		return s.fault("bucketStarts", "profile m1 has no buckets")
	case s.State == Active && len(s.Children) > 0:
		return s.fault("childIds", "an active segment has children")
	case len(s.Parents) > MaxEdges:
		return s.fault("parentIds", "%d are above the cap of %d", len(s.Parents), MaxEdges)
	case len(s.Children) > MaxEdges:
		return s.fault("childIds", "%d are above the cap of %d", len(s.Children), MaxEdges)
	}
	// Ids are given out in rising order, so this also proves that there is no cycle.
	for _, p := range s.Parents {
		if p >= s.ID {
			return s.fault("parentIds", "parent %d is not older than the segment", p)
		}
	}
	for _, c := range s.Children {
		if c <= s.ID {
			return s.fault("childIds", "child %d is not younger than the segment", c)
		}
	}
	return validateStarts(s)
}

func validateStarts(s *Segment) error {
	last := uint16(0)
	for i, b := range s.Buckets {
		if b <= last {
			return s.fault("bucketStarts", "[%d] = %d is not above %d", i, b, last)
		}
		last = b
	}
	return nil
}

// Topic returns the name of the segment's backing topic under the scalable topic
// parent ("topic://tenant/namespace/name"): segment://…/0000-7fff-1, or the
// persistent:// topic of a legacy segment. Source: SegmentTopicName.
func (s *Segment) Topic(parent string) string {
	if s.IsLegacy() {
		return s.Legacy
	}
	return fmt.Sprintf("segment://%s/%s-%d", strings.TrimPrefix(parent, "topic://"), s.Range, s.ID)
}
