// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"georep/core/entry"
)

// TestVectors are KIP-1023's own cases, and today's Kafka's mistake (the last).
func TestVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Generic []struct {
			In struct {
				FollowerEmpty, Enabled *bool
				Compacted              bool
				P, LS, LL, LE          int64
			}
			Out struct {
				Action string
				At     int64
				Aux    []int64
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Generic) != 12 {
		t.Fatalf("%d vectors", len(file.Generic))
	}
	for i, v := range file.Generic {
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
	}
}

// log reads "10 c100, 11 n50, 12 open7": id, offload (c complete, n none, i
// incomplete, u unreadable, d complete and deleted from bookkeeper) and entries of
// 10 bytes each.
func log(text string) (l Log) {
	for _, part := range strings.Split(text, ", ") {
		var g Ledger
		var what string
		if _, err := fmt.Sscanf(part, "%d %s", &g.ID, &what); err != nil {
			panic(err)
		}
		if n, ok := strings.CutPrefix(what, "open"); ok {
			g.Open, g.Offload, what = true, None, "n"+n
		} else {
			g.Offload = map[byte]Offload{'c': Complete, 'd': Complete, 'n': None, 'i': Incomplete, 'u': Unreadable}[what[0]]
		}
		g.Deleted = what[0] == 'd'
		if _, err := fmt.Sscanf(what[1:], "%d", &g.Entries); err != nil {
			panic(err)
		}
		g.Bytes, g.FirstMillis, g.LastMillis = 10*g.Entries, 1000*g.ID, 1000*g.ID+999
		l.Ledgers = append(l.Ledgers, g)
	}
	return l
}

func TestLedgers(t *testing.T) {
	for _, c := range []struct {
		name, ledgers, want string
	}{
		{"all closed ones offloaded", "10 c100, 11 c100, 12 open7", "start 12:0 skips 200 horizon 11:99"},
		{"a hole", "10 c100, 11 n50, 12 c100, 13 open0", "start 11:0 skips 100 horizon 10:99"},
		{"an incomplete one", "10 c100, 11 i50, 12 open0", "start 11:0 skips 100 horizon 10:99"},
		{"an empty one is no hole", "10 c100, 11 n0, 12 c100, 13 open0", "start 13:0 skips 200 horizon 12:99"},
		{"nothing offloaded", "10 n100, 11 open7", "start 10:0 skips 0 horizon -1:-1"},
		{"deleted after the offload", "10 d100, 11 c100, 12 n5, 13 open0", "start 12:0 skips 200 horizon 11:99"},
		{"unreadable, some deleted", "10 d100, 11 u100, 12 open0", "retry"},
		{"unreadable, none deleted", "10 u100, 11 n100, 12 open0", "start 10:0 skips 0 horizon -1:-1"},
		{"unreadable behind what is known", "10 d100, 11 n100, 12 u100, 13 open0", "start 11:0 skips 100 horizon 10:99"},
		{"sealed, all offloaded", "10 c100, 11 d20", "start 11:20 skips 120 horizon 11:19 whole"},
		{"empty", "10 open0", "start 10:0 skips 0 horizon -1:-1"},
		{"sealed and empty", "10 n0", "ordinary-policy"},
	} {
		p, err := Make(log(c.ledgers), EarliestNotOffloaded, entry.Position{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := p.Action.String()
		if p.Action == Start {
			got = fmt.Sprintf("start %v skips %d horizon %v", p.Start, p.Entries, p.Horizon)
		}
		if p.Whole {
			got += " whole"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	compacted := log("10 c100, 11 open1")
	compacted.Compacted = true
	if p, err := Make(compacted, EarliestNotOffloaded, entry.Position{}); err != nil || p.Action != Ordinary {
		t.Errorf("compacted: %v %v", p.Action, err)
	}
}

func TestStarts(t *testing.T) {
	l := log("10 c100, 11 n50, 12 open8")
	for _, c := range []struct {
		start StartAt
		at    entry.Position
		want  string
	}{
		{Earliest, entry.Position{}, "start 10:0, 0 entries, 0 bytes, 0..0"},
		{Latest, entry.Position{}, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
		{AtPosition, entry.Position{Ledger: 11, Entry: 20}, "start 11:20, 120 entries, 1200 bytes, 10000..11999"},
		{AtPosition, entry.Position{Ledger: 3}, "truncate-and-start 10:0, 0 entries, 0 bytes, 0..0"},
		{AtPosition, entry.Position{Ledger: 12, Entry: 8}, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
	} {
		p, err := Make(l, c.start, c.at)
		if got := fmt.Sprintf("%v %v, %d entries, %d bytes, %d..%d", p.Action, p.Start, p.Entries, p.Bytes, p.From, p.To); err != nil || got != c.want {
			t.Errorf("%d %v: %s %v, want %s", c.start, c.at, got, err, c.want)
		}
	}
	if _, err := Make(l, AtPosition, entry.Position{Ledger: 12, Entry: 9}); !errors.Is(err, ErrStart) ||
		err.Error() != "bootstrap: bad start: position 12:9 is behind the log's end 12:8" {
		t.Errorf("behind the end: %v", err)
	}
	if _, err := ParseStartAt("oldest"); !errors.Is(err, ErrStart) {
		t.Error(err)
	}
	for text, l := range map[string]Log{
		"ledger 10 follows 11":          {Ledgers: []Ledger{{ID: 11, Offload: None}, {ID: 10, Offload: None}}},
		"ledger 10 is open and not the": {Ledgers: []Ledger{{ID: 10, Offload: None, Open: true}, {ID: 11, Offload: None}}},
		"ledger 10: offload 0":          {Ledgers: []Ledger{{ID: 10}}},
		"ledger 10: -1 entries":         {Ledgers: []Ledger{{ID: 10, Offload: None, Entries: -1}}},
	} {
		if _, err := Make(l, Earliest, entry.Position{}); !errors.Is(err, ErrLedgers) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// TestPlanCountsEveryEntryOnce: skipped and kept are the log, and the horizon is
// right below the start, whatever the log.
func TestPlanCountsEveryEntryOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var l Log
		id, all := int64(0), int64(0)
		for range 1 + r.IntN(6) {
			id += 1 + r.Int64N(3)
			g := Ledger{ID: id, Entries: r.Int64N(4), Offload: Offload(1 + r.IntN(4)), Bytes: 100}
			g.Deleted = g.Offload == Complete && r.IntN(2) == 0
			l.Ledgers, all = append(l.Ledgers, g), all+g.Entries
		}
		last := &l.Ledgers[len(l.Ledgers)-1]
		last.Open = r.IntN(2) == 0
		for s := Earliest; s <= EarliestNotOffloaded; s++ {
			p, err := Make(l, s, entry.Position{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Action != Start {
				continue
			}
			kept, sum := int64(0), int64(0)
			for _, g := range l.Ledgers {
				for e := range g.Entries {
					if (entry.Position{Ledger: g.ID, Entry: e}).Compare(p.Start) >= 0 {
						kept++
					} else if s == EarliestNotOffloaded && (g.Offload == None || g.Offload == Incomplete) {
						t.Fatalf("%+v skips %d:%d, which is not offloaded", l, g.ID, e)
					}
				}
			}
			for _, k := range p.Skipped {
				sum += k.Entries
			}
			if p.Entries+kept != all || sum != p.Entries || p.Whole != (kept == 0 && p.Entries > 0 && !last.Open) {
				t.Fatalf("%+v: %+v keeps %d of %d", l, p, kept, all)
			}
			if p.Entries > 0 && p.Horizon.Compare(p.Start) >= 0 {
				t.Fatalf("horizon %v, start %v", p.Horizon, p.Start)
			}
		}
	}
}

func TestPlannerNeverGuesses(t *testing.T) {
	p := NewPlanner(EarliestNotOffloaded, entry.Position{}, false, false)
	want := func(now int64, s Step) {
		t.Helper()
		if got := p.Next(now); got != s {
			t.Fatalf("step %d at %d, want %d", got, now, s)
		}
	}
	want(0, ReadLog)
	p.Failed(0, "store: time-out")
	want(0, Hold) // before anything else: retention may trim
	p.Held()
	want(0, Wait)
	if p.WakeAt() != 1000 || p.Why() != "store: time-out" {
		t.Errorf("waits until %d for %q", p.WakeAt(), p.Why())
	}
	want(1000, ReadLog)
	p.Read(1000, log("10 d100, 11 u100, 12 open0"))
	want(1000, Wait)
	if p.WakeAt() != 3000 || p.Tries() != 2 {
		t.Errorf("waits until %d after %d tries", p.WakeAt(), p.Tries())
	}
	p.Read(3000, log("10 d100, 11 c100, 12 open0"))
	want(3000, Place)
	if p.Plan().Start != (entry.Position{Ledger: 12}) || p.Plan().Entries != 200 || p.Why() != "" {
		t.Errorf("%+v", p.Plan())
	}
	p.Placed()
	want(3000, Nothing)

	p = NewPlanner(EarliestNotOffloaded, entry.Position{}, true, true) // a new owner goes on
	want(0, ReadLog)
	p.Failed(0, "again")
	want(0, Wait) // the cursor stands already
	p = NewPlanner(EarliestNotOffloaded, entry.Position{}, true, false)
	want(0, Nothing)
	p = NewPlanner(EarliestNotOffloaded, entry.Position{}, false, false)
	p.Read(0, log("10 n0"))
	want(0, Default)
}
