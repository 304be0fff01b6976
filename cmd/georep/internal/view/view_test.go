// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUnits(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 9999: "9999", 10_000: "10.0k", 99_949: "99.9k", 99_950: "100k",
		999_499: "999k", 999_500: "1.0M", 12_345_678: "12.3M", math.MaxInt64: "9.2E", -5: "-5"} {
		if got := Count(n); got != want || utf8.RuneCountInString(got) > 5 {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 64 << 20: "64 MiB", -1 << 20: "-1 MiB",
		1<<20 - 1: "1 MiB", math.MaxInt64: "8 EiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{-1: "?", 0: "0s", 119: "119s", 120: "2m", 7199: "119m", 7200: "2h",
		172_799: "47h", 172_800: "2d"} {
		if got := Seconds(n); got != want {
			t.Errorf("Seconds(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	var got []Number
	if err := json.Unmarshal([]byte(`[5, "6", -7, "9223372036854775807"]`), &got); err != nil || got[1] != 6 || got[3] != math.MaxInt64 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`"x"`, `1.5`, `{}`} {
		var n Number
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s became %d", bad, n)
		}
	}
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{"short": "short", "exactly8": "exactly8", "nine long": "nine lo…",
		"a\nb\tc": "a b c", "äöüäöüäöü": "äöüäöüä…"} {
		if got := Cut(in, 8); got != want {
			t.Errorf("Cut(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestState: what a row says of every window state, with what the segment adds.
func TestState(t *testing.T) {
	for _, c := range []struct {
		segment, window string
		backlog         Number
		stalled         bool
		want            string
		well            bool
	}{
		{"ACTIVE", "", 0, false, "starting", true},
		{"ACTIVE", "replicating", 9, false, "replicating", true},
		{"ACTIVE", "replicating", 9, true, "stalled", false},
		{"ACTIVE", "starting", 9, true, "stalled", false},
		{"SEALED", "replicating", 9, false, "draining", true},
		{"SEALED", "replicating", 0, false, "drained", true},
		{"SEALED", "starting", 0, false, "starting", true},
		{"SEALED", "starting", 9, false, "starting", true},
		{"SEALED", "paused", 0, false, "paused", false},
		{"ACTIVE", "stalled", 9, false, "stalled", false},
		{"ACTIVE", "unsupported", 0, false, "unsupported", false},
		{"ACTIVE", "denied", 0, false, "denied", false},
		{"ACTIVE", "a-later-one", 0, false, "a-later-one", false},
	} {
		r := &Remote{Backlog: c.backlog, Stalled: c.stalled}
		if c.window != "" {
			r.Window = &Window{State: c.window}
		}
		s := &Segment{State: c.segment}
		if got := s.state(r); got != c.want || well(got) != c.well {
			t.Errorf("%s, window %q, backlog %d, stalled %v: %s, well %v", c.segment, c.window, c.backlog, c.stalled,
				got, well(got))
		}
	}
}

func TestUnexpectedAnswers(t *testing.T) {
	for _, in := range []string{"", "[]", "{}", `{"topic": 5}`, `{"topic": "x", "segments": {}}`, `{"namespace": "n", "topics": 5}`} {
		if _, err := ParseStatus([]byte(in)); !errors.Is(err, ErrJSON) {
			t.Errorf("status %q: %v", in, err)
		}
	}
	for _, in := range []string{"", "{}", `{"topic": "x", "parked": {}}`} {
		if _, err := ParseParked([]byte(in)); !errors.Is(err, ErrJSON) {
			t.Errorf("parked %q: %v", in, err)
		}
	}
}

func TestUnexpectedStarts(t *testing.T) {
	for _, in := range []string{"", "{}", `{"topic": "x", "segments": {}}`, `{"topic": "x", "segments": [{"remotes": {"b": {"plan": 5}}}]}`} {
		if _, err := ParseBootstrap([]byte(in)); !errors.Is(err, ErrJSON) {
			t.Errorf("bootstrap %q: %v", in, err)
		}
	}
	for _, in := range []string{"", "[]", "{}", `{"segments": [{"segment": "x"}]}`} {
		if _, err := ParseReset([]byte(in)); !errors.Is(err, ErrJSON) {
			t.Errorf("reset %q: %v", in, err)
		}
	}
}

// TestStartInStatus: what was left out stays in sight, also of segments that are
// drained, and so does a start that is not known.
func TestStartInStatus(t *testing.T) {
	for in, want := range map[string]string{
		`{"state":"kept"}`: "",
		`{"state":"placed","plan":{"start":{"ledger":"3"}}}`:                                    "",
		`{"state":"placed","plan":{"entries":"7","bytes":"2048","fromMillis":"1764400000000"}}`: "to b: not replicated by choice: 7 entries, 2 KiB, from 2025-11-29T07:06:40Z to ?",
		`{"state":"placed","plan":{"entries":"1","toMillis":"999"}}`:                            "to b: not replicated by choice: 1 entries, 0 B, from ? to 1970-01-01T00:00:00Z",
		`{"state":"waiting","why":"time-out","tries":2}`:                                        "    where it begins is not known: time-out",
	} {
		s, err := ParseStatus([]byte(`{"topic":"topic://t/n/x","cluster":"a","segments":[{"id":0,"range":"0000-ffff",
			"state":"SEALED","remotes":{"b":{"window":{"state":"replicating"},"bootstrap":` + in + `}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		all, few := s.Print(true), s.Print(false)
		if want == "" && (strings.Contains(all, "choice") || strings.Contains(all, "begins")) ||
			!strings.Contains(all, want) || strings.HasPrefix(want, "to b") && !strings.Contains(few, "\n"+want+"\n") {
			t.Errorf("%s: want %q in\n%s\nand\n%s", in, want, all, few)
		}
		if got, want := s.Trouble(), strings.Count(in, `"why"`); got != want {
			t.Errorf("%s: %d troubles, want %d", in, got, want)
		}
	}
}

func TestDeniedTopic(t *testing.T) {
	s, err := ParseStatus([]byte(`{"topic":"topic://t/n/home","cluster":"a","epoch":3,"remotes":{},"segments":[],
		"denied":{"c":"denied by pattern georep.deny.*","b":"denied by pattern georep.allow.b"},
		"trouble":"namespace properties: georep.deny.d counts for nothing: ` + strings.Repeat("x", 200) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(s.Print(false), "\n")
	want := []string{"topic://t/n/home  cluster a  epoch 3", "not to b: denied by pattern georep.allow.b",
		"not to c: denied by pattern georep.deny.*"}
	if !slices.Equal(lines[:3], want) || lines[4] != "nothing to replicate" {
		t.Errorf("printed %q", lines)
	}
	if !strings.HasPrefix(lines[3], "namespace properties: georep.deny.d counts") || len([]rune(lines[3])) > Width {
		t.Errorf("trouble %q", lines[3])
	}
	if s.Trouble() != 1 {
		t.Errorf("%d troubles, want 1", s.Trouble())
	}
	s.Topics[0].Trouble = ""
	if s.Trouble() != 0 {
		t.Error("a topic that is denied needs no look")
	}
}

// TestLayoutsKeptApart: a change under way needs no look, what ends by itself never does.
func TestLayoutsKeptApart(t *testing.T) {
	for in, want := range map[string]int{
		`{"mutating":"fold","awaits":"b","dissent":["b"],"peers":[{"cluster":"b","known":true,"lagMillis":"70"}]}`: 0,
		`{"error":"HTTP 503"}`:                          1,
		`{"noRing":"segment 3 is of a migrated topic"}`: 1,
		`{"peers":[{"cluster":"b","refused":"9 segments, b allows 8"},{"cluster":"c","declined":"8"},{"cluster":"d","trouble":"401"}]}`: 3,
	} {
		s, err := ParseStatus([]byte(`{"topic":"topic://t/n/x","cluster":"a","segments":[],"convergence":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Trouble(); got != want {
			t.Errorf("%s: %d troubles, want %d", in, got, want)
		}
	}
}
