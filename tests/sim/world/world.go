// SPDX-License-Identifier: Apache-2.0

package world

import (
	"math/rand/v2"

	"georep/core/keyhash"
	"georep/core/placement"
	"georep/core/window"
	"georep/tests/sim/agenda"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

const (
	topicName = "topic://t/n/x"
	instance  = "0123456789abcdef0123456789abcdef"
)

var checkParked = check.ParkedVisible

// options are drawn once a run.
type options struct {
	profile                keyhash.Profile
	buckets                bool
	keepCodec, pass, place bool
	window                 int // MaxInFlightEntries
	entries                int // published before the run drains
}

// World is one run. Make it with New and call Run.
type World struct {
	Seed uint64

	rng    *rand.Rand
	opt    options
	plan   *faults.Plan
	chk    *check.Checker
	bank   *bank
	agenda agenda.Agenda
	now    int64
	events uint64
	calm   bool // no faults any more

	src         *cluster
	segments    []*segment
	remotes     []*remote
	replicators []*replicator
	owners      int

	pool       []key
	uid        uint64
	ledger     int64
	units      int
	openUnits  []openUnit
	unitKeys   map[string]draft
	noChecksum bool

	sentBy   [8]uint64
	sentFor  [64]uint64
	parkedBy [64]uint64
	totals   window.Counters

	tracing bool
	emit    func(string)
}

// New makes the world of a seed.
func New(seed uint64) *World {
	w := &World{Seed: seed, rng: rand.New(rand.NewPCG(seed, 0x67656f726570)), unitKeys: map[string]draft{}}
	w.plan = faults.NewPlan(w.rng)
	w.chk = check.New("a")
	w.opt = options{profile: keyhash.PIP486, keepCodec: w.rng.IntN(2) == 0, pass: w.rng.IntN(3) == 0,
		place: w.rng.IntN(3) == 0, window: 8 + w.rng.IntN(60), entries: 120 + w.rng.IntN(120)}
	if w.rng.IntN(3) == 0 {
		w.opt.profile = keyhash.M1
	}
	w.opt.buckets = w.opt.profile == keyhash.PIP486
	w.chk.Place, w.chk.Pass = w.opt.place, w.opt.pass
	w.bank = w.newBank()
	w.makeKeys()
	w.src = newCluster("a", w.opt.profile, 1+w.rng.IntN(3), w.fillSource)
	for i := range w.src.segs {
		w.newSegment(w.src.segs[i]).published = true
	}
	for range 1 + w.rng.IntN(2) {
		w.newRemote([]string{"b", "c"}[len(w.remotes)])
	}
	for _, s := range w.segments {
		for _, r := range w.remotes {
			w.startReplicator(s, r, w.delay(5))
		}
	}
	w.round()
	return w
}

// chance draws a fault: base is its rate here, the plan's factor the seed's.
func (w *World) chance(k faults.Kind, base float64) bool {
	if w.calm || w.rng.Float64() >= base*w.plan.Factor[k] {
		return false
	}
	w.plan.Hit(k)
	return true
}

// round is the world's pulse: producers write, things happen.
func (w *World) round() {
	if w.calm {
		return
	}
	for range w.rng.IntN(3) {
		w.publish()
	}
	w.chaos()
	w.after(1+w.rng.Int64N(5), w.round)
}

func (w *World) placementSource(s *segment, r *remote) placement.Source {
	return placement.Source{Cluster: w.src.name, Remote: r.name, Segment: s.info.ID, Range: s.info.Range, Profile: s.info.Profile}
}

// logOf returns what is there of a segment's log; what was pruned was checked then.
func (w *World) logOf(id uint64) []*check.Entry {
	if s := w.segment(id); !s.pruned {
		return s.log
	}
	return nil
}

func (w *World) published() (n int) {
	for _, s := range w.segments {
		n += len(s.log)
	}
	return n
}

// absorb adds the counters of a window that ends.
func (w *World) absorb(c window.Counters) { addCounters(&w.totals, &c) }
