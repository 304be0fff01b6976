// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"georep/benchmarks/row"
)

// paired returns a row with a peer.
func paired(name string, ratio, target float64) string {
	text := fmt.Sprintf(`{"name": %q, "unit": "us", "ours": 1, "peer": %g, "peerName": "p", "ratio": %g, "spread": 0.05, "rounds": 7`,
		name, ratio, ratio)
	if target > 0 {
		text += fmt.Sprintf(`, "target": %g`, target)
	}
	return text + "}"
}

// reports makes a directory of reports with the given files.
func reports(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		f := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// called runs the command and returns its exit status and what it said.
func called(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(args, &o, &e)
	return status, o.String(), e.String()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func TestMerge(t *testing.T) {
	dir := reports(t, map[string]string{
		"bench-machine.txt": "# commit 0123456\n",
		"bench.d/core.json": "[" + paired("c/b", 0.5, 0.87) + "," + paired("c/a", 1, 0.87) + "]",
		"bench.d/micro.json": "[" + paired("a/x", 3, 0) +
			`, {"name": "a/y", "unit": "B", "ours": 70000, "oursOutBytes": 12}]`,
	})
	status, out, errs := called("-dir", dir)
	if status != 0 || errs != "" {
		t.Fatalf("%d: %s", status, errs)
	}
	if got, want := lastLine(out), "bench ok: 6 rows, 2 with a target, 1 missed: c/b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rows, err := row.Read(reportFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	if got, want := strings.Join(names, " "), "a/x a/y c/a c/b e/idle/layouts e/idle/segments"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := `# commit 0123456

name             unit                  ours  peer  ratio  target          spread  rounds  bytes/peer's  peer is
a/x              us                       1     3      3                    5.0%       7                p
a/y              B                    70000                                                       12 B
c/a              us                       1     1      1    0.87      ok    5.0%       7                p
c/b              us                       1   0.5    0.5    0.87  MISSED    5.0%       7                p
e/idle/layouts   % of a core/cluster                                                                    [1]
e/idle/segments  us/segment/s                                                                           [2]
[1] not measured here: make bench-converge
[2] not measured here: make bench-idle

bench ok: 6 rows, 2 with a target, 1 missed: c/b
`
	if out != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
}

func TestMergeTakesTheLongOnes(t *testing.T) {
	dir := reports(t, map[string]string{
		"bench.d/idle.json": `[{"name": "e/idle/segments", "unit": "us/segment/s", "ours": 27}]`,
	})
	if status, out, errs := called("-dir", dir); status != 0 || !strings.Contains(out, "bench ok: 2 rows") ||
		strings.Contains(out, "make bench-idle") {
		t.Fatalf("%d: %s%s", status, out, errs)
	}
}

func TestMergeRefuses(t *testing.T) {
	good := "[" + paired("c/a", 1, 0) + "]"
	for _, c := range []struct {
		name  string
		files map[string]string
		says  []string
	}{
		{"nothing", nil, []string{"no rows in"}},
		{"malformed", map[string]string{"bench.d/core.json": good, "bench.d/micro.json": "{"}, []string{"micro.json", "no array"}},
		{"a row", map[string]string{"bench.d/core.json": `[{"name": "c/x", "unit": "us", "ours": 1, "target": 1}]`},
			[]string{"core.json", `"c/x"`, "no ratio"}},
		{"twice", map[string]string{"bench.d/core.json": good, "bench.d/e2e.json": good},
			[]string{"core.json", "e2e.json", `"c/a"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := reports(t, c.files)
			status, _, errs := called("-dir", dir)
			if status != 1 {
				t.Fatalf("status %d", status)
			}
			for _, s := range c.says {
				if !strings.Contains(errs, s) {
					t.Errorf("%q does not say %q", errs, s)
				}
			}
			if _, err := os.Stat(reportFile(dir)); err == nil {
				t.Error("a report was written")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const base = `{"machine": ["# commit 0123456"], "ratios": {"a/x": 2, "c/b": 0.9}}`
	for _, c := range []struct {
		name, baseline, rows string
		status               int
		says                 string // of both outputs
	}{
		{"same", base, paired("a/x", 2, 0) + "," + paired("c/b", 0.9, 0), 0, "bench-check ok: 2 ratios"},
		{"19 % less", base, paired("a/x", 1.62, 0) + "," + paired("c/b", 0.9, 0), 0, "bench-check ok: 2 ratios"},
		{"21 % less", base, paired("a/x", 1.58, 0) + "," + paired("c/b", 0.9, 0), 1, "LOST      a/x  ratio 1.58, was 2: 21 % less"},
		{"all less", base, paired("a/x", 1, 0) + "," + paired("c/b", 0.1, 0), 1, "2 of 2 rows lost more than 20 % or are missing: a/x, c/b"},
		{"more", base, paired("a/x", 9, 0) + "," + paired("c/b", 9, 0), 0, "bench-check ok"},
		{"missing", base, paired("a/x", 2, 0), 1, "MISSING   c/b  ratio was 0.9"},
		{"no ratio any more", base, paired("a/x", 2, 0) + `, {"name": "c/b", "unit": "us", "ours": 1}`, 1, "MISSING   c/b"},
		{"new", base, paired("a/x", 2, 0) + "," + paired("c/b", 1, 0) + "," + paired("d/n", 3, 0), 0, "new       d/n  ratio 3"},
		{"target missed alone", base, paired("a/x", 2, 5) + "," + paired("c/b", 0.9, 0), 0, "bench-check ok"},
		{"malformed baseline", `{"ratio": {}}`, paired("a/x", 2, 0), 1, `unknown field "ratio"`},
		{"empty baseline", `{"machine": [], "ratios": {}}`, paired("a/x", 2, 0), 1, "no ratios"},
		{"bad baseline", `{"machine": [], "ratios": {"a/x": 0}}`, paired("a/x", 2, 0), 1, `row "a/x": ratio: 0`},
		{"malformed report", base, `{"name": "a/x"}`, 1, `bench.json: row: not of the form: row "a/x": no unit`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := reports(t, map[string]string{"bench.json": "[" + c.rows + "]", "base.json": c.baseline})
			status, out, errs := called("-dir", dir, "-check", filepath.Join(dir, "base.json"))
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Fatalf("%d\n%s%s\nwant %d and %q", status, out, errs, c.status, c.says)
			}
		})
	}
}

func TestCheckWithoutFiles(t *testing.T) {
	dir := reports(t, map[string]string{"base.json": `{"machine": [], "ratios": {"a/x": 1}}`})
	if status, _, errs := called("-dir", dir, "-check", filepath.Join(dir, "base.json")); status != 1 ||
		!strings.Contains(errs, "bench.json: run make bench first") {
		t.Fatalf("%d: %s", status, errs)
	}
	if status, _, errs := called("-dir", dir, "-check", filepath.Join(dir, "none.json")); status != 1 ||
		!strings.Contains(errs, "no baseline") {
		t.Fatalf("%d: %s", status, errs)
	}
}

func TestBaselineIsWhatCheckTakes(t *testing.T) {
	dir := reports(t, map[string]string{
		"bench.json":        "[" + paired("c/b", 0.9, 0) + "," + paired("a/x", 2, 0) + `, {"name": "e/m", "unit": "B", "ours": 5}]`,
		"bench-machine.txt": "# commit 0123456\n# a processor\n",
	})
	file := filepath.Join(dir, "base.json")
	if status, out, errs := called("-dir", dir, "-baseline", "-o", file); status != 0 || !strings.Contains(out, "2 ratios") {
		t.Fatalf("%d: %s%s", status, out, errs)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "machine": [
    "# commit 0123456",
    "# a processor"
  ],
  "ratios": {
    "a/x": 2,
    "c/b": 0.9
  }
}
`
	if string(got) != want {
		t.Fatalf("%s", got)
	}
	if status, out, errs := called("-dir", dir, "-check", file); status != 0 {
		t.Fatalf("%d: %s%s", status, out, errs)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"extra"}, {"-baseline", "-check", "x"}} {
		if status, _, errs := called(args...); status != 2 || errs == "" {
			t.Errorf("%v: %d %q", args, status, errs)
		}
	}
}
