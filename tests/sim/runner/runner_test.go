// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"georep/core/planted"
	"georep/tests/sim/world"
)

func TestSeedsKeepTheInvariants(t *testing.T) {
	if planted.Enabled {
		t.Skip("this binary can plant mistakes; the mutants command plays it")
	}
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	sum := Play(Options{First: 90_001, Seeds: seeds, Stop: true})
	for i := range sum.Violations {
		t.Errorf("seed %d: %v", sum.Violations[i].Seed, sum.Violations[i].Violation)
	}
	if sum.MinEvents < 2000 || sum.FaultCount() < 20*seeds || sum.Stats.Stored < 100*seeds {
		t.Errorf("a run is too small to mean anything: at least %d events a seed, %d faults, %d stored", sum.MinEvents, sum.FaultCount(), sum.Stats.Stored)
	}
}

func TestSameSeedSameRun(t *testing.T) {
	for _, seed := range []uint64{7, 1 << 40} {
		var a, b []string
		ra := Replay(seed, func(line string) { a = append(a, line) })
		rb := Replay(seed, func(line string) { b = append(b, line) })
		quiet := Replay(seed, nil)
		if ra.Events != rb.Events || ra.Events != quiet.Events || ra.Faults != rb.Faults || ra.Faults != quiet.Faults {
			t.Fatalf("seed %d: %d, %d and (without trace) %d events", seed, ra.Events, rb.Events, quiet.Events)
		}
		for i := range a {
			if i >= len(b) || a[i] != b[i] {
				t.Fatalf("seed %d: line %d differs:\n%s\n%s", seed, i, a[i], b[min(i, len(b)-1)])
			}
		}
	}
}

func TestMissedBranchFailsARun(t *testing.T) {
	s := &Summary{Seeds: everyKindFrom, Branches: []world.Branch{{Name: "path verbatim", Count: 1}, {Name: "path unkeyed"}, {Name: "reason ok"}}}
	for k := range s.Faults {
		s.Faults[k] = 1
	}
	s.Faults[3] = 0
	err := s.Err()
	if err == nil || !strings.Contains(err.Error(), "fault refused, path unkeyed") || strings.Contains(err.Error(), "reason ok") {
		t.Errorf("error %v, want one that names the fault and the branch and nothing else", err)
	}
	s.Seeds--
	if err := s.Err(); err != nil {
		t.Errorf("few seeds may miss some: %v", err)
	}
}
