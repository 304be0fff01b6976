// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"slices"

	"georep/core/internal/mutant"
)

// ErrCap marks a change beyond the effective caps. It is refused whole.
var ErrCap = errors.New("layout: beyond the caps")

// ErrNotFiner marks a target that lacks a boundary of the local layout: a fold
// only ever adds.
var ErrNotFiner = errors.New("layout: target is not finer")

// Caps bound what a cluster may grow to; 0 means no bound. The effective caps of
// a topic are the minima over the replication set (PIP-495, "Effective caps").
type Caps struct {
	MaxSegments int // active segments
	MaxBuckets  int // buckets of one segment
}

// Min returns the stricter of both, field by field.
func (c Caps) Min(o Caps) Caps {
	return Caps{MaxSegments: minCap(c.MaxSegments, o.MaxSegments), MaxBuckets: minCap(c.MaxBuckets, o.MaxBuckets)}
}

func minCap(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Allow says whether a cluster of shape now may grow to next: nobody grows beyond
// a cap, but a layout that is larger already is left alone. The error wraps
// [ErrCap] and names the cap.
func (c Caps) Allow(now, next Shape) error {
	if n := next.Len(); c.MaxSegments > 0 && n > c.MaxSegments && n > now.Len() {
		return fmt.Errorf("%w: %d segments, %d allowed", ErrCap, n, c.MaxSegments)
	}
	if n := next.MaxBuckets(); c.MaxBuckets > 0 && n > c.MaxBuckets && n > now.MaxBuckets() {
		return fmt.Errorf("%w: %d buckets, %d allowed", ErrCap, n, c.MaxBuckets)
	}
	return nil
}

// OpKind says how one segment, or two, are replaced.
type OpKind uint8

// Kinds of a mutation. Each seals its parents and makes its children at once.
const (
	SplitMidpoint OpKind = 1 // Pulsar's own split, children with the parent's buckets
	SplitExplicit OpKind = 2 // at any number of boundaries, or with other buckets
	Rebucket      OpKind = 3 // same range, other buckets
	Merge         OpKind = 4 // two neighbours into one
)

// String returns the kind as commands print it.
func (k OpKind) String() string {
	switch k {
	case SplitMidpoint:
		return "split-midpoint"
	case SplitExplicit:
		return "split-explicit"
	case Rebucket:
		return "rebucket"
	case Merge:
		return "merge"
	}
	return fmt.Sprintf("op(%d)", uint8(k))
}

// Child is a segment that an operation makes.
type Child struct {
	Range   Range
	Buckets []uint16
}

// Op replaces active segments by others. Parents are ids, by start of range.
type Op struct {
	Kind     OpKind
	Parents  []uint64
	Children []Child // by start of range
}

// Midpoint returns where Pulsar's own split cuts r: the start of the upper half.
// ok is false where r holds one hash. Source: ScalableTopicController.splitSegment.
func Midpoint(r Range) (cut uint16, ok bool) {
	if r.Start == r.End {
		return 0, false
	}
	return uint16((int(r.Start)+int(r.End))/2 + 1), true
}

// Plan returns the operations that bring l to target, which has to have every
// boundary of l; no operation where l has that shape already. They touch
// different segments, so all of them make one generation: what is cut in several
// pieces is cut by one explicit split, and buckets change in the same mutation.
// Errors wrap [ErrNoRing], [ErrProfile] or [ErrNotFiner].
func Plan(l *Layout, target Shape) ([]Op, error) {
	if err := l.checkShape(); err != nil {
		return nil, err
	}
	if l.profile != target.Profile {
		return nil, fmt.Errorf("%w: %s and %s", ErrProfile, l.profile, target.Profile)
	}
	var ops []Op
	made := planner{target: target}
	j := 0
	for i, seg := range l.ring {
		if j == target.Len() || target.Starts[j] != seg.Range.Start {
			return nil, fmt.Errorf("%w: no segment starts at %d", ErrNotFiner, seg.Range.Start)
		}
		first := j
		for j < target.Len() && target.Starts[j] <= seg.Range.End {
			if len(seg.Buckets) > 0 && !holds(target.Buckets[j], seg.Buckets) &&
				!mutant.On(mutant.BucketsLowered) {
				return nil, fmt.Errorf("%w: segment at %d lacks buckets of %d", ErrNotFiner, target.Starts[j], seg.ID)
			}
			j++
		}
		if j-first == 1 && sameStarts(seg.Buckets, target.Buckets[first]) {
			continue
		}
		if ops == nil {
			ops = make([]Op, 0, len(l.ring)-i)
			made.parents, made.children = make([]uint64, 0, len(l.ring)-i), make([]Child, 0, target.Len()-first)
		}
		ops = append(ops, made.replace(seg, first, j))
	}
	return ops, nil
}

// planner makes the operations of one plan; what they hold comes from two arrays.
type planner struct {
	target   Shape
	parents  []uint64
	children []Child
}

// replace returns the operation that makes target's segments first..end-1 of seg.
func (p *planner) replace(seg *Segment, first, end int) Op {
	p.parents = append(p.parents, seg.ID)
	from := len(p.children)
	kept := true
	for k := first; k < end; k++ {
		r := p.target.Range(k)
		r.End = min(r.End, seg.Range.End)
		p.children = append(p.children, Child{Range: r, Buckets: p.target.Buckets[k]})
		kept = kept && sameStarts(seg.Buckets, p.target.Buckets[k])
	}
	op := Op{Kind: SplitExplicit, Parents: p.parents[len(p.parents)-1 : len(p.parents) : len(p.parents)],
		Children: p.children[from:len(p.children):len(p.children)]}
	switch mid, ok := Midpoint(seg.Range); {
	case end-first == 1:
		op.Kind = Rebucket
	case end-first == 2 && kept && ok && op.Children[1].Range.Start == mid:
		op.Kind = SplitMidpoint
	}
	return op
}

// holds says whether every start of sub is one of list.
func holds(list, sub []uint16) bool {
	i := 0
	for k := 0; k < len(list) && i < len(sub); k++ {
		if list[k] == sub[i] {
			i++
		}
	}
	return i == len(sub)
}

// Apply returns the layout after ops, at the next epoch. New segments get ids
// from nextID on, in the order of ops, and the cut cap given. The error wraps
// [ErrInvalid] where an operation does not fit l: that is how a plan that was
// made on an older layout is refused.
func Apply(l *Layout, ops []Op, nextID uint64, cutCap uint32) (*Layout, error) {
	segs := make([]Segment, 0, len(l.all)+2*len(ops))
	at := make(map[uint64]int, len(l.all)) // only asked, never iterated
	for _, s := range l.all {
		at[s.ID] = len(segs)
		segs = append(segs, *s)
	}
	for _, op := range ops {
		if err := op.fits(l); err != nil {
			return nil, err
		}
		parents := slices.Clone(op.Parents)
		slices.Sort(parents)
		children := make([]uint64, 0, len(op.Children))
		for _, c := range op.Children {
			children = append(children, nextID)
			segs = append(segs, Segment{ID: nextID, Range: c.Range, State: Active, Parents: parents,
				Profile: l.profile, Buckets: c.Buckets, BucketsKnown: true, CutCap: cutCap})
			nextID++
		}
		for _, id := range op.Parents {
			p := &segs[at[id]]
			if p.State == Sealed {
				return nil, p.fault("state", "two operations replace it")
			}
			p.State, p.Children = Sealed, children
		}
	}
	return New(l.epoch+1, segs)
}

// fits checks that the parents are active neighbours and the children tile them.
func (op Op) fits(l *Layout) error {
	if len(op.Parents) == 0 || len(op.Children) == 0 {
		return fmt.Errorf("%w: %s: no parents or no children", ErrInvalid, op.Kind)
	}
	next := -1
	for i, id := range op.Parents {
		p := l.Get(id)
		switch {
		case p == nil:
			return fmt.Errorf("%w: segments.%d: is not in the layout", ErrInvalid, id)
		case p.State != Active:
			return p.fault("state", "is no longer active")
		case i == 0:
			next = int(p.Range.Start)
		case int(p.Range.Start) != next:
			return p.fault("hashRange", "is no neighbour of the segment before it")
		}
		if i == 0 && int(op.Children[0].Range.Start) != next {
			return p.fault("hashRange", "its children start at %d", op.Children[0].Range.Start)
		}
		next = int(p.Range.End) + 1
	}
	if last := op.Children[len(op.Children)-1]; int(last.Range.End)+1 != next {
		return fmt.Errorf("%w: %s: children end at %d, parents at %d", ErrInvalid, op.Kind, last.Range.End, next-1)
	}
	return nil // New checks that the children have no gap between them
}
