// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"georep/benchmarks/fleet"
	"georep/benchmarks/row"
)

// changeSegments is how many segments the topic has before one of them is split.
const changeSegments = 4

// changeRows counts what clusters tell each other when one of them splits a segment,
// until all have acknowledged it. It is the same in every run.
func changeRows(s *settings) ([]row.Row, error) {
	var rows []row.Row
	for n := 2; n <= 7; n++ {
		base := fmt.Sprintf("e/change/%d-clusters", n)
		if !s.wants(base) {
			continue
		}
		t, err := fleet.Change(n, changeSegments)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		for _, c := range []struct {
			name, unit string
			value      int
		}{
			{"calls", "calls", t.Calls}, {"states", "states", t.States}, {"json", "B over HTTP", t.JSON},
			{"protobuf", "B as protobuf", t.Protobuf},
		} {
			rows = append(rows, row.Row{Name: base + "/" + c.name, Unit: c.unit, Ours: row.Of(float64(c.value))})
		}
	}
	return rows, nil
}
