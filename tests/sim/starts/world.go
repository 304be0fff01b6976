// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"fmt"
	"math/rand/v2"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/tests/sim/agenda"
	"georep/tests/sim/check"
)

const (
	activeMillis = 90_000  // how long everything changes and fails
	quietMillis  = 180_000 // how long the calm may take: pauses have grown to a minute
)

// remote is a cluster that joins.
type remote struct {
	name   string
	joined bool
	epoch  uint64 // of the layout then
	reset  bool   // one is under way
}

// World is one run.
type World struct {
	seed      uint64
	rng       *rand.Rand
	agenda    agenda.Agenda
	now       int64
	events    uint64
	calm      bool
	calmAt    int64
	rate      float64
	counts    map[string]uint64
	epoch     uint64
	cached    *layout.Layout
	ledgers   int64 // the last id
	segments  []*segment
	remotes   []*remote
	topic     map[string]string // properties
	namespace map[string]string
	ordinary  string // replicationStartAt
	first     *check.Violation
	emit      func(string)
}

// Result is what one run did and found.
type Result struct {
	Seed, Events uint64
	Counts       map[string]uint64 // of faults and branches by name
	Violation    *check.Violation
}

// New makes the run of a seed. emit, which may be nil, is told what happens.
func New(seed uint64, emit func(string)) *World {
	w := &World{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x737461727473)), counts: map[string]uint64{}, emit: emit,
		epoch: 1, topic: map[string]string{}, namespace: map[string]string{}}
	w.rate = []float64{0.2, 1, 1, 2}[w.rng.IntN(4)]
	w.ordinary = []string{"", "latest", "earliest"}[w.rng.IntN(3)]
	for i := range 1 + w.rng.IntN(3) {
		w.remotes = append(w.remotes, &remote{name: string(rune('b' + i))})
	}
	n := 1 + w.rng.IntN(2)
	for i := range n {
		end := uint16(0xFFFF)
		if n == 2 && i == 0 {
			end = 0x7FFF
		}
		w.add(&segment{start: uint16(i * 0x8000), end: end, compacted: w.rng.IntN(10) == 0})
	}
	for _, s := range w.segments {
		s.roll()
	}
	w.drawPolicy()
	return w
}

// add takes a new segment.
func (w *World) add(s *segment) {
	s.w, s.id, s.created, s.cursors = w, uint64(len(w.segments)), w.epoch, make([]*cursor, len(w.remotes))
	s.owners = make([]*owner, len(w.remotes))
	w.segments = append(w.segments, s)
}

// layout returns the present DAG; it is built once per change.
func (w *World) layout() *layout.Layout {
	if w.cached != nil {
		return w.cached
	}
	var segs []layout.Segment
	for _, s := range w.segments {
		state := layout.Active
		if s.sealed {
			state = layout.Sealed
		}
		segs = append(segs, layout.Segment{ID: s.id, Range: layout.Range{Start: s.start, End: s.end}, State: state,
			Parents: s.parents, Children: s.children, Profile: keyhash.PIP486, BucketsKnown: true})
	}
	l, err := layout.New(w.epoch, segs)
	if err != nil {
		panic("sim: " + err.Error()) // the model itself is wrong
	}
	w.cached = l
	return l
}

// Run plays to the end, or to the first violation.
func (w *World) Run() Result {
	w.after(0, w.life)
	w.after(0, w.chaos)
	for i := range w.remotes {
		w.after(w.rng.Int64N(activeMillis*2/3), func() { w.join(i) })
	}
	for w.first == nil && w.now < activeMillis && w.next() {
	}
	w.settle()
	for w.first == nil && !w.quiet() {
		if w.now > w.calmAt+quietMillis || !w.next() {
			w.fail(check.Planned, "not every cursor stands at its log's end after %d quiet seconds: %s", quietMillis/1000,
				w.stuck())
		}
	}
	w.checkEnd()
	return w.Result()
}

// Result returns what has been seen so far.
func (w *World) Result() Result {
	return Result{Seed: w.seed, Events: w.events, Counts: w.counts, Violation: w.first}
}

// Crashed returns the result of a run that a machine ended with a panic.
func (w *World) Crashed(text string) Result {
	w.fail(check.StartsCrashed, "%s", text)
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

// chance says whether a fault happens that has probability p at rate 1; never in the calm.
func (w *World) chance(name string, p float64) bool {
	if w.calm || w.rng.Float64() >= p*w.rate {
		return false
	}
	w.count(Fault + name)
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
