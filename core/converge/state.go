// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"georep/core/internal/mutant"
	"georep/core/layout"
)

// ErrState marks a peer's state that is refused; the text names the field.
var ErrState = errors.New("converge: bad state")

// Caps on what a peer may say. What is above them is refused before it is kept.
const (
	MaxSegments = 16384   // active segments of a state
	MaxBuckets  = 1 << 17 // bucket starts of all segments of a state together
	MaxCounter  = 1 << 48 // epoch, term and counter: a higher one would lock out all later states
	MaxCap      = 1 << 20 // what a cluster may name as its cap
	MaxName     = 256     // bytes of a cluster's name or an instance id
)

// Version orders the states of one instance of a topic.
type Version struct{ Epoch, Term, Counter uint64 }

// Compare orders by epoch, then leader term, then counter.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, o.Epoch), cmp.Compare(v.Term, o.Term), cmp.Compare(v.Counter, o.Counter))
}

// String returns "epoch.term.counter".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Epoch, v.Term, v.Counter) }

// ColdBuckets are the bucket starts that a cluster holds only until nobody needs
// them, in the segment that starts at Segment.
type ColdBuckets struct {
	Segment uint16
	Starts  []uint16 // rising, each one a bucket start of that segment
}

// State is all that a cluster says of a topic's layout. It is immutable.
type State struct {
	Cluster, Instance string
	Version           Version
	Shape             layout.Shape
	Caps              layout.Caps
	Cold              []uint16      // boundaries that the cluster would remove, rising
	ColdBuckets       []ColdBuckets // rising by segment
	Splits            layout.SplitLog
}

// Check finds what no honest peer says. Errors wrap [ErrState].
func (s *State) Check() error {
	switch {
	case s.Cluster == "" || len(s.Cluster) > MaxName:
		return fmt.Errorf("%w: cluster: %d bytes", ErrState, len(s.Cluster))
	case s.Instance == "" || len(s.Instance) > MaxName:
		return fmt.Errorf("%w: instance: %d bytes", ErrState, len(s.Instance))
	case s.Version.Epoch > MaxCounter || s.Version.Term > MaxCounter || s.Version.Counter > MaxCounter:
		return fmt.Errorf("%w: version: %s is above %d", ErrState, s.Version, uint64(MaxCounter))
	case s.Caps.MaxSegments < 1 || s.Caps.MaxSegments > MaxCap:
		return fmt.Errorf("%w: caps: max_segments %d is not in 1..%d", ErrState, s.Caps.MaxSegments, MaxCap)
	case s.Caps.MaxBuckets < 1 || s.Caps.MaxBuckets > MaxCap:
		return fmt.Errorf("%w: caps: max_buckets %d is not in 1..%d", ErrState, s.Caps.MaxBuckets, MaxCap)
	case s.Shape.Len() > MaxSegments:
		return fmt.Errorf("%w: segments: %d are above the cap of %d", ErrState, s.Shape.Len(), MaxSegments)
	case len(s.Splits) > MaxSegments:
		return fmt.Errorf("%w: splits: %d are above the cap of %d", ErrState, len(s.Splits), MaxSegments)
	}
	if _, err := layout.NewShape(s.Shape.Profile, s.Shape.Starts, s.Shape.Buckets); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	all := 0
	for _, b := range s.Shape.Buckets {
		if all += len(b); all > MaxBuckets {
			return fmt.Errorf("%w: buckets: more than %d", ErrState, MaxBuckets)
		}
	}
	if err := s.Splits.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return s.checkCold()
}

func (s *State) checkCold() error {
	for i, at := range s.Cold {
		if i > 0 && at <= s.Cold[i-1] {
			return fmt.Errorf("%w: cold[%d]: %d is not above %d", ErrState, i, at, s.Cold[i-1])
		}
		if at == 0 || !s.Shape.HasBoundary(at) {
			return fmt.Errorf("%w: cold[%d]: no boundary at %d", ErrState, i, at)
		}
	}
	for i, c := range s.ColdBuckets {
		if i > 0 && c.Segment <= s.ColdBuckets[i-1].Segment {
			return fmt.Errorf("%w: cold_buckets[%d]: %d is not above %d", ErrState, i, c.Segment,
				s.ColdBuckets[i-1].Segment)
		}
		if !s.Shape.HasBoundary(c.Segment) {
			return fmt.Errorf("%w: cold_buckets[%d]: no segment starts at %d", ErrState, i, c.Segment)
		}
		for j, b := range c.Starts {
			if _, has := slices.BinarySearch(s.Shape.Buckets[s.Shape.Index(c.Segment)], b); !has ||
				j > 0 && b <= c.Starts[j-1] {
				return fmt.Errorf("%w: cold_buckets[%d].starts[%d]: %d is no bucket start there, or out of order",
					ErrState, i, j, b)
			}
		}
	}
	return nil
}

// same says whether s and o say the same, versions aside.
func (s *State) same(o *State) bool {
	return s.Instance == o.Instance && s.Caps == o.Caps && s.Shape.Equal(o.Shape) && slices.Equal(s.Cold, o.Cold) &&
		slices.EqualFunc(s.ColdBuckets, o.ColdBuckets, func(a, b ColdBuckets) bool {
			return a.Segment == b.Segment && slices.Equal(a.Starts, b.Starts)
		}) && slices.Equal(s.Splits, o.Splits)
}

// coldAt says whether the boundary is marked cold.
func (s *State) coldAt(at uint16) bool {
	_, cold := slices.BinarySearch(s.Cold, at)
	return cold
}

// coldIn returns the bucket starts marked cold in the segment that starts at.
func (s *State) coldIn(at uint16) []uint16 {
	for _, c := range s.ColdBuckets {
		if c.Segment == at {
			return c.Starts
		}
	}
	return nil
}

// bounds returns the boundaries between segments that others have to follow: those
// that are not cold. No buckets.
func (s *State) bounds() layout.Shape {
	out := layout.Shape{Profile: s.Shape.Profile}
	for _, at := range s.Shape.Starts {
		if at == 0 || !s.coldAt(at) {
			out.Starts = append(out.Starts, at)
		}
	}
	out.Buckets = make([][]uint16, len(out.Starts))
	return out
}

// buckets returns the shape with the bucket starts that others have to follow, and
// all boundaries.
func (s *State) buckets() layout.Shape {
	if len(s.ColdBuckets) == 0 {
		return s.Shape
	}
	out := s.Shape
	out.Buckets = slices.Clone(out.Buckets)
	for _, c := range s.ColdBuckets {
		i := s.Shape.Index(c.Segment)
		out.Buckets[i] = without(out.Buckets[i], c.Starts)
	}
	return out
}

// follow returns the coarsest shape that has every boundary of base, and all that
// the states need. First the boundaries: a bucket start that is needed on one side
// of a boundary is not needed on the other. The error wraps [layout.ErrProfile].
func follow(base layout.Shape, states ...*State) (layout.Shape, error) {
	out := base
	var err error
	for _, s := range states {
		bounds := s.bounds()
		if mutant.On(mutant.OwnColdFolded) {
			bounds = s.Shape
		}
		if out, err = layout.Join(out, bounds); err != nil {
			return out, err
		}
	}
	bounds := out.Starts
	for _, s := range states {
		finer, err := layout.Join(out, s.buckets())
		if err != nil {
			return out, err
		}
		out = at(finer, bounds)
	}
	return out, nil
}

// at returns s cut at the boundaries only, which are some of its own; segments that
// come together have the bucket starts of both.
func at(s layout.Shape, bounds []uint16) layout.Shape {
	if len(bounds) == s.Len() {
		return s
	}
	out := layout.Shape{Profile: s.Profile, Starts: bounds, Buckets: make([][]uint16, len(bounds))}
	j := -1
	for i, start := range s.Starts {
		if j+1 < len(bounds) && bounds[j+1] == start {
			j++
			out.Buckets[j] = s.Buckets[i]
		} else {
			out.Buckets[j] = layout.UnionStarts(out.Buckets[j], s.Buckets[i])
		}
	}
	return out
}

// needs says whether the cluster still needs the bucket start b anywhere in r.
func (s *State) needs(r layout.Range, b uint16) bool {
	for i := s.Shape.Index(r.Start); i < s.Shape.Len() && s.Shape.Starts[i] <= r.End; i++ {
		_, has := slices.BinarySearch(s.Shape.Buckets[i], b)
		_, cold := slices.BinarySearch(s.coldIn(s.Shape.Starts[i]), b)
		if has && !cold {
			return true
		}
	}
	return false
}

// without returns list less what is in gone, list itself where nothing goes.
func without(list, gone []uint16) []uint16 {
	if len(gone) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(b uint16) bool {
		_, goes := slices.BinarySearch(gone, b)
		return goes
	})
}
