// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"georep/benchmarks/row"
)

var heads = []string{"name", "unit", "ours", "peer", "ratio", "target", "", "spread", "rounds", "bytes/peer's", "peer is"}

const textColumns = 2 // from the left; the rest are numbers, but for the last

// printTable prints the rows, aligned: text to the left, numbers to the right. Notes
// stand below, each once.
func printTable(out io.Writer, rows []row.Row) {
	lines := [][]string{heads}
	var notes []string
	for i := range rows {
		mark := ""
		if n := rows[i].Note; n != "" {
			at := slices.Index(notes, n)
			if at < 0 {
				at, notes = len(notes), append(notes, n)
			}
			mark = fmt.Sprintf("[%d]", at+1)
		}
		lines = append(lines, cells(&rows[i], mark))
	}
	width := make([]int, len(heads))
	for _, l := range lines {
		for k, c := range l {
			width[k] = max(width[k], len(c))
		}
	}
	last := len(heads) - 1
	for _, l := range lines {
		var b strings.Builder
		for k, c := range l {
			pad := strings.Repeat(" ", width[k]-len(c))
			switch {
			case k < textColumns:
				b.WriteString(c + pad + "  ")
			case k < last:
				b.WriteString(pad + c + "  ")
			default:
				b.WriteString(c)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	for i, n := range notes {
		fmt.Fprintf(out, "[%d] %s\n", i+1, n)
	}
}

func cells(r *row.Row, mark string) []string {
	state, spread, rounds, size := "", "", "", ""
	switch {
	case r.Missed():
		state = "MISSED"
	case r.Target != nil:
		state = "ok"
	}
	if r.Spread != nil {
		spread = fmt.Sprintf("%.1f%%", *r.Spread*100)
	}
	if r.Rounds > 0 {
		rounds = strconv.Itoa(r.Rounds)
	}
	if r.OursOutBytes != nil && r.PeerOutBytes != nil && *r.PeerOutBytes > 0 {
		size = fmt.Sprintf("%.3f", float64(*r.OursOutBytes)/float64(*r.PeerOutBytes))
	} else if r.OursOutBytes != nil {
		size = fmt.Sprintf("%d B", *r.OursOutBytes)
	}
	about := strings.TrimSpace(r.PeerName + " " + mark)
	return []string{r.Name, r.Unit, number(r.Ours), number(r.Peer), number(r.Ratio), number(r.Target), state, spread,
		rounds, size, about}
}

// number prints four significant digits, and whole numbers in full.
func number(v *float64) string {
	switch {
	case v == nil:
		return ""
	case *v >= 1000 || *v == float64(int64(*v)):
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
