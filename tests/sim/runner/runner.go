// SPDX-License-Identifier: Apache-2.0

// Package runner plays many seeds, adds up what they did and replays one.
//
// A run is single-threaded and depends on its seed alone, so seeds are played
// side by side and a violation is told by playing its seed again, with a trace.
package runner

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"georep/tests/sim/check"
	"georep/tests/sim/faults"
	"georep/tests/sim/layouts"
	"georep/tests/sim/starts"
	"georep/tests/sim/world"
)

// Options selects the seeds First .. First+Seeds-1.
type Options struct {
	First, Seeds uint64
	Workers      int  // 0 = one per core
	Stop         bool // at the first violation
}

// Summary is what the runs did together.
type Summary struct {
	Seeds, Events, MinEvents uint64
	Faults                   [faults.Kinds]uint64
	Branches                 []world.Branch
	Layouts                  map[string]uint64 // faults and branches of the layouts' world
	Starts                   map[string]uint64 // and of the starts'
	Stats                    check.Stats
	Violations               []world.Result // at most maxKept
	Violated                 uint64
	Elapsed                  time.Duration
	Workers                  int
}

const maxKept = 10

// everyKindFrom is the number of seeds from which on nothing may be missed.
const everyKindFrom = 500

// Play runs the seeds.
func Play(o Options) *Summary {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	s := &Summary{Workers: o.Workers}
	var mu sync.Mutex
	var next atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	start := time.Now()
	for range o.Workers {
		wg.Go(func() {
			for !stop.Load() {
				i := next.Add(1) - 1
				if i >= o.Seeds {
					return
				}
				r, l, b := play(o.First+i, nil), playLayouts(o.First+i, nil), playStarts(o.First+i, nil)
				mu.Lock()
				s.add(&r)
				s.Layouts = s.addOther(s.Layouts, l.Counts, world.Result{Seed: l.Seed, Events: l.Events, Violation: l.Violation})
				s.Starts = s.addOther(s.Starts, b.Counts, world.Result{Seed: b.Seed, Events: b.Events, Violation: b.Violation})
				mu.Unlock()
				if (r.Violation != nil || l.Violation != nil || b.Violation != nil) && o.Stop {
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	s.Elapsed = time.Since(start)
	return s
}

func (s *Summary) add(r *world.Result) {
	s.Seeds++
	s.Events += r.Events
	if r.Violation != nil {
		s.Violated++
		if len(s.Violations) < maxKept {
			s.Violations = append(s.Violations, *r)
		}
	} else if s.MinEvents == 0 || r.Events < s.MinEvents {
		s.MinEvents = r.Events
	}
	for k, n := range r.Faults {
		s.Faults[k] += n
	}
	if s.Branches == nil {
		s.Branches = make([]world.Branch, len(r.Branches))
		copy(s.Branches, r.Branches)
	} else {
		for i, b := range r.Branches {
			s.Branches[i].Count += b.Count
		}
	}
	s.Stats.Add(&r.Stats)
}

// addOther adds the run of another world with the same seed to what is counted of that.
func (s *Summary) addOther(sums, counts map[string]uint64, r world.Result) map[string]uint64 {
	s.Events += r.Events
	if sums == nil {
		sums = map[string]uint64{}
	}
	for name, n := range counts {
		sums[name] += n
	}
	if r.Violation != nil {
		s.Violated++
		if len(s.Violations) < maxKept {
			s.Violations = append(s.Violations, r)
		}
	}
	return sums
}

// FaultCount returns the number of faults of all kinds.
func (s *Summary) FaultCount() (n uint64) {
	for _, c := range s.Faults {
		n += c
	}
	for name, c := range s.Layouts {
		if strings.HasPrefix(name, layouts.Fault) {
			n += c
		}
	}
	for name, c := range s.Starts {
		if strings.HasPrefix(name, starts.Fault) {
			n += c
		}
	}
	return n
}

// Missed lists faults and branches that no seed met.
func (s *Summary) Missed() (out []string) {
	for k, n := range s.Faults {
		if n == 0 {
			out = append(out, "fault "+faults.Kind(k).String())
		}
	}
	for _, b := range s.Branches {
		if b.Count == 0 && !world.Rare(b.Name) {
			out = append(out, b.Name)
		}
	}
	for _, name := range layouts.Names() {
		if s.Layouts[name] == 0 {
			out = append(out, "layouts "+name)
		}
	}
	for _, name := range starts.Names() {
		if s.Starts[name] == 0 {
			out = append(out, "starts "+name)
		}
	}
	return out
}

// Err says why the runs are not good, or nil.
func (s *Summary) Err() error {
	if s.Violated > 0 {
		return fmt.Errorf("%d of %d seeds violate an invariant", s.Violated, s.Seeds)
	}
	if missed := s.Missed(); s.Seeds >= everyKindFrom && len(missed) > 0 {
		return fmt.Errorf("never met: %s", strings.Join(missed, ", "))
	}
	return nil
}

// Print writes the tables, the violations and the last line.
func (s *Summary) Print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	cell := 0
	put := func(name string, n uint64) {
		fmt.Fprintf(t, "%s\t%d\t", name, n)
		if cell++; cell%3 == 0 {
			fmt.Fprintln(t)
		}
	}
	for k, n := range s.Faults {
		put(faults.Kind(k).String(), n)
	}
	for _, b := range s.Branches {
		if b.Count > 0 || !world.Rare(b.Name) {
			put(b.Name, b.Count)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Layouts)) {
		put("layouts "+name, s.Layouts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Starts)) {
		put("starts "+name, s.Starts[name])
	}
	fmt.Fprintln(t)
	_ = t.Flush() // w reports its own errors to the caller
	fmt.Fprintf(w, "stored %d (whole %d, parts %d) deleted %d skipped %d, at least %d events a seed\n",
		s.Stats.Stored, s.Stats.Whole, s.Stats.Parts, s.Stats.Deleted, s.Stats.Skipped, s.MinEvents)
	fmt.Fprintf(w, "layouts merged in the calm %d, split again %d\n", s.Layouts[layouts.MergedInCalm],
		s.Layouts[layouts.SplitAgain])
	for i := range s.Violations {
		v := &s.Violations[i]
		fmt.Fprintf(w, "seed %d step %d: %v\n", v.Seed, v.Events, v.Violation)
		if i == 0 {
			tell(w, v)
		}
	}
	rate := float64(s.Events) / s.Elapsed.Seconds()
	fmt.Fprintf(w, "seeds %d events %d faults %d violations %d (%.0f events/s, %.0f per core)\n",
		s.Seeds, s.Events, s.FaultCount(), s.Violated, rate, rate/float64(min(s.Workers, runtime.GOMAXPROCS(0))))
}

// storyLines is how much of a violated run is told.
const storyLines = 60

// tell replays a violated seed and prints its last lines.
func tell(w io.Writer, r *world.Result) {
	var lines []string
	keep := func(line string) {
		lines = append(lines, line)
		if len(lines) > 2*storyLines {
			lines = append(lines[:0], lines[storyLines:]...)
		}
	}
	switch name := r.Violation.Name; {
	case name.Layouts():
		playLayouts(r.Seed, keep)
	case name.Starts():
		playStarts(r.Seed, keep)
	default:
		play(r.Seed, keep)
	}
	for _, line := range lines[max(0, len(lines)-storyLines):] {
		fmt.Fprintln(w, "  ", line)
	}
	fmt.Fprintf(w, "   replay with: georep simulate --seed %d --trace\n", r.Seed)
}

// Replay plays one seed in all worlds; trace may be nil. The result has the events
// and the first violation of all.
func Replay(seed uint64, trace func(line string)) world.Result {
	r, l, b := play(seed, trace), playLayouts(seed, trace), playStarts(seed, trace)
	r.Events += l.Events + b.Events
	r.Violation = cmp.Or(r.Violation, l.Violation, b.Violation)
	return r
}

func playStarts(seed uint64, trace func(line string)) (r starts.Result) {
	w := starts.New(seed, trace)
	defer func() {
		if p := recover(); p != nil {
			r = w.Crashed(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return w.Run()
}

func playLayouts(seed uint64, trace func(line string)) (r layouts.Result) {
	w := layouts.New(seed, trace)
	defer func() {
		if p := recover(); p != nil {
			r = w.Crashed(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return w.Run()
}

// play runs a seed. A panic of a machine is a violation like any other.
func play(seed uint64, trace func(line string)) (r world.Result) {
	w := world.New(seed)
	if trace != nil {
		w.Trace(trace)
	}
	defer func() {
		if p := recover(); p != nil {
			r = w.Crashed(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return w.Run()
}
