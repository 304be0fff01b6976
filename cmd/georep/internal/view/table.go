// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"unicode/utf8"
)

// Width is how many columns of a terminal the texts of this package may take.
const Width = 120

// column is one of a table's. Numbers stand to the right, one space from their
// neighbour, text to the left, two spaces.
type column struct {
	name   string
	number bool
	max    int // longer text is cut; 0 = any
}

// table lays rows out below their columns; a row may have notes.
type table struct {
	columns []column
	rows    []tableRow
}

type tableRow struct {
	cells []string
	notes []string
}

func (t *table) add(notes []string, cells ...string) {
	t.rows = append(t.rows, tableRow{cells, notes})
}

// appendTo writes the table; no line is longer than [Width].
func (t *table) appendTo(b *strings.Builder) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = len(c.name)
		for _, r := range t.rows {
			if c.max > 0 {
				r.cells[i] = Cut(r.cells[i], c.max)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.name
	}
	t.line(b, widths, head)
	for _, r := range t.rows {
		t.line(b, widths, r.cells)
		for _, n := range r.notes {
			b.WriteString(Cut("    "+n, Width))
			b.WriteByte('\n')
		}
	}
}

func (t *table) line(b *strings.Builder, widths []int, cells []string) {
	var line strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i > 0 {
			line.WriteByte(' ')
		}
		if t.columns[i].number {
			line.WriteString(pad + c)
		} else {
			line.WriteString(c + pad + " ")
		}
	}
	b.WriteString(Cut(strings.TrimRight(line.String(), " "), Width))
	b.WriteByte('\n')
}

// Cut shortens text to n characters, the last of which then is "…". Line ends
// become spaces.
func Cut(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
