// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// paths are the counters that are printed, by the heads of their columns.
var paths = []struct{ head, counter string }{
	{"VERBATIM", "verbatim"}, {"SINGLE", "single"}, {"UNKEYED", "unkeyed"}, {"REBATCH", "rebatched"},
	{"DROPPED", "dropped"},
}

// maxNamed is how many parked positions a note names.
const maxNamed = 3

func (t *Topic) appendTo(b *strings.Builder, all bool, sum *totals) {
	fmt.Fprintf(b, "%s  cluster %s  epoch %d", t.Topic, t.Cluster, t.Epoch)
	for _, remote := range slices.Sorted(maps.Keys(t.Remotes)) {
		fmt.Fprintf(b, "  -> %s generation %d", remote, t.Remotes[remote].Generation)
		if t.Remotes[remote].Paused {
			b.WriteString(" (paused)")
		}
	}
	b.WriteByte('\n')
	for _, remote := range slices.Sorted(maps.Keys(t.Denied)) {
		fmt.Fprintln(b, Cut("not to "+remote+": "+t.Denied[remote], Width))
	}
	if t.Trouble != "" {
		fmt.Fprintln(b, Cut(t.Trouble, Width))
	}
	t.Convergence.appendTo(b)
	t.appendLeftOut(b)
	rows := table{columns: []column{{name: "SEGMENT"}, {name: "REMOTE", max: 12}, {name: "STATE"}, {name: "WAITS FOR"},
		{name: "BACKLOG", number: true}, {name: "DELAY", number: true}, {name: "PARKED", number: true}}}
	for _, p := range paths {
		rows.columns = append(rows.columns, column{name: p.head, number: true})
	}
	for _, s := range t.Segments {
		s.appendRows(&rows, all, sum)
	}
	if len(rows.rows) > 0 {
		rows.appendTo(b)
	} else {
		b.WriteString("nothing to replicate\n")
	}
}

// appendLeftOut says for each remote what none of the segments sends, hidden ones
// included.
func (t *Topic) appendLeftOut(b *strings.Builder) {
	sum := leftOut{}
	for _, s := range t.Segments {
		for remote, r := range s.Remotes {
			if r.Bootstrap != nil {
				sum.add(remote, r.Bootstrap.Plan)
			}
		}
	}
	for _, remote := range slices.Sorted(maps.Keys(sum)) {
		if sum[remote].Entries > 0 {
			fmt.Fprintln(b, Cut("to "+remote+": "+sum[remote].LeftOut(), Width))
		}
	}
}

func (s *Segment) appendRows(rows *table, all bool, sum *totals) {
	name := fmt.Sprintf("%s-%d", s.Range, s.ID)
	empty := make([]string, 3+len(paths))
	switch {
	case s.Error != "":
		sum.errors++
		rows.add([]string{s.Error}, append([]string{name, "?", "?", ""}, empty...)...)
	case s.Legacy != "":
		rows.add(nil, append([]string{name, "", "legacy", ""}, empty...)...)
	}
	for _, remote := range slices.Sorted(maps.Keys(s.Remotes)) {
		r := s.Remotes[remote]
		state := s.state(r)
		sum.states[state]++
		sum.backlog += int64(r.Backlog)
		cells := []string{name, remote, state, "", Count(int64(r.Backlog)), Seconds(int64(r.DelaySeconds)), "0"}
		if r.Window != nil {
			cells[3] = r.Window.Reason
			cells[6] = Count(int64(r.Window.ParkedTotal))
			sum.parked += int64(r.Window.ParkedTotal)
		}
		if state == "drained" && !all {
			sum.hidden++
			continue
		}
		for _, p := range paths {
			cells = append(cells, Count(r.Window.counter(p.counter)))
		}
		rows.add(r.notes(remote, r.Backlog > 0 || !well(state)), cells...)
	}
}

// notes say what a row has no room for; what went wrong last only while it may
// still matter.
func (r *Remote) notes(remote string, matters bool) []string {
	var out []string
	if r.RemoteStatus != "supported" && r.RemoteStatus != "starting" && r.RemoteStatus != "" {
		out = append(out, remote+": "+r.RemoteStatus)
	}
	if matters && r.Trouble != "" && r.Trouble != r.RemoteStatus {
		out = append(out, "last trouble: "+r.Trouble)
	}
	if waited := int64(r.ThrottledMillis) / 1000; matters && waited > 0 {
		out = append(out, "has waited "+Seconds(waited)+" for the budget")
	}
	if b := r.Bootstrap; b != nil && b.Why != "" {
		out = append(out, "where it begins is not known: "+b.Why)
	}
	if r.Window == nil || len(r.Window.Parked) == 0 {
		return out
	}
	var named []string
	for _, p := range r.Window.Parked[:min(maxNamed, len(r.Window.Parked))] {
		named = append(named, fmt.Sprintf("%d:%d %s", p.Position.Ledger, p.Position.Entry, p.Reason))
	}
	note := "parked: " + strings.Join(named, ", ")
	if more := int(r.Window.ParkedTotal) - len(named); more > 0 {
		note += fmt.Sprintf(" and %d more", more)
	}
	return append(out, note)
}
