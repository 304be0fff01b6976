// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVectors takes every stored entry of a real client through the command:
// place never fails on a good entry, and what rebatch writes holds the messages
// that inspect shows in the entry, each once.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../tests/interop/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	flags := strings.Fields("--layout testdata/b4.json --source-layout testdata/a1.json --source-segment 0 --from a --remote b -o " + t.TempDir())
	actions := map[string]int{}
	for _, file := range files {
		var decision struct{ Action, Reason string }
		mustJSON(t, &decision, append([]string{"place", file}, flags...)...)
		actions[decision.Action]++
		if decision.Action != "rebatch" {
			continue
		}
		var parts []struct{ File string }
		mustJSON(t, &parts, append([]string{"rebatch", file}, flags...)...)
		var got []string
		for _, p := range parts {
			got = append(got, bodies(t, filepath.Join(flags[len(flags)-1], p.File))...)
		}
		want := bodies(t, file)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: parts hold\n%v, the entry\n%v", file, got, want)
		}
	}
	for _, a := range []string{"single", "rebatch", "unkeyed", "park", "drop"} {
		if actions[a] == 0 {
			t.Errorf("no vector was %s: %v", a, actions)
		}
	}
}

// bodies describes the messages of an entry but for their places.
func bodies(t *testing.T, file string) (out []string) {
	t.Helper()
	var e struct{ Messages []map[string]any }
	mustJSON(t, &e, "inspect", file)
	for _, m := range e.Messages {
		delete(m, "index")
		out = append(out, fmt.Sprint(m))
	}
	return out
}

func mustJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("%v: status %d: %s", args, status, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), v); err != nil {
		t.Fatal(err)
	}
}
