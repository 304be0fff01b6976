// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"errors"
	"strings"
	"testing"

	"georep/core/keyhash"
	"georep/core/layout"
)

// state returns what cluster b says of segments with the starts given.
func state(epoch uint64, starts ...uint16) *State {
	starts = append([]uint16{0}, starts...)
	return &State{Cluster: "b", Instance: "b-1", Version: Version{Epoch: epoch, Term: 1},
		Shape: layout.Shape{Profile: keyhash.PIP486, Starts: starts, Buckets: make([][]uint16, len(starts))},
		Caps:  layout.Caps{MaxSegments: 64, MaxBuckets: 64}}
}

// TestCheckRefusesLies has one line for everything a peer must not say.
func TestCheckRefusesLies(t *testing.T) {
	many := make([]uint16, MaxSegments+1)
	for i := range many {
		many[i] = uint16(i)
	}
	wide := layout.EqualWidth(1 << 16)
	for want, lie := range map[string]func(*State){
		"cluster: 0 bytes":                                              func(s *State) { s.Cluster = "" },
		"cluster: 257 bytes":                                            func(s *State) { s.Cluster = strings.Repeat("x", 257) },
		"instance: 0 bytes":                                             func(s *State) { s.Instance = "" },
		"version: 9223372036854775807.1.0 is above":                     func(s *State) { s.Version.Epoch = 1<<63 - 1 },
		"version: 1.9223372036854775807.0 is above":                     func(s *State) { s.Version.Term = 1<<63 - 1 },
		"version: 1.1.18446744073709551615 is above":                    func(s *State) { s.Version.Counter = 1<<64 - 1 },
		"caps: max_segments 0 is not in 1..":                            func(s *State) { s.Caps.MaxSegments = 0 },
		"caps: max_segments -1 is not in 1..":                           func(s *State) { s.Caps.MaxSegments = -1 },
		"caps: max_buckets 0 is not in 1..":                             func(s *State) { s.Caps.MaxBuckets = 0 },
		"caps: max_buckets 2147483648 is not in 1..":                    func(s *State) { s.Caps.MaxBuckets = 1 << 31 },
		"segments: 16385 are above the cap of 16384":                    func(s *State) { s.Shape.Starts, s.Shape.Buckets = many, make([][]uint16, len(many)) },
		"starts[0]: the first segment has to start at 0":                func(s *State) { s.Shape.Starts[0] = 1 },
		"starts[2]: 100 is not above 200":                               func(s *State) { s.Shape.Starts[1], s.Shape.Starts[2] = 200, 100 },
		"buckets: 1 lists for 3 segments":                               func(s *State) { s.Shape.Buckets = s.Shape.Buckets[:1] },
		"buckets[1][0]: 0 is not above 0":                               func(s *State) { s.Shape.Buckets[1] = []uint16{0} },
		"buckets: more than 131072":                                     func(s *State) { s.Shape.Buckets = [][]uint16{wide, wide, wide} },
		"profile: 7 is unknown":                                         func(s *State) { s.Shape.Profile = 7 },
		"splits: 16385 are above the cap of 16384":                      func(s *State) { s.Splits = make(layout.SplitLog, MaxSegments+1) },
		"splits[0]: 0 does not cut 0000-0000":                           func(s *State) { s.Splits = layout.SplitLog{{}} },
		"cold[0]: no boundary at 150":                                   func(s *State) { s.Cold = []uint16{150} },
		"cold[0]: no boundary at 0":                                     func(s *State) { s.Cold = []uint16{0} },
		"cold[1]: 100 is not above 100":                                 func(s *State) { s.Cold = []uint16{100, 100} },
		"cold_buckets[0]: no segment starts at 5":                       func(s *State) { s.ColdBuckets = []ColdBuckets{{Segment: 5}} },
		"cold_buckets[1]: 100 is not above 100":                         func(s *State) { s.ColdBuckets = []ColdBuckets{{Segment: 100}, {Segment: 100}} },
		"cold_buckets[0].starts[0]: 7 is no bucket start there, or out": func(s *State) { s.ColdBuckets = []ColdBuckets{{Segment: 100, Starts: []uint16{7}}} },
	} {
		s := state(1, 100, 200)
		lie(s)
		if err := s.Check(); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s := state(1, 100, 200)
	s.Cold, s.Splits = []uint16{200}, layout.SplitLog{{At: 200, Parent: layout.Range{Start: 100, End: 0xffff}}}
	if err := s.Check(); err != nil {
		t.Errorf("an honest state: %v", err)
	}
}

func TestVersionOrder(t *testing.T) {
	order := []Version{{1, 5, 9}, {2, 1, 0}, {2, 1, 1}, {2, 2, 0}, {3, 0, 0}}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v and %v: %d", a, b, got)
			}
		}
	}
}
