// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"georep/benchmarks/row"
)

// mayLose is the part of its baseline's ratio that a row may lose.
const mayLose = 0.20

// Baseline is the ratios that later reports are held against, and where they were
// measured: the lines of bench-machine.txt, the commit among them.
type Baseline struct {
	Machine []string           `json:"machine"`
	Ratios  map[string]float64 `json:"ratios"`
}

func readBaseline(file string) (*Baseline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no baseline: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var b Baseline
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", file, row.ErrForm, err)
	}
	if len(b.Ratios) == 0 {
		return nil, fmt.Errorf("%s: %w: no ratios", file, row.ErrForm)
	}
	for name, r := range b.Ratios {
		if r <= 0 {
			return nil, fmt.Errorf("%s: %w: row %q: ratio: %v", file, row.ErrForm, name, r)
		}
	}
	return &b, nil
}

// readReport returns the rows of the last `make bench`.
func readReport(dir string) ([]row.Row, error) {
	rows, err := row.Read(reportFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s: run make bench first", reportFile(dir))
	}
	return rows, err
}

// checkAgainst compares the last report with the baseline in file.
func checkAgainst(out io.Writer, dir, file string) error {
	base, err := readBaseline(file)
	if err != nil {
		return err
	}
	rows, err := readReport(dir)
	if err != nil {
		return err
	}
	now := map[string]float64{}
	for i := range rows {
		if r := &rows[i]; r.Ratio != nil {
			now[r.Name] = *r.Ratio
			if _, known := base.Ratios[r.Name]; !known {
				fmt.Fprintf(out, "new       %s  ratio %s\n", r.Name, number(r.Ratio))
			}
		}
	}
	var failed []string
	for _, name := range slices.Sorted(maps.Keys(base.Ratios)) {
		was := base.Ratios[name]
		is, measured := now[name]
		switch {
		case !measured:
			fmt.Fprintf(out, "MISSING   %s  ratio was %s\n", name, number(&was))
		case is < was*(1-mayLose):
			fmt.Fprintf(out, "LOST      %s  ratio %s, was %s: %.0f %% less\n", name, number(&is), number(&was), (1-is/was)*100)
		default:
			continue
		}
		failed = append(failed, name)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d rows lost more than %.0f %% or are missing: %s", len(failed), len(base.Ratios),
			mayLose*100, strings.Join(failed, ", "))
	}
	fmt.Fprintf(out, "bench-check ok: %d ratios, none lost more than %.0f %%\n", len(base.Ratios), mayLose*100)
	return nil
}

// writeBaseline makes the last report the baseline.
func writeBaseline(out io.Writer, dir, file string) error {
	rows, err := readReport(dir)
	if err != nil {
		return err
	}
	machine, err := os.ReadFile(machineFile(dir))
	if err != nil {
		return fmt.Errorf("the machine is not described: %w", err)
	}
	b := Baseline{Machine: strings.Split(strings.TrimSpace(string(machine)), "\n"), Ratios: map[string]float64{}}
	for i := range rows {
		if r := &rows[i]; r.Ratio != nil {
			b.Ratios[r.Name] = *r.Ratio
		}
	}
	text, err := json.MarshalIndent(&b, "", "  ") // keys in order
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d ratios\n", file, len(b.Ratios))
	return nil
}
