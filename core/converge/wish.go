// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"
	"slices"

	"georep/core/layout"
)

// WishSplit asks to split a segment at its midpoint, for the local policy or an
// operator. The verdict comes with the wish's id: OK once it is durable.
func (m *Machine) WishSplit(now int64, wish, segment uint64) {
	m.at(now)
	s := m.wished(wish, segment)
	if s == nil {
		return
	}
	mid, ok := layout.Midpoint(s.Range)
	if !ok {
		m.verdict(wish, NoSegment, fmt.Sprintf("segment %d holds one hash", segment))
		return
	}
	m.grow(wish, layout.Op{Kind: layout.SplitMidpoint, Parents: []uint64{segment}, Children: []layout.Child{
		{Range: layout.Range{Start: s.Range.Start, End: mid - 1}, Buckets: s.Buckets},
		{Range: layout.Range{Start: mid, End: s.Range.End}, Buckets: s.Buckets}}})
}

// WishRebucket asks for other bucket starts in a segment. More of them come at
// once; fewer are a manual mark, which waits for the peers.
func (m *Machine) WishRebucket(now int64, wish, segment uint64, starts []uint16) {
	m.at(now)
	s := m.wished(wish, segment)
	if s == nil {
		return
	}
	if _, err := layout.NewShape(s.Profile, []uint16{0}, [][]uint16{starts}); err != nil {
		m.verdict(wish, BadState, err.Error())
		return
	}
	gone := without(s.Buckets, starts)
	switch {
	case slices.Equal(starts, s.Buckets):
		m.verdict(wish, OK, "")
	case len(gone) == 0:
		m.grow(wish, layout.Op{Kind: layout.Rebucket, Parents: []uint64{segment},
			Children: []layout.Child{{Range: s.Range, Buckets: starts}}})
	case len(without(starts, s.Buckets)) > 0:
		m.verdict(wish, BadState, "some bucket starts are new and some are gone: raise first, then lower")
	default:
		m.mark(wish, Mark{Segment: s.Range.Start, Starts: gone})
	}
}

// WishMerge asks to merge two neighbours, for an operator: a manual mark, which
// waits until every member of the replication set has one, or finds it cold.
func (m *Machine) WishMerge(now int64, wish, left, right uint64) {
	m.at(now)
	if m.wished(wish, left) == nil {
		return
	}
	a, b := m.local.Layout.Get(left), m.local.Layout.Get(right)
	if a != nil && b != nil && a.Range.Start > b.Range.Start {
		a, b = b, a
	}
	if b == nil || b.State != layout.Active || int(a.Range.End)+1 != int(b.Range.Start) {
		m.verdict(wish, NoSegment, fmt.Sprintf("segments %d and %d are no active neighbours", left, right))
		return
	}
	if err := m.log.Siblings(m.shape, b.Range.Start); err != nil {
		m.verdict(wish, NoSiblings, err.Error())
		return
	}
	m.mark(wish, Mark{Boundary: b.Range.Start})
}

// CancelMark takes a manual mark back: that of a boundary, or of the buckets of
// the segment that starts at segment (boundary 0).
func (m *Machine) CancelMark(now int64, wish uint64, boundary, segment uint16) {
	m.at(now)
	if !m.free(wish) {
		return
	}
	mu := m.change(nil, WhyUnmark)
	mu.Marks = slices.DeleteFunc(slices.Clone(m.local.Marks), func(k Mark) bool {
		return k.Boundary == boundary && (boundary != 0 || k.Segment == segment)
	})
	if len(mu.Marks) == len(m.local.Marks) {
		m.verdict(wish, NoSegment, "there is no such mark")
		return
	}
	m.mutate(wish, mu)
}

// wished returns the active segment that a wish is about, or gives the verdict.
func (m *Machine) wished(wish, segment uint64) *layout.Segment {
	if !m.free(wish) {
		return nil
	}
	s := m.local.Layout.Get(segment)
	if s == nil || s.State != layout.Active {
		m.verdict(wish, NoSegment, fmt.Sprintf("segment %d is not active", segment))
		return nil
	}
	return s
}

// free says whether a change may be made now, or gives the verdict.
func (m *Machine) free(wish uint64) bool {
	switch {
	case !m.leading || m.local.Layout == nil:
		m.verdict(wish, NotLeader, "")
	case m.ringErr != nil:
		m.verdict(wish, NoRing, m.ringErr.Error())
	case m.mut != nil:
		m.verdict(wish, Busy, "a "+m.mut.m.Why.String()+" is under way")
	default:
		return true
	}
	return false
}

// grow adds boundaries of our own: not before a new leader has heard its peers,
// nor beyond the effective caps.
func (m *Machine) grow(wish uint64, op layout.Op) {
	if who := m.awaited(); who != "" {
		m.verdict(wish, Waiting, "a new leader has not heard of "+who+" yet")
		return
	}
	ops := []layout.Op{op}
	if err := m.EffectiveCaps().Allow(m.shape, after(m.shape, ops)); err != nil {
		m.verdict(wish, Capped, err.Error())
		return
	}
	m.mutate(wish, m.change(ops, WhyPolicy))
}

// mark adds a manual mark, or renews it.
func (m *Machine) mark(wish uint64, k Mark) {
	k.UntilMillis = m.now + m.cfg.MarkMillis
	mu := m.change(nil, WhyMark)
	mu.Marks = append(slices.DeleteFunc(slices.Clone(m.local.Marks), func(o Mark) bool {
		return o.Boundary == k.Boundary && (k.Boundary != 0 || o.Segment == k.Segment)
	}), k)
	m.mutate(wish, mu)
}
