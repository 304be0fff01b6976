// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"georep/benchmarks/row"
)

// long are the rows that `make bench` does not measure itself, because they take
// minutes: the last ones are taken, and their absence is told.
var long = []row.Row{
	{Name: "e/idle/segments", Unit: "us/segment/s", Note: "not measured here: make bench-idle"},
	{Name: "e/idle/layouts", Unit: "% of a core/cluster", Note: "not measured here: make bench-converge"},
}

// merge collects the parts' rows, writes them and prints the table.
func merge(out io.Writer, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "bench.d", "*.json"))
	if err != nil {
		return err
	}
	var rows []row.Row
	from := map[string]string{}
	for _, f := range files {
		part, err := row.Read(f)
		if err != nil {
			return err
		}
		for _, r := range part {
			if other, ok := from[r.Name]; ok {
				return fmt.Errorf("%w: row %q is in %s and in %s", row.ErrForm, r.Name, other, f)
			}
			from[r.Name] = f
		}
		rows = append(rows, part...)
	}
	if len(rows) == 0 {
		return fmt.Errorf("no rows in %s: make bench measures them", filepath.Join(dir, "bench.d"))
	}
	for _, r := range long {
		if from[r.Name] == "" {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row.Row) int { return strings.Compare(a.Name, b.Name) })
	if err := row.Write(reportFile(dir), rows); err != nil {
		return err
	}
	machine, err := os.ReadFile(machineFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(out, "%s\n", machine)
	printTable(out, rows)
	fmt.Fprintf(out, "\n%s\n", verdict(rows))
	return nil
}

// verdict is the last line of the report.
func verdict(rows []row.Row) string {
	targets := 0
	var missed []string
	for i := range rows {
		if rows[i].Target != nil {
			targets++
		}
		if rows[i].Missed() {
			missed = append(missed, rows[i].Name)
		}
	}
	text := fmt.Sprintf("bench ok: %d rows, %d with a target, %d missed", len(rows), targets, len(missed))
	if len(missed) > 0 {
		text += ": " + strings.Join(missed, ", ")
	}
	return text
}
