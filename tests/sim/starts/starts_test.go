// SPDX-License-Identifier: Apache-2.0

package starts

import (
	"reflect"
	"strings"
	"testing"

	"georep/core/planted"
)

func TestSeeds(t *testing.T) {
	if planted.Enabled {
		t.Skip("this binary can plant mistakes; the mutants command plays it")
	}
	for seed := uint64(1); seed <= 300; seed++ {
		if r := New(seed, nil).Run(); r.Violation != nil {
			var lines []string
			New(seed, func(l string) { lines = append(lines, l) }).Run()
			t.Fatalf("seed %d: %v\n%s", seed, r.Violation, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	}
}

// TestSameSeedSameRun: what a run does depends on its seed alone.
func TestSameSeedSameRun(t *testing.T) {
	story := func() (lines []string) {
		New(7, func(l string) { lines = append(lines, l) }).Run()
		return lines
	}
	if a, b := story(), story(); len(a) < 10 || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d lines", len(a), len(b))
	}
}
