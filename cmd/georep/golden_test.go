// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/internal/entrytest"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of this package anew")

// entries are the inputs of the golden files, by file name.
func entries() map[string][]byte {
	messages := []entrytest.Message{
		{Key: "k1", HasKey: true, Seq: 12, Body: []byte("zero"), EventTime: 5, Props: [][2]string{{"a", "1"}, {"a", "2"}, {"b", "<3>"}}},
		{Key: "k2", HasKey: true, Seq: 13, Body: []byte("one"), Ordering: "k1"},
		{Key: "AAE=", HasKey: true, B64: true, Seq: 14, Body: []byte("two")},
		{NullKey: true, NullValue: true, Seq: 15},
		{Key: "k1", HasKey: true, Seq: 16, CompactedOut: true},
	}
	extra := entry.AppendStringField(nil, 16, "\x00\x01")
	extra = entry.AppendVarintField(extra, 31, 0)
	extra = entry.AppendVarintField(extra, 31, 3)
	extra = entry.AppendStringField(extra, 99, "who?")
	unkeyed := []entrytest.Message{{Seq: 1, Body: []byte("x")}, {Seq: 2, Body: []byte("y")}}
	broken := (&entrytest.Batch{Messages: messages, Payload: func(p []byte) []byte { p[2] = 1; return p }}).Bytes()
	spoilt := (&entrytest.Batch{Messages: messages}).Bytes()
	spoilt[len(spoilt)-1] ^= 1 // a bit of the last body
	return map[string][]byte{
		"spoilt":    spoilt,
		"batch":     (&entrytest.Batch{Messages: messages, Codec: codec.LZ4, Stamp: true, Extra: extra, Broker: true, To: []string{"b"}, Props: [][2]string{{"outer", "1"}}}).Bytes(),
		"fits":      (&entrytest.Batch{Messages: messages[:1], Stamp: true}).Bytes(),
		"unkeyed":   (&entrytest.Batch{Messages: unkeyed, Stamp: true}).Bytes(),
		"gone":      (&entrytest.Batch{Messages: messages[4:]}).Bytes(),
		"locked":    (&entrytest.Batch{Messages: messages, Encrypt: true}).Bytes(),
		"single":    (&entrytest.Single{Message: messages[1]}).Bytes(),
		"chunk":     (&entrytest.Single{Message: messages[0], Extra: entry.AppendVarintField(entry.AppendStringField(nil, 26, "u-1"), 29, 1), NoCRC: true}).Bytes(),
		"local":     (&entrytest.Batch{Messages: messages, To: []string{"__local__"}}).Bytes(),
		"nosize":    (&entrytest.Batch{Messages: messages, Codec: codec.Zstd, NoSize: true}).Bytes(),
		"cut":       (&entrytest.Batch{Messages: messages}).Bytes()[:33],
		"brokenmsg": broken,
		"dump":      []byte("# comment: 0e01\n" + hex.EncodeToString((&entrytest.Single{Message: messages[1]}).Bytes()) + " // end\n; more\n"),
		"odd":       []byte("0e 01 2\n"),
		"nohex":     []byte("# fine\n0e 0g\n"),
	}
}

// script is one golden file: lines "$ command", each followed by what it prints.
// "status n" stands for an exit status that is not 0, "! " for standard error,
// "file name hex" for each file that the command wrote.
func runScript(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, raw := range entries() {
		if err := os.WriteFile(filepath.Join(dir, file), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	layouts, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layouts {
		raw, err := os.ReadFile(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(l)), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line)
		case strings.HasPrefix(line, "$ "):
			out.WriteString(line)
			out.WriteString(runLine(t, strings.Fields(line[2:])))
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func runLine(t *testing.T, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(args, strings.NewReader("0e01"), &stdout, &stderr)
	out := stdout.String()
	if stderr.Len() > 0 {
		if strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: an error of several lines: %q", args, stderr.String())
		}
		out += "! " + stderr.String()
	}
	if status != 0 {
		out += fmt.Sprintf("status %d\n", status)
	}
	files, err := filepath.Glob("out/*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("file %s %x\n", f, raw)
	}
	if err := os.RemoveAll("out"); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGolden runs the golden files; -rewrite makes them what the command prints.
func TestGolden(t *testing.T) {
	for _, name := range []string{"inspect.golden", "place.golden", "rebatch.golden", "errors.golden", "layouts.golden"} {
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, name)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("got\n%s", firstDifference(got, string(want)))
			}
		})
	}
}

// firstDifference shows the lines around where two texts part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: %s\nwant: %s", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
