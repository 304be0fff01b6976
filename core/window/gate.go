// SPDX-License-Identifier: Apache-2.0

package window

import (
	"slices"

	"georep/core/internal/mutant"
	"georep/core/layout"
)

// Gate decides when a segment may publish to one remote: only after every
// ancestor of it is drained towards that remote, or a key's later messages could
// overtake its earlier ones, which are still in a parent.
//
//	root ── sealed, backlog 3          child's gate: closed
//	  └── middle ── sealed, empty        Ask: root (middle only after root)
//	        └── child
//
// An ancestor is drained when it is sealed, its backlog was 0 in a reading taken
// after the seal, and all its own ancestors are drained. An empty middle segment
// proves nothing about the root, so all ancestors count, not the parents alone.
//
// The list of ancestors is kept from when the segment is first seen, because
// pruning rewrites parents. An ancestor of the list that has left the DAG is
// drained: it is not pruned before. A segment that no layout has shown yet is
// closed (children exist before the layout that names them is published).
//
// What is drained stays drained, so a new generation (a cursor moved back) takes
// a new Gate. A Gate is a machine like Window and owned by the same driver.
type Gate struct {
	segment   uint64
	seen      bool
	epoch     uint64
	ancestors []ancestor // by id: parents come before children
}

type ancestor struct {
	id      uint64
	above   []uint64 // its own ancestors that are in the list
	empty   bool     // backlog 0, read after the seal
	drained bool     // empty or gone, and so are all above
	gone    bool     // has left the DAG
}

// NewGate returns the closed gate of a segment of the source cluster.
func NewGate(segment uint64) *Gate { return &Gate{segment: segment} }

// Layout takes the source cluster's DAG, sealed segments too. A lower epoch than
// the last is ignored.
func (g *Gate) Layout(l *layout.Layout) {
	if l == nil || g.seen && l.Epoch() < g.epoch {
		return
	}
	if l.Get(g.segment) != nil {
		g.seen = true
		above := l.Ancestors(g.segment)
		if mutant.On(mutant.GateParentsOnly) {
			above = slices.Clone(l.Get(g.segment).Parents)
		}
		for _, id := range above {
			if g.find(id) == nil {
				g.add(id, l.Ancestors(id))
			}
		}
	}
	if !g.seen {
		return
	}
	g.epoch = l.Epoch()
	for i := range g.ancestors {
		if a := &g.ancestors[i]; l.Get(a.id) == nil {
			a.gone = true
		}
	}
	g.settle()
}

func (g *Gate) add(id uint64, above []uint64) {
	i, _ := slices.BinarySearchFunc(g.ancestors, id, compareAncestor)
	g.ancestors = slices.Insert(g.ancestors, i, ancestor{id: id, above: above})
}

func compareAncestor(a ancestor, id uint64) int {
	switch {
	case a.id < id:
		return -1
	case a.id > id:
		return 1
	}
	return 0
}

func (g *Gate) find(id uint64) *ancestor {
	if i, ok := slices.BinarySearchFunc(g.ancestors, id, compareAncestor); ok {
		return &g.ancestors[i]
	}
	return nil
}

// Backlog is the answer to one of Ask's questions: entries behind the remote's
// cursor on the segment. sealedWhenRead says that the segment was known sealed
// before the backlog was read; without it a backlog of 0 proves nothing, because
// entries may still have come. found is false where the segment or its cursor
// does not exist, which does not mean drained: only leaving the DAG does.
func (g *Gate) Backlog(segment uint64, sealedWhenRead bool, backlog int64, found bool) {
	a := g.find(segment)
	if a == nil || !found || backlog != 0 || !sealedWhenRead && !mutant.On(mutant.GateBacklogEarly) {
		return
	}
	a.empty = true
	g.settle()
}

// settle derives drained; ids rise along the DAG, so one pass suffices.
func (g *Gate) settle() {
	for i := range g.ancestors {
		a := &g.ancestors[i]
		if !a.drained && (a.gone || a.empty && g.aboveDrained(a)) {
			a.drained = true
		}
	}
}

func (g *Gate) aboveDrained(a *ancestor) bool {
	for _, id := range a.above {
		if o := g.find(id); o != nil && !o.drained {
			return false
		}
	}
	return true
}

// Ask appends the ancestors whose backlog decides next: those not drained whose
// own ancestors all are. The driver asks each at its own pace until it is empty.
func (g *Gate) Ask(dst []uint64) []uint64 {
	for i := range g.ancestors {
		if a := &g.ancestors[i]; !a.drained && g.aboveDrained(a) {
			dst = append(dst, a.id)
		}
	}
	return dst
}

// Open says whether the segment may publish. Once open it stays open.
func (g *Gate) Open() bool {
	if mutant.On(mutant.GateOff) {
		return true
	}
	if !g.seen {
		return false
	}
	for i := range g.ancestors {
		if !g.ancestors[i].drained {
			return false
		}
	}
	return true
}
