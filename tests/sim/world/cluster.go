// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	"georep/core/keyhash"
	"georep/core/layout"
)

// cluster is the layout of the topic in one cluster, as its controller has it.
type cluster struct {
	name   string
	epoch  uint64
	nextID uint64
	segs   []layout.Segment // by id
	cached *layout.Layout
	busy   bool // a split or merge is under way
}

func newCluster(name string, profile keyhash.Profile, n int, fill func(*layout.Segment)) *cluster {
	c := &cluster{name: name}
	for i := range n {
		s := layout.Segment{ID: c.id(), State: layout.Active, Profile: profile, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i * 65536 / n), End: uint16((i+1)*65536/n - 1)}}
		fill(&s)
		c.segs = append(c.segs, s)
	}
	return c
}

func (c *cluster) id() uint64 {
	c.nextID++
	return c.nextID - 1
}

// layout returns the present layout; it is built once per change.
func (c *cluster) layout() *layout.Layout {
	if c.cached == nil {
		segs := slices.Clone(c.segs)
		for i := range segs {
			segs[i].Parents = slices.Clone(segs[i].Parents)
			segs[i].Children = slices.Clone(segs[i].Children)
		}
		l, err := layout.New(c.epoch, segs)
		if err != nil {
			panic("sim: " + err.Error()) // the model itself is wrong
		}
		c.cached = l
	}
	return c.cached
}

func (c *cluster) changed() {
	c.epoch++
	c.cached = nil
}

func (c *cluster) get(id uint64) *layout.Segment {
	for i := range c.segs {
		if c.segs[i].ID == id {
			return &c.segs[i]
		}
	}
	return nil
}

func (c *cluster) active() (out []*layout.Segment) {
	for i := range c.segs {
		if c.segs[i].State == layout.Active {
			out = append(out, &c.segs[i])
		}
	}
	slices.SortFunc(out, func(a, b *layout.Segment) int { return int(a.Range.Start) - int(b.Range.Start) })
	return out
}

// change is a split, merge or rebucket: parents make way for children.
type change struct {
	parents  []uint64
	children []layout.Segment
}

// commit publishes the change as the controller's CAS does.
func (c *cluster) commit(ch change) {
	for _, id := range ch.parents {
		p := c.get(id)
		p.State = layout.Sealed
		for i := range ch.children {
			p.Children = append(p.Children, ch.children[i].ID)
		}
	}
	c.segs = append(c.segs, ch.children...)
	c.changed()
}

// prune removes a sealed segment; lineage is rewritten.
func (c *cluster) prune(id uint64) {
	gone := func(o uint64) bool { return o == id }
	c.segs = slices.DeleteFunc(c.segs, func(s layout.Segment) bool { return s.ID == id })
	for i := range c.segs {
		c.segs[i].Parents = slices.DeleteFunc(slices.Clone(c.segs[i].Parents), gone)
		c.segs[i].Children = slices.DeleteFunc(slices.Clone(c.segs[i].Children), gone)
	}
	c.changed()
}

// split cuts an active segment at random points into 2 to 4 pieces, or returns
// false where it is too narrow.
func (w *World) split(c *cluster, s *layout.Segment, fill func(*layout.Segment)) (change, bool) {
	width := int(s.Range.End) - int(s.Range.Start) + 1
	n := 2
	if w.rng.IntN(3) == 0 {
		n += 1 + w.rng.IntN(2)
	}
	if width < 4096 {
		return change{}, false
	}
	var cuts []int
	if w.rng.IntN(2) == 0 {
		cuts = []int{(width-1)/2 + 1}
	} else {
		for len(cuts) < n-1 {
			if at := 1 + w.rng.IntN(width-1); !slices.Contains(cuts, at) {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = append(cuts, width)
	ch := change{parents: []uint64{s.ID}}
	from := 0
	for _, to := range cuts {
		ch.children = append(ch.children, w.child(c, ch.parents, s.Profile,
			layout.Range{Start: s.Range.Start + uint16(from), End: s.Range.Start + uint16(to-1)}, fill))
		from = to
	}
	return ch, true
}

func (w *World) child(c *cluster, parents []uint64, p keyhash.Profile, r layout.Range, fill func(*layout.Segment)) layout.Segment {
	s := layout.Segment{ID: c.id(), Range: r, State: layout.Active, Parents: slices.Clone(parents), Profile: p, BucketsKnown: true}
	fill(&s)
	return s
}

// merge joins two neighbours.
func (w *World) merge(c *cluster, fill func(*layout.Segment)) (change, bool) {
	act := c.active()
	if len(act) < 2 {
		return change{}, false
	}
	i := w.rng.IntN(len(act) - 1)
	a, b := act[i], act[i+1]
	ch := change{parents: []uint64{min(a.ID, b.ID), max(a.ID, b.ID)}}
	ch.children = []layout.Segment{w.child(c, ch.parents, a.Profile, layout.Range{Start: a.Range.Start, End: b.Range.End}, fill)}
	return ch, true
}
