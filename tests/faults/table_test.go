// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rows of README.md's table, number first.
var (
	rowStart = regexp.MustCompile(`^\| \d+ \|`)
	link     = regexp.MustCompile(`\[([A-Za-z0-9_]+)\]\(([^)]+)\)`)
	goTest   = `(?m)^func %s\(`
	javaTest = `(?m)^    @(?:Test|ParameterizedTest)\b(?:\n    @[^\n]*)*\n    (?:public )?void %s\(`
)

const lastRow = 54

// laterWork may hold a row that this version cannot show yet.
var laterWork = regexp.MustCompile(`^later: (cursor sets)\b`)

// TestTableNamesExistingTests keeps README.md from rotting: rows 1 to 54 in
// order, no empty cell, and every test that is named is a test in its file.
func TestTableNamesExistingTests(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !rowStart.MatchString(line) {
			continue
		}
		n++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 {
			t.Errorf("row %d has %d cells: %s", n, len(cells), line)
			continue
		}
		for i := range cells {
			if cells[i] = strings.TrimSpace(cells[i]); cells[i] == "" {
				t.Errorf("row %d: cell %d is empty", n, i+1)
			}
		}
		if cells[0] != strconv.Itoa(n) {
			t.Errorf("row %d is numbered %s", n, cells[0])
		}
		links := link.FindAllStringSubmatch(line, -1)
		inLast := link.MatchString(cells[3])
		if !inLast && !laterWork.MatchString(cells[3]) {
			t.Errorf("row %d names neither a test nor later work: %q", n, cells[3])
		}
		for _, l := range links {
			checkTest(t, n, l[1], l[2])
		}
	}
	if n != lastRow {
		t.Errorf("%d rows, want %d", n, lastRow)
	}
}

// TestFailuresNameExistingTests does the same for the second table, whose rows
// have no numbers.
func TestFailuresNameExistingTests(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## Failures of clusters")
	if !found {
		t.Fatal("no second table")
	}
	n := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| failure |") {
			continue
		}
		n++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		links := link.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(links) == 0 {
			t.Errorf("failure %d has %d cells and %d tests: %s", n, len(cells), len(links), line)
		}
		for _, l := range links {
			checkTest(t, n, l[1], l[2])
		}
	}
	if n == 0 {
		t.Error("the second table has no row")
	}
}

func checkTest(t *testing.T, row int, name, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("row %d: %v", row, err)
		return
	}
	pattern := goTest
	if filepath.Ext(file) == ".java" {
		pattern = javaTest
	}
	if !regexp.MustCompile(strings.Replace(pattern, "%s", name, 1)).Match(src) {
		t.Errorf("row %d: %s has no test %s", row, file, name)
	}
}
