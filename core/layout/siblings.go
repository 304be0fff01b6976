// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"georep/core/internal/mutant"
)

// ErrMerge marks a merge that is not legal; the text says why.
var ErrMerge = errors.New("layout: no legal merge")

// Cut is one boundary that a split made, and the range that it cut.
type Cut struct {
	At     uint16
	Parent Range // holds At, which is not its start
}

// SplitLog remembers of every boundary which range it once cut, so that clusters
// merge in the order in which they split, backwards, and their layouts nest. It
// is durable with the topic, exchanged, and joined: of two records of the same
// boundary the wider range wins, the lower start among equals, so that all
// clusters come to the same tree. Rising by boundary.
type SplitLog []Cut

// Record returns the log with the cuts of ops added, in a new slice.
func (g SplitLog) Record(l *Layout, ops []Op) SplitLog {
	var more SplitLog
	for _, op := range ops {
		if op.Kind != SplitMidpoint && op.Kind != SplitExplicit ||
			op.Kind == SplitExplicit && mutant.On(mutant.ExplicitCutUnlogged) {
			continue
		}
		if p := l.Get(op.Parents[0]); p != nil {
			at := make([]uint16, 0, len(op.Children))
			for _, c := range op.Children[1:] {
				at = append(at, c.Range.Start)
			}
			more = more.cut(p.Range, at)
		}
	}
	slices.SortFunc(more, compareCuts)
	return g.Join(more)
}

// cut appends what a split of r at the boundaries given, rising, is to be undone by.
// Where the midpoint of r is one of them, r was cut there first, and then its halves were:
// so did the cluster that this one follows in one step, and what was merged in another
// order would not nest with it any more. Else all pieces are halves of one another.
func (g SplitLog) cut(r Range, at []uint16) SplitLog {
	mid, ok := Midpoint(r)
	i, found := slices.BinarySearch(at, mid)
	if !ok || !found || mutant.On(mutant.DeepCutFlat) {
		for _, b := range at {
			g = append(g, Cut{At: b, Parent: r})
		}
		return g
	}
	g = append(g.cut(Range{r.Start, mid - 1}, at[:i]), Cut{At: mid, Parent: r})
	return g.cut(Range{mid, r.End}, at[i+1:])
}

// Join returns what both logs know. Commutative, associative, idempotent.
func (g SplitLog) Join(o SplitLog) SplitLog {
	out := make(SplitLog, 0, len(g)+len(o))
	for i, j := 0, 0; i < len(g) || j < len(o); {
		switch {
		case j == len(o) || i < len(g) && g[i].At < o[j].At:
			out, i = append(out, g[i]), i+1
		case i == len(g) || o[j].At < g[i].At:
			out, j = append(out, o[j]), j+1
		default:
			c := g[i]
			if wider(o[j].Parent, c.Parent) {
				c = o[j]
			}
			out, i, j = append(out, c), i+1, j+1
		}
	}
	return out
}

// Keep returns the log without boundaries that no shape has any more: they may be
// made anew, by another split.
func (g SplitLog) Keep(shapes ...Shape) SplitLog {
	return slices.DeleteFunc(slices.Clone(g), func(c Cut) bool {
		return !slices.ContainsFunc(shapes, func(s Shape) bool { return s.HasBoundary(c.At) })
	})
}

// Check finds what a peer must not say. Errors wrap [ErrInvalid] and name the index.
func (g SplitLog) Check() error {
	for i, c := range g {
		switch {
		case c.At <= c.Parent.Start || c.At > c.Parent.End:
			return fmt.Errorf("%w: splits[%d]: %d does not cut %s", ErrInvalid, i, c.At, c.Parent)
		case i > 0 && c.At <= g[i-1].At:
			return fmt.Errorf("%w: splits[%d]: %d is not above %d", ErrInvalid, i, c.At, g[i-1].At)
		}
	}
	return nil
}

// Find returns the record of the boundary at.
func (g SplitLog) Find(at uint16) (Cut, bool) {
	i, found := slices.BinarySearchFunc(g, at, func(c Cut, at uint16) int { return cmp.Compare(c.At, at) })
	if !found {
		return Cut{}, false
	}
	return g[i], true
}

// Siblings says whether the two segments of s that meet at the boundary are halves
// of one recorded split, so that they may be merged: nil, or an error that wraps
// [ErrMerge]. Where the split is not recorded, they have to be the two halves of
// a dyadic range (start a multiple of its width, a power of two).
//
// Halves may have been cut further and merged again. Pieces of a split in
// several pieces are halves of one another where no midpoint cut comes between.
func (g SplitLog) Siblings(s Shape, boundary uint16) error {
	i, found := slices.BinarySearch(s.Starts, boundary)
	if !found || i == 0 {
		return fmt.Errorf("%w: no segment starts at %d", ErrMerge, boundary)
	}
	left, right := s.Range(i-1), s.Range(i)
	cut, known := g.Find(boundary)
	if !known {
		w := width(left)
		if w == w&-w && w == width(right) && int(left.Start)%(2*w) == 0 {
			return nil
		}
		return fmt.Errorf("%w: no split at %d is recorded, and %s and %s are no dyadic halves", ErrMerge, boundary,
			left, right)
	}
	if n := left.Start; n > cut.Parent.Start && g.deeper(n, cut) {
		return fmt.Errorf("%w: %s was cut out of %s after the split at %d", ErrMerge, left, cut.Parent, boundary)
	}
	if n := int(right.End) + 1; n <= int(cut.Parent.End) && g.deeper(uint16(n), cut) {
		return fmt.Errorf("%w: %s was cut out of %s after the split at %d", ErrMerge, right, cut.Parent, boundary)
	}
	return nil
}

// deeper says whether the boundary n, inside the range that c cut, was made
// after c. One that is not recorded was.
func (g SplitLog) deeper(n uint16, c Cut) bool {
	o, known := g.Find(n)
	return !known || width(o.Parent) < width(c.Parent)
}

// MergeOp returns the merge of the two active segments of l that meet at the
// boundary; the merged segment has the buckets of both. Errors wrap [ErrMerge].
func MergeOp(l *Layout, g SplitLog, boundary uint16) (Op, error) {
	s, err := ShapeOf(l)
	if err != nil {
		return Op{}, fmt.Errorf("%w: %w", ErrMerge, err)
	}
	if err := g.Siblings(s, boundary); err != nil {
		return Op{}, err
	}
	i := s.Index(boundary)
	a, b := l.ring[i-1], l.ring[i]
	return Op{Kind: Merge, Parents: []uint64{a.ID, b.ID}, Children: []Child{{
		Range: Range{a.Range.Start, b.Range.End}, Buckets: new(unionMemo).union(a.Buckets, b.Buckets)}}}, nil
}

func width(r Range) int { return int(r.End) - int(r.Start) + 1 }

func wider(a, b Range) bool {
	return width(a) > width(b) || width(a) == width(b) && a.Start < b.Start
}

func compareCuts(a, b Cut) int { return cmp.Compare(a.At, b.At) }
