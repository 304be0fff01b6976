// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Position is georep.v1.Position.
type Position struct{ Ledger, Entry Number }

func (p *Position) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Ledger, p.Entry)
}

// Reset is georep.v1.ResetPlan, as far as it is printed: cursors that begin
// anew, or would.
type Reset struct {
	Segments []*SegmentReset
	Total    *SegmentReset
}

// SegmentReset is one segment's part.
type SegmentReset struct {
	Segment    Number
	Start      *Position
	Generation Number

	ReadEntries, ReadBytes, ReadOffloadedBytes Number // from the start to the log's end
	AgainEntries                               Number // of these the cursor was past: sent, or left out
	SkipEntries, SkipBytes, SkipOffloadedBytes Number // would have been read, and are left out now
}

// ParseReset reads the answer of reset-cursor. Errors wrap [ErrJSON].
func ParseReset(answer []byte) (*Reset, error) {
	var r Reset
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if r.Total == nil {
		return nil, fmt.Errorf("%w: no total", ErrJSON)
	}
	return &r, nil
}

// Print writes a line for each segment, below them what it comes to.
func (r *Reset) Print() string {
	var b strings.Builder
	t := table{columns: []column{{name: "SEGMENT", number: true}, {name: "BEGINS AT"}, {name: "GENERATION", number: true},
		{name: "READS", number: true}, {name: "BYTES", number: true}, {name: "OFFLOADED", number: true},
		{name: "PAST", number: true}, {name: "LEAVES OUT", number: true}, {name: "BYTES", number: true},
		{name: "OFFLOADED", number: true}}}
	for _, s := range r.Segments {
		t.add(nil, fmt.Sprint(int64(s.Segment)), s.Start.String(), fmt.Sprint(int64(s.Generation)),
			Count(int64(s.ReadEntries)), Bytes(int64(s.ReadBytes)), Bytes(int64(s.ReadOffloadedBytes)),
			Count(int64(s.AgainEntries)),
			Count(int64(s.SkipEntries)), Bytes(int64(s.SkipBytes)), Bytes(int64(s.SkipOffloadedBytes)))
	}
	if len(t.rows) > 0 {
		t.appendTo(&b)
	}
	s := r.Total
	fmt.Fprintf(&b, "reads %d entries, %s, of these %s offloaded; the cursor was past %d of them\n", s.ReadEntries,
		Bytes(int64(s.ReadBytes)), Bytes(int64(s.ReadOffloadedBytes)), s.AgainEntries)
	fmt.Fprintf(&b, "leaves out %d entries, %s, of these %s offloaded\n", s.SkipEntries, Bytes(int64(s.SkipBytes)),
		Bytes(int64(s.SkipOffloadedBytes)))
	return b.String()
}
