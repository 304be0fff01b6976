// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"
	"slices"

	"georep/core/internal/mutant"
	"georep/core/layout"
)

// decide starts the next mutation, if one is due and none is under way. Folds come
// before merges: what somebody needs comes before what nobody needs.
func (m *Machine) decide() {
	if m.ringErr != nil || m.mut != nil || m.now < m.holdUntil {
		return
	}
	if ops, err := layout.Plan(m.local.Layout, m.target); err == nil && len(ops) > 0 && m.foldAwaits() == "" {
		m.mutate(0, m.change(ops, WhyFold))
		return
	}
	if ops := m.merges(); len(ops) > 0 {
		m.mutate(0, m.change(ops, WhyMerge))
		return
	}
	if marks := m.liveMarks(m.shape); len(marks) != len(m.local.Marks) {
		mu := m.change(nil, WhyUnmark)
		mu.Marks = marks
		m.mutate(0, mu)
	}
}

// change returns the mutation that applies ops, with the log and marks after it.
func (m *Machine) change(ops []layout.Op, why Why) *Mutation {
	mu := &Mutation{Expect: m.local.Layout.Epoch(), Term: m.term, Ops: ops, Splits: m.local.Splits, Marks: m.local.Marks,
		Why: why}
	if mutant.On(mutant.StaleLeaderWrites) {
		mu.Expect = 0
	}
	if len(ops) == 0 {
		return mu
	}
	after := after(m.shape, ops)
	mu.Splits = m.log.Record(m.local.Layout, ops).Keep(after)
	mu.Marks = m.liveMarks(after)
	return mu
}

// after returns the shape once ops are applied.
func after(s layout.Shape, ops []layout.Op) layout.Shape {
	out := layout.Shape{Profile: s.Profile}
	for i := 0; i < s.Len(); {
		k := slices.IndexFunc(ops, func(o layout.Op) bool { return o.Children[0].Range.Start == s.Starts[i] })
		if k < 0 {
			out.Starts, out.Buckets = append(out.Starts, s.Starts[i]), append(out.Buckets, s.Buckets[i])
			i++
			continue
		}
		for _, c := range ops[k].Children {
			out.Starts, out.Buckets = append(out.Starts, c.Range.Start), append(out.Buckets, c.Buckets)
		}
		end := ops[k].Children[len(ops[k].Children)-1].Range.End
		for i < s.Len() && s.Starts[i] <= end {
			i++
		}
	}
	return out
}

// foldTarget joins the own shape with what every peer needs. A peer whose needs
// are beyond the effective caps is refused whole and named; the others go on.
func (m *Machine) foldTarget() layout.Shape {
	if m.ringErr != nil {
		return m.shape
	}
	var all []*State
	for _, p := range m.peers {
		p.refused = ""
		if p.state != nil && !m.compatible(p) {
			p.refused = fmt.Sprintf("routes by profile %s, this cluster by %s", p.state.Shape.Profile, m.shape.Profile)
		} else if p.state != nil {
			all = append(all, p.state)
		}
	}
	target, err := m.allowed(all)
	if err == nil {
		return target
	}
	target = m.shape
	var taken []*State // one peer after the other, by name
	for _, p := range m.peers {
		if p.state == nil || p.refused != "" {
			continue
		}
		next, err := m.allowed(append(taken, p.state))
		if err != nil {
			p.refused = err.Error()
			continue
		}
		target, taken = next, append(taken, p.state)
	}
	return target
}

// allowed returns the own shape with what the states need, if the caps allow that.
func (m *Machine) allowed(states []*State) (layout.Shape, error) {
	next, err := follow(m.shape, states...)
	if err == nil && !mutant.On(mutant.FoldCapIgnored) {
		err = m.EffectiveCaps().Allow(m.shape, next)
	}
	return next, err
}

// follows says whether the own shape has all that the peer needs.
func (m *Machine) follows(p *peer) bool {
	if p.state == nil || m.ringErr != nil {
		return false
	}
	next, err := follow(m.shape, p.state)
	return err == nil && next.Equal(m.shape)
}

// EffectiveCaps returns the strictest caps of all known members.
func (m *Machine) EffectiveCaps() layout.Caps {
	c := m.cfg.Caps
	for _, p := range m.peers {
		if p.state != nil {
			c = c.Min(p.state.Caps)
		}
	}
	return c
}

// merges returns the merges and rebucket-downs that everybody agrees to, at most
// one for a segment.
func (m *Machine) merges() []layout.Op {
	cold, coldBuckets := m.coldHere()
	var ops []layout.Op
	used := -1 // index of the last segment that an operation replaces
	for _, at := range cold {
		i := m.shape.Index(at)
		if i-1 <= used || !m.everybodyLets(lacks(at)) {
			continue
		}
		op, err := m.mergeAt(at)
		if err != nil || m.EffectiveCaps().Allow(m.shape, after(m.shape, []layout.Op{op})) != nil {
			continue // with the buckets of both it would have too many
		}
		ops, used = append(ops, op), i
	}
	for _, c := range coldBuckets {
		i := m.shape.Index(c.Segment)
		r := m.shape.Range(i)
		if slices.ContainsFunc(ops, func(o layout.Op) bool {
			last := o.Children[len(o.Children)-1]
			return o.Children[0].Range.Start <= r.Start && r.End <= last.Range.End
		}) {
			continue
		}
		var gone []uint16
		for _, b := range c.Starts {
			if m.everybodyLets(spares(r, b)) {
				gone = append(gone, b)
			}
		}
		if len(gone) > 0 {
			ops = append(ops, layout.Op{Kind: layout.Rebucket, Parents: []uint64{m.local.Layout.Active()[i].ID},
				Children: []layout.Child{{Range: r, Buckets: without(m.shape.Buckets[i], gone)}}})
		}
	}
	return ops
}

// mergeAt returns the merge of the segments that meet at the boundary.
func (m *Machine) mergeAt(at uint16) (layout.Op, error) {
	if mutant.On(mutant.NonSiblingsMerged) {
		a, b := m.local.Layout.At(at-1), m.local.Layout.At(at)
		return layout.Op{Kind: layout.Merge, Parents: []uint64{a.ID, b.ID}, Children: []layout.Child{{
			Range: layout.Range{Start: a.Range.Start, End: b.Range.End}, Buckets: layout.UnionStarts(a.Buckets, b.Buckets)}}}, nil
	}
	return layout.MergeOp(m.local.Layout, m.log, at)
}

// lacks says of a state whether a boundary is cold there, or none.
func lacks(at uint16) func(*State) bool {
	return func(s *State) bool { return !s.Shape.HasBoundary(at) || s.coldAt(at) }
}

// spares says of a state whether it does not need the bucket start b in r.
func spares(r layout.Range, b uint16) func(*State) bool {
	return func(s *State) bool { return !s.needs(r, b) }
}

// coldHere returns what this cluster would let go: boundaries between siblings that
// the policy or a mark calls cold, and marked bucket starts.
func (m *Machine) coldHere() (cold []uint16, buckets []ColdBuckets) {
	if m.ringErr != nil {
		return nil, nil
	}
	for _, at := range m.shape.Starts {
		_, auto := slices.BinarySearch(m.cold, at)
		marked := slices.ContainsFunc(m.local.Marks, func(k Mark) bool { return k.Boundary == at && k.UntilMillis > m.now })
		if at != 0 && (auto || marked) && (m.log.Siblings(m.shape, at) == nil || mutant.On(mutant.NonSiblingsMerged)) {
			cold = append(cold, at)
		}
	}
	for i, at := range m.shape.Starts {
		var starts []uint16
		for _, k := range m.local.Marks {
			if k.Boundary == 0 && k.Segment == at && k.UntilMillis > m.now {
				for _, b := range k.Starts {
					if _, has := slices.BinarySearch(m.shape.Buckets[i], b); has {
						starts = layout.UnionStarts(starts, []uint16{b})
					}
				}
			}
		}
		if len(starts) > 0 {
			buckets = append(buckets, ColdBuckets{Segment: at, Starts: starts})
		}
	}
	return cold, buckets
}

// liveMarks returns the marks that still ask for something in a layout of shape s.
func (m *Machine) liveMarks(s layout.Shape) []Mark {
	return slices.DeleteFunc(slices.Clone(m.local.Marks), func(k Mark) bool {
		if k.UntilMillis <= m.now {
			return true
		}
		if k.Boundary != 0 {
			return !s.HasBoundary(k.Boundary)
		}
		if !s.HasBoundary(k.Segment) {
			return true
		}
		have := s.Buckets[s.Index(k.Segment)]
		return !slices.ContainsFunc(k.Starts, func(b uint16) bool { _, has := slices.BinarySearch(have, b); return has })
	})
}
