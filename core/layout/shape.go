// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"slices"

	"georep/core/keyhash"
)

// ErrNoRing marks a layout that cannot be joined: an active segment of it is a
// legacy one (PIP-475), or its buckets are not known.
var ErrNoRing = errors.New("layout: no ring")

// ErrProfile marks two shapes whose clusters route differently.
var ErrProfile = errors.New("layout: profiles differ")

// Shape is what of a layout converges: the boundaries on both rings, without ids,
// lineage or history. It is immutable; shapes share their slices.
//
//	Starts   0          0x4000      0x8000               start of each segment, rising, the first 0
//	Buckets  [0x8000]   []          [0x4000 0x8000 …]    starts of buckets 1.. of each, rising
type Shape struct {
	Profile keyhash.Profile
	Starts  []uint16
	Buckets [][]uint16
}

// ShapeOf returns the shape of l's active segments. The error wraps [ErrNoRing].
func ShapeOf(l *Layout) (Shape, error) {
	if err := l.checkShape(); err != nil {
		return Shape{}, err
	}
	s := Shape{Profile: l.profile, Starts: make([]uint16, len(l.ring)), Buckets: make([][]uint16, len(l.ring))}
	for i, seg := range l.ring {
		s.Starts[i], s.Buckets[i] = seg.Range.Start, seg.Buckets
	}
	return s, nil
}

// checkShape says why l has no shape, or nil.
func (l *Layout) checkShape() error {
	if !l.HasRing() {
		return fmt.Errorf("%w: segments: some active ones are legacy", ErrNoRing)
	}
	for _, seg := range l.ring {
		if !seg.BucketsKnown {
			return fmt.Errorf("%w: segments.%d: its buckets are not known", ErrNoRing, seg.ID)
		}
	}
	return nil
}

// NewShape checks what a peer says of its shape. Errors wrap [ErrInvalid] and
// name the index.
func NewShape(profile keyhash.Profile, starts []uint16, buckets [][]uint16) (Shape, error) {
	s := Shape{Profile: profile, Starts: starts, Buckets: buckets}
	switch {
	case profile != keyhash.M1 && profile != keyhash.PIP486:
		return Shape{}, fmt.Errorf("%w: profile: %d is unknown", ErrInvalid, profile)
	case len(starts) == 0 || starts[0] != 0:
		return Shape{}, fmt.Errorf("%w: starts[0]: the first segment has to start at 0", ErrInvalid)
	case len(buckets) != len(starts):
		return Shape{}, fmt.Errorf("%w: buckets: %d lists for %d segments", ErrInvalid, len(buckets), len(starts))
	}
	for i := 1; i < len(starts); i++ {
		if starts[i] <= starts[i-1] {
			return Shape{}, fmt.Errorf("%w: starts[%d]: %d is not above %d", ErrInvalid, i, starts[i], starts[i-1])
		}
	}
	for i, list := range buckets {
		last := uint16(0)
		for j, b := range list {
			if profile == keyhash.M1 {
				return Shape{}, fmt.Errorf("%w: buckets[%d]: profile m1 has no buckets", ErrInvalid, i)
			}
			if b <= last {
				return Shape{}, fmt.Errorf("%w: buckets[%d][%d]: %d is not above %d", ErrInvalid, i, j, b, last)
			}
			last = b
		}
	}
	return s, nil
}

// Len returns the number of segments.
func (s Shape) Len() int { return len(s.Starts) }

// Range returns the range of segment i.
func (s Shape) Range(i int) Range {
	r := Range{Start: s.Starts[i], End: 0xFFFF}
	if i+1 < len(s.Starts) {
		r.End = s.Starts[i+1] - 1
	}
	return r
}

// Index returns the segment that holds h.
func (s Shape) Index(h uint16) int {
	i, found := slices.BinarySearch(s.Starts, h)
	if found {
		return i
	}
	return i - 1
}

// HasBoundary says whether a segment starts at h.
func (s Shape) HasBoundary(h uint16) bool {
	_, found := slices.BinarySearch(s.Starts, h)
	return found
}

// MaxBuckets returns the largest number of buckets of a segment, at least 1.
func (s Shape) MaxBuckets() int {
	n := 0
	for _, b := range s.Buckets {
		n = max(n, len(b))
	}
	return n + 1
}

// Equal says whether s and o have the same boundaries on both rings.
func (s Shape) Equal(o Shape) bool {
	return s.Profile == o.Profile && slices.Equal(s.Starts, o.Starts) &&
		slices.EqualFunc(s.Buckets, o.Buckets, sameStarts)
}

// Covers says whether every boundary of o, on both rings, is one of s.
func (s Shape) Covers(o Shape) bool {
	j, err := Join(s, o)
	return err == nil && j.Equal(s)
}

// sameStarts compares two bucket lists, and knows a shared one at once.
func sameStarts(a, b []uint16) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b)
}
