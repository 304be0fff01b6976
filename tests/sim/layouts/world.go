// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"georep/core/converge"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/tests/sim/agenda"
	"georep/tests/sim/check"
)

const (
	activeMillis = 10 * 60_000 // how long everything changes and fails
	quietMillis  = 25 * 60_000 // how long it may take at most to agree afterwards
)

// World is one run.
type World struct {
	seed     uint64
	rng      *rand.Rand
	agenda   agenda.Agenda
	now      int64
	events   uint64
	calm     bool
	calmAt   int64
	clusters []*cluster
	members  []string // the replication set
	cut      map[[2]string]bool
	rate     float64 // of faults
	counts   map[string]uint64
	first    *check.Violation
	emit     func(string)
}

// Result is what one run did and found.
type Result struct {
	Seed, Events uint64
	Counts       map[string]uint64 // of faults and branches by name
	Violation    *check.Violation
}

// New makes the run of a seed. emit, which may be nil, is told what happens.
func New(seed uint64, emit func(string)) *World {
	w := &World{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6c61796f757473)), cut: map[[2]string]bool{},
		counts: map[string]uint64{}, emit: emit}
	w.rate = []float64{0.2, 1, 1, 2}[w.rng.IntN(4)]
	n := 2 + w.rng.IntN(3) + w.rng.IntN(2)*w.rng.IntN(3)
	profile := keyhash.PIP486
	if w.rng.IntN(5) == 0 {
		profile = keyhash.M1
	}
	initial := 1 + w.rng.IntN(4)
	for i := range n {
		p := profile
		if n > 2 && w.rng.IntN(40) == 0 {
			p = keyhash.M1
			w.count("fault incompatible")
		}
		segments := initial
		if w.rng.IntN(3) == 0 {
			segments = 1 + w.rng.IntN(5) // unrelated layouts meet
		}
		c := newCluster(w, string(rune('a'+i)), p, segments)
		w.clusters = append(w.clusters, c)
		switch {
		case i > 1 && w.rng.IntN(4) == 0:
			w.after(w.rng.Int64N(activeMillis), func() { w.join(c) })
		default:
			w.members = append(w.members, c.name)
		}
	}
	return w
}

// Run plays to the end, or to the first violation.
func (w *World) Run() Result {
	for _, c := range w.clusters {
		c.start()
	}
	w.after(0, w.chaos)
	for w.first == nil && w.now < activeMillis && w.next() {
	}
	if w.first == nil {
		w.settle()
	}
	for w.first == nil && !w.agreed() {
		if w.now > w.calmAt+quietMillis || !w.next() {
			w.stuck()
			break
		}
	}
	return w.Result()
}

// Result returns what has been seen so far.
func (w *World) Result() Result {
	return Result{Seed: w.seed, Events: w.events, Counts: w.counts, Violation: w.first}
}

// Crashed returns the result of a run that a machine ended with a panic.
func (w *World) Crashed(text string) Result {
	w.fail(check.Crashed, "%s", text)
	return w.Result()
}

func (w *World) after(delay int64, do func()) { w.agenda.Add(w.now+delay, do) }

func (w *World) next() bool {
	at, do, ok := w.agenda.Next()
	if ok {
		w.now = max(w.now, at)
		do()
	}
	return ok
}

func (w *World) count(name string) { w.counts[name]++ }

// chance says whether a fault happens that has probability p at rate 1; never in
// the calm.
func (w *World) chance(name string, p float64) bool {
	if w.calm || w.rng.Float64() >= p*w.rate {
		return false
	}
	w.count("fault " + name)
	return true
}

func (w *World) fail(n check.Name, format string, args ...any) {
	if w.first == nil {
		w.first = &check.Violation{Name: n, At: w.now, Text: fmt.Sprintf(format, args...)}
	}
}

func (w *World) tracef(format string, args ...any) {
	if w.emit != nil {
		w.emit(fmt.Sprintf("%7d ms  ", w.now) + fmt.Sprintf(format, args...))
	}
}

func (w *World) find(name string) *cluster {
	for _, c := range w.clusters {
		if c.name == name {
			return c
		}
	}
	return nil
}

// join adds a cluster to the replication set, live.
func (w *World) join(c *cluster) {
	if c.member() {
		return
	}
	w.count("fault member-joined")
	w.members = append(w.members, c.name)
	w.tracef("%s joins", c.name)
	w.tellMembers()
}

func (w *World) tellMembers() {
	for _, c := range w.clusters {
		for _, k := range c.controllers {
			k.members()
		}
	}
}

// agreed says whether all is as it has to be once everybody is quiet.
func (w *World) agreed() bool {
	var first *cluster
	for _, c := range w.clusters {
		if !c.speaks() {
			continue
		}
		if c.leader == nil || c.leader.busy() {
			return false
		}
		if first == nil {
			first = c
		} else if c.profile == first.profile && !c.shape().Equal(first.shape()) {
			return w.capped()
		}
	}
	return first == nil || w.capped() || w.nothingToMerge()
}

// capped says whether some fold is refused for its size: then layouts may differ.
func (w *World) capped() bool {
	for _, c := range w.clusters {
		if c.leader == nil || !c.speaks() {
			continue
		}
		for _, p := range c.leader.m.Status(w.now).Peers {
			if p.Refused != "" {
				w.counts["branch capped-at-the-end"] = 1
				return true
			}
		}
	}
	return false
}

// nothingToMerge says whether every boundary that is left is needed somewhere.
func (w *World) nothingToMerge() bool {
	for _, c := range w.clusters {
		if !c.speaks() {
			continue
		}
		var log layout.SplitLog
		for _, o := range w.clusters {
			if o.speaks() && o.profile == c.profile {
				log = log.Join(o.leader.m.State().Splits)
			}
		}
		s := c.shape()
		for _, at := range s.Starts {
			if at != 0 && w.coldEverywhere(c, at) && log.Siblings(s, at) == nil && w.mayHold(s, at) {
				return false
			}
		}
	}
	return true
}

// mayHold says whether one segment may have the buckets of both that meet at the
// boundary.
func (w *World) mayHold(s layout.Shape, at uint16) bool {
	i := s.Index(at)
	all := slices.Concat(s.Buckets[i-1], s.Buckets[i])
	slices.Sort(all)
	n := len(slices.Compact(all)) + 1
	for _, c := range w.clusters {
		if c.speaks() && n > c.caps.MaxBuckets && n > s.MaxBuckets() {
			return false
		}
	}
	return true
}

// coldEverywhere asks those that c exchanges layouts with.
func (w *World) coldEverywhere(c *cluster, at uint16) bool {
	for _, o := range w.clusters {
		if o.speaks() && o.profile == c.profile && o.hot[at] {
			return false
		}
	}
	return true
}

func (w *World) stuck() {
	text := ""
	for _, c := range w.clusters {
		if c.member() {
			text += fmt.Sprintf("\n    %s %v", c.name, c.shape().Starts)
			if c.leader != nil {
				text += fmt.Sprintf(" %+v", c.leader.m.Status(w.now))
			}
		}
	}
	w.fail(check.LayoutsAgree, "not agreed after %d quiet minutes:%s", quietMillis/60_000, text)
}

// machineConfig is that of every controller of the run.
func machineConfig(c *cluster) converge.Config {
	cfg := converge.DefaultConfig(c.name)
	cfg.Caps = c.caps
	cfg.MarkMillis = 5 * 60_000
	return cfg
}
