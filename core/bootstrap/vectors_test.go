// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type vectorFile struct {
	Generic []struct {
		In struct {
			FollowerEmpty, Enabled *bool
			Compacted              bool
			P, LS, LL, LE          int64
		}
		Out struct {
			Action   string
			At       int64
			Aux      []int64
			LogStart *int64
		}
	}
	Pulsar []struct {
		Ledgers string
		Out     json.RawMessage
	}
}

func vectors(t *testing.T) (f vectorFile) {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGenericVectors are KIP-1023's own cases, and today's Kafka's mistake (the last).
func TestGenericVectors(t *testing.T) {
	all := vectors(t).Generic
	if len(all) != 12 {
		t.Fatalf("%d vectors", len(all))
	}
	for i, v := range all {
		f := Facts{HasPosition: v.In.FollowerEmpty != nil && !*v.In.FollowerEmpty, Compacted: v.In.Compacted,
			Enabled: v.In.Enabled == nil || *v.In.Enabled, LogStart: v.In.LS, LocalStart: v.In.LL, Pending: v.In.P,
			LogEnd: v.In.LE}
		d := Decide(f)
		if d.Action.String() != v.Out.Action || d.At != v.Out.At {
			t.Errorf("vector %d: %v at %d, want %+v", i, d.Action, d.At, v.Out)
		}
		if v.Out.Aux != nil && (f.LogStart != v.Out.Aux[0] || d.At != v.Out.Aux[1]) {
			t.Errorf("vector %d skips [%d, %d), want %v", i, f.LogStart, d.At, v.Out.Aux)
		}
		if v.Out.LogStart != nil && f.LogStart != *v.Out.LogStart {
			t.Errorf("vector %d: log start %d, want %d", i, f.LogStart, *v.Out.LogStart)
		}
	}
}

// TestPulsarVectors runs what the file says of ledgers in words.
func TestPulsarVectors(t *testing.T) {
	all := vectors(t).Pulsar
	if len(all) != 6 {
		t.Fatalf("%d vectors", len(all))
	}
	logs := map[string]string{ // of those that are no list
		"all closed ones offloaded, 14 open":                        "11 c30, 12 d20, 13 c10, 14 open0",
		"metadata unreadable, some ledgers deleted from bookkeeper": "10 d100, 11 u100, 12 open0",
		"metadata unreadable, none deleted":                         "10 u100, 11 u100, 12 open0",
		"10 offloaded, 11 offloaded, 12 open":                       "10 c100, 11 c100, 12 open0",
		"10 offloaded, 11 not, 12 offloaded, 13 open":               "10 c100, 11 n100, 12 c100, 13 open0",
		"10 offloaded, 11 empty, 12 offloaded, 13 open":             "10 c100, 11 n0, 12 c100, 13 open0",
	}
	for _, v := range all {
		text, ok := logs[v.Ledgers]
		if !ok {
			t.Fatalf("vector %q has no log", v.Ledgers)
		}
		l := log(text)
		p, _, err := Make(l, asked(EarliestNotOffloaded))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Start string
			Aux   []string
		}
		var word string
		if json.Unmarshal(v.Out, &word) != nil {
			if err := json.Unmarshal(v.Out, &want); err != nil {
				t.Fatal(err)
			}
			if p.Action != Start || p.Start.String() != want.Start {
				t.Errorf("%s: %v", v.Ledgers, p)
			}
			if want.Aux != nil && (l.first(0).String() != want.Aux[0] || p.Start.String() != want.Aux[1] || p.Entries == 0 ||
				!strings.HasPrefix(want.Aux[0], "10:") || p.Skipped[0].Ledger != 10) {
				t.Errorf("%s: skips %v", v.Ledgers, p)
			}
			continue
		}
		switch word {
		case "retry":
			if p.Action != Retry {
				t.Errorf("%s: %v", v.Ledgers, p)
			}
		case "local start":
			if p.Action != Start || p.Start.String() != "10:0" || p.Entries != 0 {
				t.Errorf("%s: %v", v.Ledgers, p)
			}
		default:
			t.Fatalf("%s: %q", v.Ledgers, word)
		}
	}
}
