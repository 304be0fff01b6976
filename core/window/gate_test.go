// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// dag builds a source layout: each node names its parents; one without children
// is active. Ranges are only as good as New demands: the leaves tile the ring.
func dag(t *testing.T, epoch uint64, parents map[uint64][]uint64) *layout.Layout {
	t.Helper()
	children := map[uint64][]uint64{}
	var ids []uint64
	for id, ps := range parents {
		ids = append(ids, id)
		for _, p := range ps {
			if _, ok := parents[p]; ok {
				children[p] = append(children[p], id)
			}
		}
	}
	slices.Sort(ids)
	var leaves int
	for _, id := range ids {
		if len(children[id]) == 0 {
			leaves++
		}
	}
	var segs []layout.Segment
	i := 0
	for _, id := range ids {
		s := layout.Segment{ID: id, Range: layout.Ring, State: layout.Sealed, Profile: keyhash.M1, BucketsKnown: true,
			Parents: parents[id], Children: children[id]}
		slices.Sort(s.Children)
		if len(children[id]) == 0 {
			s.State = layout.Active
			s.Range = layout.Range{Start: uint16(i * 65536 / leaves), End: uint16((i+1)*65536/leaves - 1)}
			i++
		}
		segs = append(segs, s)
	}
	l, err := layout.New(epoch, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func state(g *Gate) string { return fmt.Sprintf("%v %v", g.Open(), g.Ask(nil)) }

func TestGateStory(t *testing.T) {
	chain := map[uint64][]uint64{0: nil, 1: {0}, 2: {1}, 3: {1}, 4: {3}, 5: {3}}
	g := NewGate(4)
	if got := state(g); got != "false []" {
		t.Fatalf("in no DAG: %s", got)
	}
	g.Layout(dag(t, 1, map[uint64][]uint64{0: nil}))
	if got := state(g); got != "false []" {
		t.Fatalf("children exist before the layout names them: %s", got)
	}
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() { g.Layout(dag(t, 5, chain)) }, "false [0]"},
		{func() { g.Backlog(1, true, 0, true) }, "false [0]"},  // an empty middle proves nothing
		{func() { g.Backlog(0, false, 0, true) }, "false [0]"}, // read before the seal
		{func() { g.Backlog(0, true, 3, true) }, "false [0]"},
		{func() { g.Backlog(0, true, 0, false) }, "false [0]"}, // not found is not drained
		{func() { g.Backlog(0, true, -1, true) }, "false [0]"}, // unknown is not 0
		{func() { g.Backlog(2, true, 0, true) }, "false [0]"},  // no ancestor of 4
		{func() { g.Backlog(0, true, 0, true) }, "false [3]"},  // 1 counts now as well
		{func() { g.Layout(dag(t, 4, map[uint64][]uint64{0: nil})) }, "false [3]"},
		{func() { g.Layout(dag(t, 6, map[uint64][]uint64{2: nil, 3: nil, 4: {3}, 5: {3}})) }, "false [3]"},
		{func() { g.Backlog(3, true, 0, true) }, "true []"},
	} {
		step.do()
		if got := state(g); got != step.want {
			t.Fatalf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestGateOfARootIsOpenOnceSeen(t *testing.T) {
	g := NewGate(0)
	if g.Open() {
		t.Error("open before any layout")
	}
	g.Layout(dag(t, 1, map[uint64][]uint64{0: nil}))
	if got := state(g); got != "true []" {
		t.Errorf("a root: %s", got)
	}
}

func TestGatePrunedAncestorIsDrained(t *testing.T) {
	g := NewGate(2)
	g.Layout(dag(t, 1, map[uint64][]uint64{0: nil, 1: {0}, 2: {1}}))
	g.Layout(dag(t, 2, map[uint64][]uint64{2: {1}}))
	if got := state(g); got != "true []" {
		t.Errorf("all ancestors left the DAG: %s", got)
	}
}

// TestGateAgainstModel drains random DAGs in random order and opens exactly when
// every ancestor is.
func TestGateAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		parents := map[uint64][]uint64{0: nil}
		active := []uint64{0}
		for id := uint64(1); id < 12; {
			i := rng.IntN(len(active))
			p := active[i]
			active = slices.Delete(active, i, i+1)
			if len(active) > 0 && rng.IntN(2) == 0 {
				q := active[0]
				active = slices.Delete(active, 0, 1)
				parents[id] = []uint64{min(p, q), max(p, q)}
				active = append(active, id)
				id++
				continue
			}
			parents[id], parents[id+1] = []uint64{p}, []uint64{p}
			active = append(active, id, id+1)
			id += 2
		}
		target := active[rng.IntN(len(active))]
		l := dag(t, 1, parents)
		above := l.Ancestors(target)
		g := NewGate(target)
		g.Layout(l)
		empty := map[uint64]bool{}
		for step := 0; !g.Open(); step++ {
			if step > 10_000 {
				t.Fatalf("seed %d: does not open", seed)
			}
			ask := g.Ask(nil)
			if len(ask) == 0 {
				t.Fatalf("seed %d: closed and asks nothing", seed)
			}
			for _, id := range ask {
				for _, a := range l.Ancestors(id) {
					if !empty[a] {
						t.Fatalf("seed %d: asks %d before its ancestor %d is drained", seed, id, a)
					}
				}
			}
			id := uint64(rng.IntN(14))
			read, sealed, found := rng.Int64N(2), rng.IntN(3) > 0, rng.IntN(4) > 0
			g.Backlog(id, sealed, read, found)
			empty[id] = empty[id] || read == 0 && sealed && found
			want := true
			for _, a := range above {
				want = want && empty[a]
			}
			if g.Open() != want {
				t.Fatalf("seed %d: open %v with %v drained of %v", seed, g.Open(), empty, above)
			}
		}
	}
}
