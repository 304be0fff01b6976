// SPDX-License-Identifier: Apache-2.0

// Package row is the form in which every part of `make bench` writes what it has
// measured: a JSON array of rows in build/reports/bench.d/PART.json.
//
//	{"name": "c/1000x1KiB/lz4", "unit": "us/entry",    what, and in what
//	 "ours": 1.0, "peer": 2.0, "peerName": "floor",    medians over the rounds
//	 "ratio": 2.0, "target": 0.87, "spread": 0.05,     of the paired rounds; larger is better
//	 "rounds": 9, "oursOutBytes": 1, "peerOutBytes": 1, "note": "..."}
//
// A name begins with the letter of its table, a to f. What has no peer has neither
// peer, peerName nor ratio. What was not measured has a note in place of ours.
package row

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ErrForm says that a row or a file is not of the form; the text names both.
var ErrForm = errors.New("row: not of the form")

// Row is one line of the report. Absent numbers are nil.
type Row struct {
	Name         string   `json:"name"`
	Unit         string   `json:"unit"`
	Ours         *float64 `json:"ours,omitempty"` // median over the rounds
	Peer         *float64 `json:"peer,omitempty"` // the same; or a limit
	PeerName     string   `json:"peerName,omitempty"`
	Ratio        *float64 `json:"ratio,omitempty"`  // larger is better
	Target       *float64 `json:"target,omitempty"` // of the ratio
	Spread       *float64 `json:"spread,omitempty"` // (p75 - p25) / median of the rounds' ratios
	Rounds       int      `json:"rounds,omitempty"`
	OursOutBytes *int64   `json:"oursOutBytes,omitempty"`
	PeerOutBytes *int64   `json:"peerOutBytes,omitempty"`
	Note         string   `json:"note,omitempty"`
}

// Missed says that the row has a target that its ratio does not reach.
func (r *Row) Missed() bool { return r.Target != nil && *r.Ratio < *r.Target }

// Of returns a pointer to a number, for a row's fields.
func Of[T any](v T) *T { return &v }

var names = regexp.MustCompile(`^[a-f]/[!-~]+( [!-~]+)*$`)

// Check returns what is wrong with the row, or nil.
func (r *Row) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: row %q: %s", ErrForm, r.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case !names.MatchString(r.Name):
		return bad("name: a letter a to f, a slash, then text without blanks at its ends")
	case r.Unit == "":
		return bad("no unit")
	case r.Ours == nil && r.Note == "":
		return bad("neither ours nor a note that says why")
	case r.Target != nil && r.Ratio == nil:
		return bad("a target, but no ratio")
	case (r.Peer == nil) != (r.PeerName == "") || (r.Peer == nil) != (r.Ratio == nil):
		return bad("peer, peerName and ratio go together")
	case r.Rounds < 0:
		return bad("rounds: %d", r.Rounds)
	}
	for _, f := range []struct {
		name  string
		value *float64
		zero  bool
	}{
		{"ours", r.Ours, true}, {"peer", r.Peer, true}, {"ratio", r.Ratio, false}, {"target", r.Target, false},
		{"spread", r.Spread, true},
	} {
		v := f.value
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0 || *v == 0 && !f.zero) {
			return bad("%s: %v", f.name, *v)
		}
	}
	return nil
}

// Parse reads an array of rows. It is strict: a field that a row does not have, or
// a value of another type, is an error with the row's place and name.
func Parse(data []byte) ([]Row, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%w: no array of rows: %w", ErrForm, err)
	}
	rows := make([]Row, len(raw))
	for i, text := range raw {
		var named struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(text, &named) // for the message alone
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&rows[i]); err != nil {
			return nil, fmt.Errorf("%w: row %d %q: %w", ErrForm, i, named.Name, err)
		}
		if err := rows[i].Check(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Read reads a file of rows; errors name it.
func Read(file string) ([]Row, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}

// Write checks the rows and puts them into a file, one a line, in the order of
// their names.
func Write(file string, rows []Row) error {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	var out bytes.Buffer
	out.WriteString("[")
	for i := range rows {
		if err := rows[i].Check(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		text, err := json.Marshal(&rows[i])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		out.Write(text)
	}
	out.WriteString("\n]\n")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}
