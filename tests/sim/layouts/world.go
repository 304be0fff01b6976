// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"georep/core/converge"
	"georep/core/keyhash"
	"georep/tests/sim/agenda"
	"georep/tests/sim/check"
)

const activeMillis = 10 * 60_000 // how long everything changes and fails

// World is one run.
type World struct {
	seed     uint64
	rng      *rand.Rand
	agenda   agenda.Agenda
	now      int64
	events   uint64
	calm     bool
	calmAt   int64
	sites    []*site
	topics   []*topic
	clusters []*cluster // of all topics
	members  []string   // the replication set of all topics, as it is
	cut      map[[2]string]bool
	rate     float64 // of faults
	counts   map[string]uint64

	callStates, callBytes int // most of a call
	gather                int64
	wires                 uint64                     // calls that arrived
	of                    map[*converge.State]string // topics of the states that were pushed
	stale                 map[*converge.State]bool   // said by a controller that led no more
	acked                 map[ack]bool
	first                 *check.Violation
	emit                  func(string)
}

// ack is a state that a cluster has acknowledged.
type ack struct {
	by    string
	state *converge.State
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
		counts: map[string]uint64{}, emit: emit, of: map[*converge.State]string{},
		stale: map[*converge.State]bool{}, acked: map[ack]bool{}}
	w.rate = []float64{0.2, 1, 1, 2}[w.rng.IntN(4)]
	w.callStates, w.callBytes, w.gather = 1+w.rng.IntN(4), 1+w.rng.IntN(80), []int64{0, 50, 500, 3000}[w.rng.IntN(4)]
	n := 2 + w.rng.IntN(3) + w.rng.IntN(2)*w.rng.IntN(4)
	w.count(fmt.Sprintf("branch clusters-%d", n))
	for i := range n {
		at := newSite(w, string(rune('a'+i)))
		w.sites = append(w.sites, at)
		if i > 1 && w.rng.IntN(4) == 0 {
			w.after(w.rng.Int64N(activeMillis), func() { w.join(at, "joined") })
		} else {
			w.members = append(w.members, at.name)
		}
	}
	for _, s := range w.sites {
		s.members = slices.Clone(w.members)
	}
	for i := range []int{1, 1, 2, 3}[w.rng.IntN(4)] {
		w.newTopic("topic://t/n/" + string(rune('x'+i)))
	}
	return w
}

// newTopic makes a topic in all clusters, of layouts that may be unrelated.
func (w *World) newTopic(name string) {
	t := &topic{name: name, related: true}
	w.topics = append(w.topics, t)
	profile := keyhash.PIP486
	if w.rng.IntN(5) == 0 {
		profile = keyhash.M1
	}
	initial := 1 + w.rng.IntN(4)
	for _, at := range w.sites {
		p := profile
		if len(w.sites) > 2 && w.rng.IntN(40) == 0 {
			p = keyhash.M1
			w.count("fault incompatible")
		}
		segments := initial
		if w.rng.IntN(3) == 0 {
			segments = 1 + w.rng.IntN(5) // unrelated layouts meet
		}
		t.related = t.related && segments == initial
		t.clusters = append(t.clusters, newCluster(t, at, p, segments))
	}
	w.clusters = append(w.clusters, t.clusters...)
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
			w.stuck(fmt.Sprintf("not agreed after %d quiet minutes", quietMillis/60_000))
			break
		}
	}
	if w.first == nil {
		w.stay()
	}
	for _, s := range w.sites {
		for _, b := range s.brokers {
			b.tally()
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

func (w *World) site(name string) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })]
}

func (w *World) topic(name string) *topic {
	return w.topics[slices.IndexFunc(w.topics, func(t *topic) bool { return t.name == name })]
}

// join adds a cluster to the replication set, live.
func (w *World) join(s *site, how string) {
	if w.isMember(s.name) {
		return
	}
	w.count("fault member-" + how)
	w.members = append(w.members, s.name)
	w.tracef("%s is %s", s.name, how)
	w.tellMembers()
}

// leave takes a cluster out of the replication set for a while.
func (w *World) leave(s *site) {
	w.members = slices.DeleteFunc(w.members, func(name string) bool { return name == s.name })
	w.tracef("%s has left", s.name)
	w.tellMembers()
	w.after(w.rng.Int64N(180_000), func() { w.join(s, "back") })
}

// tellMembers lets every site hear of the replication set, some later than others.
func (w *World) tellMembers() {
	for _, s := range w.sites {
		if w.chance("member-told-late", 0.3) {
			w.after(w.rng.Int64N(20_000), s.tellMembers)
		} else {
			s.tellMembers()
		}
	}
}

// tellMembers tells the controllers of a site what the replication set is by now.
func (s *site) tellMembers() {
	s.members = slices.Clone(s.w.members)
	for _, t := range s.w.topics {
		for _, k := range slices.Clone(t.find(s.name).controllers) {
			k.members()
		}
	}
}

// machineConfig is that of every controller of the run.
func machineConfig(c *cluster) converge.Config {
	cfg := converge.DefaultConfig(c.name)
	cfg.Caps = c.caps
	cfg.MarkMillis = 5 * 60_000
	return cfg
}
