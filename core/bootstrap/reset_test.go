// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"georep/core/entry"
)

// family is a sealed parent 1 (read to its end) of 2 and 3, of which 2 is sealed too and
// the parent of 4.
func family() []Segment {
	return []Segment{
		{ID: 1, Log: log("10 c100, 11 n50"), Next: at(11, 50), Published: true, Generation: 3},
		{ID: 2, Parents: []uint64{1}, Log: log("20 c100, 21 n50"), Next: at(21, 10), Published: true, Generation: 3},
		{ID: 3, Parents: []uint64{1}, Log: log("22 open40"), Next: at(22, 0), Generation: 1},
		{ID: 4, Parents: []uint64{2}, Log: log("30 open0"), Next: at(30, 0), Generation: 1},
	}
}

func moves(r Reset) string {
	var b strings.Builder
	for _, m := range r.Moves {
		fmt.Fprintf(&b, "%d@%d %v read %v again %v skip %v; ", m.Segment, m.Generation, m.Plan.Start, m.Read, m.Again, m.Skip)
	}
	return b.String()
}

func TestResetCounts(t *testing.T) {
	for _, c := range []struct {
		to       Point
		selected []uint64
		want     string
	}{
		{Point{At: Earliest}, nil, "1@4 10:0 read {150 1500 1000} again {150 1500 1000} skip {0 0 0}; " +
			"2@4 20:0 read {150 1500 1000} again {110 1100 1000} skip {0 0 0}; " +
			"3@2 22:0 read {40 400 0} again {0 0 0} skip {0 0 0}; 4@2 30:0 read {0 0 0} again {0 0 0} skip {0 0 0}; "},
		{Point{At: Latest}, []uint64{3, 2}, "2@4 21:50 read {0 0 0} again {0 0 0} skip {40 400 0}; " +
			"3@2 22:40 read {0 0 0} again {0 0 0} skip {40 400 0}; "},
		{Point{At: AtPosition, Position: at(20, 90)}, []uint64{2}, "2@4 20:90 read {60 600 100} again {20 200 100} skip {0 0 0}; " +
			"4@2 30:0 read {0 0 0} again {0 0 0} skip {0 0 0}; "},
		{Point{At: EarliestNotOffloaded}, []uint64{2, 3, 4}, "2@4 21:0 read {50 500 0} again {10 100 0} skip {0 0 0}; " +
			"3@2 22:0 read {40 400 0} again {0 0 0} skip {0 0 0}; 4@2 30:0 read {0 0 0} again {0 0 0} skip {0 0 0}; "},
		{Point{At: AtPosition, Position: at(22, 7)}, nil, "1@4 11:50 read {0 0 0} again {0 0 0} skip {0 0 0}; " +
			"2@4 21:50 read {0 0 0} again {0 0 0} skip {40 400 0}; 3@2 22:7 read {33 330 0} again {0 0 0} skip {7 70 0}; " +
			"4@2 30:0 read {0 0 0} again {0 0 0} skip {0 0 0}; "},
	} {
		r, err := PlanReset(c.to, c.selected, family())
		if err != nil || r.Refused != "" || moves(r) != c.want {
			t.Errorf("%v %v: %v %q\n%s, want\n%s", c.to, c.selected, err, r.Refused, moves(r), c.want)
		}
		var sum Amount
		for _, m := range r.Moves {
			sum.add(m.Skip)
		}
		if sum != r.Total.Skip {
			t.Errorf("total %+v", r.Total)
		}
	}
	r, _ := PlanReset(Point{At: AtPosition, Position: at(20, 90)}, []uint64{2}, family())
	if p := r.Moves[0].Plan; p.Horizon != Nowhere || p.Entries != 0 || p.Source != "operator" || // it was sent, once
		p.Whole || p.Asked != (Point{At: AtPosition, Position: at(20, 90)}) {
		t.Errorf("%+v", p)
	}
	r, _ = PlanReset(Point{At: Latest}, []uint64{1}, family())
	if p := r.Moves[0].Plan; p.Whole || p.Entries != 0 || p.Start != at(11, 50) {
		t.Errorf("%+v", p)
	}
}

// TestResetRemembersWhatWasNeverSent: not what was, and not what is sent now.
func TestResetRemembersWhatWasNeverSent(t *testing.T) {
	l := log("10 c100, 11 c50, 12 n80, 13 n20")
	first, _, err := Make(l, asked(EarliestNotOffloaded)) // 12:0
	if err != nil {
		t.Fatal(err)
	}
	s := Segment{ID: 1, Log: l, Next: at(12, 30), Published: true, Generation: 1, Placed: &first}
	to := func(p Point) Plan {
		t.Helper()
		r, err := PlanReset(p, nil, []Segment{s})
		if err != nil || r.Refused != "" || len(r.Moves) != 1 {
			t.Fatal(err, r)
		}
		return r.Moves[0].Plan
	}
	text := func(p Plan) (out string) {
		for _, k := range p.Skipped {
			out += fmt.Sprintf("%d:%d+%d=%d ", k.Ledger, k.First, k.Entries, k.Bytes)
		}
		return fmt.Sprintf("%v %v %v %s%d %d", p.Start, p.Horizon, p.Whole, out, p.Entries, p.OffloadedBytes)
	}
	for _, c := range []struct {
		to   Point
		want string
	}{
		{Point{At: Earliest}, "10:0 -1:-1 false 0 0"},
		{Point{At: AtPosition, Position: at(11, 20)}, "11:20 11:19 false 10:0+100=1000 11:0+20=200 120 1200"},
		{Point{At: EarliestNotOffloaded}, "12:0 11:49 false 10:0+100=1000 11:0+50=500 150 1500"},
		{Point{At: AtPosition, Position: at(12, 20)}, "12:20 11:49 false 10:0+100=1000 11:0+50=500 150 1500"},
		{Point{At: AtPosition, Position: at(12, 40)}, "12:40 12:39 false 10:0+100=1000 11:0+50=500 12:30+10=100 160 1500"},
		{Point{At: Latest}, "13:20 13:19 false 10:0+100=1000 11:0+50=500 12:30+50=500 13:0+20=200 220 1500"},
	} {
		if got := text(to(c.to)); got != c.want {
			t.Errorf("%v: %s, want %s", c.to, got, c.want)
		}
	}
	s.Next = at(12, 0) // nothing was sent: then all of it is skipped
	if p := to(Point{At: Latest}); !p.Whole || p.Entries != 250 {
		t.Errorf("%s", text(p))
	}
	forward := to(Point{At: AtPosition, Position: at(12, 10)})
	s.Placed, s.Next = &forward, at(12, 60) // two pieces of one ledger
	if got := text(to(Point{At: AtPosition, Position: at(12, 70)})); got !=
		"12:70 12:69 false 10:0+100=1000 11:0+50=500 12:0+10=100 12:60+10=100 170 1500" {
		t.Error(got)
	}
	// what a manifest left out for its length stays in the sums, unless it is sent again
	many := Plan{Action: Start, Start: at(11, 0), Horizon: at(10, 99), Omitted: 7, Entries: 800, Bytes: 9000,
		OffloadedEntries: 500, OffloadedBytes: 6000, From: 1, Skipped: []Skipped{{Ledger: 10, Entries: 100, Bytes: 1000, Offload: Complete}}}
	s.Placed, s.Next = &many, at(12, 30)
	if p := to(Point{At: AtPosition, Position: at(12, 40)}); p.Omitted != 7 || p.Entries != 810 || p.Bytes != 9100 ||
		p.OffloadedEntries != 500 || p.OffloadedBytes != 6000 || p.From != 1 || p.Horizon != at(12, 39) {
		t.Errorf("%+v", p)
	}
	if p := to(Point{At: Earliest}); p.Omitted != 0 || p.Entries != 0 {
		t.Errorf("%+v", p)
	}
}

// TestResetRenewsGates: who has published nothing may know of the ancestor that it is
// drained. It is reset to where it is, after the ancestor.
func TestResetRenewsGates(t *testing.T) {
	known := family()
	slices.Reverse(known)
	r, err := PlanReset(Point{At: Earliest}, []uint64{2}, known)
	if err != nil || r.Refused != "" || moves(r) != "2@4 20:0 read {150 1500 1000} again {110 1100 1000} skip {0 0 0}; "+
		"4@2 30:0 read {0 0 0} again {0 0 0} skip {0 0 0}; " || r.Moves[0].InPlace || !r.Moves[1].InPlace {
		t.Errorf("%v %q %s", err, r.Refused, moves(r))
	}
	r, err = PlanReset(Point{At: Earliest}, []uint64{1, 2}, known)
	if err != nil || len(r.Moves) != 4 || r.Moves[0].Segment != 1 || !r.Moves[2].InPlace || !r.Moves[3].InPlace {
		t.Errorf("%v %q %s", err, r.Refused, moves(r))
	}
	known[0].Planning = true // 4: it has no gate yet
	r, err = PlanReset(Point{At: Earliest}, []uint64{2}, known)
	if err != nil || len(r.Moves) != 1 {
		t.Errorf("%v %q %s", err, r.Refused, moves(r))
	}
	r, err = PlanReset(Point{At: Latest}, []uint64{2}, known) // forward
	if err != nil || len(r.Moves) != 1 {
		t.Errorf("%v %q %s", err, r.Refused, moves(r))
	}
}

func TestResetKeepsOrder(t *testing.T) {
	change := func(f func(s []Segment)) []Segment { s := family(); f(s); return s }
	for _, c := range []struct {
		name     string
		to       Point
		selected []uint64
		known    []Segment
		refused  string
		together []uint64
	}{
		{"the parent alone", Point{At: Earliest}, []uint64{1}, family(),
			"segment 2 follows 1 and has published already: reset segments 1, 2 together, each that follows another to earliest", []uint64{1, 2}},
		{"with who has published", Point{At: Earliest}, []uint64{1, 2}, family(), "", nil},
		{"forward", Point{At: Latest}, []uint64{2}, family(), "", nil},
		{"the youngest", Point{At: Earliest}, []uint64{4}, family(), "", nil},
		{"a grandchild has published, too", Point{At: Earliest}, []uint64{1}, change(func(s []Segment) { s[3].Published = true }),
			"segment 2 follows 1 and has published already; segment 4 follows 1 and has published already: " +
				"reset segments 1, 2, 4 together, each that follows another to earliest", []uint64{1, 2, 4}},
		{"behind a child that has not", Point{At: Earliest}, []uint64{1}, change(func(s []Segment) { s[1].Published, s[1].Next, s[3].Published = false, at(20, 0), true }),
			"segment 4 follows 1 and has published already: reset segments 1, 4 together, each that follows another to earliest", []uint64{1, 4}},
		{"the child would leave something out", Point{At: EarliestNotOffloaded}, []uint64{1, 2}, family(),
			"segment 2 follows 1, has published already and would not begin at its first entry again: " +
				"reset segments 1, 2 together, each that follows another to earliest", []uint64{1, 2}},
		{"children are listed first", Point{At: Earliest}, []uint64{1}, change(func(s []Segment) { slices.Reverse(s) }),
			"segment 2 follows 1 and has published already: reset segments 1, 2 together, each that follows another to earliest", []uint64{1, 2}},
		{"a merge: one parent goes back", Point{At: Earliest}, []uint64{2}, change(func(s []Segment) {
			s[3].Parents, s[3].Published = []uint64{3, 2}, true
		}), "segment 4 follows 2 and has published already: reset segments 2, 4 together, each that follows another to earliest", []uint64{2, 4}},
		{"unknown segment", Point{At: Earliest}, []uint64{9}, family(), "segment 9 is not in the layout", nil},
		{"still planned", Point{At: Earliest}, []uint64{3}, change(func(s []Segment) { s[2].Planning = true }),
			"segment 3: its start is still being planned", nil},
		{"not known", Point{At: EarliestNotOffloaded}, []uint64{2}, change(func(s []Segment) { s[1].Log = log("20 d100, 21 u50, 25 open0") }),
			"segment 2: which ledgers are offloaded is not known, and some are in tiered storage only", nil},
		{"compacted", Point{At: EarliestNotOffloaded}, []uint64{2}, change(func(s []Segment) { s[1].Log.Compacted = true }),
			"segment 2: it is compacted, and what is offloaded does not say what is left", nil},
		{"behind every end", Point{At: AtPosition, Position: at(22, 41)}, []uint64{3}, family(), "position 22:41 is behind the end of every log", nil},
		{"at the end", Point{At: AtPosition, Position: at(22, 40)}, []uint64{3}, family(), "", nil},
	} {
		r, err := PlanReset(c.to, c.selected, c.known)
		if err != nil || r.Refused != c.refused || !slices.Equal(r.Together, c.together) {
			t.Errorf("%s: %v, %q %v, want %q %v", c.name, err, r.Refused, r.Together, c.refused, c.together)
		}
		if c.together != nil { // what is named may be
			if r, err := PlanReset(Point{At: Earliest}, c.together, c.known); err != nil || r.Refused != "" {
				t.Errorf("%s: together: %v %q", c.name, err, r.Refused)
			}
		}
	}
}

// TestRefusalIsBounded: a topic may have many segments.
func TestRefusalIsBounded(t *testing.T) {
	known := []Segment{{ID: 0, Log: log("1 c9"), Next: at(1, 9)}}
	for id := uint64(1); id < 5000; id++ {
		known = append(known, Segment{ID: id, Parents: []uint64{id - 1}, Published: true, Log: log("2 n1"), Next: at(2, 1)})
	}
	r, err := PlanReset(Point{At: Earliest}, []uint64{0}, known)
	if err != nil || !strings.Contains(r.Refused, "; 4991 more: reset segments 0, 1, 2,") || len(r.Together) != 5000 ||
		!strings.Contains(r.Refused, "48, 49, 4950 more together") {
		t.Errorf("%v %d %.900s", err, len(r.Together), r.Refused)
	}
}

// TestResetSearches: a time is searched in each log first.
func TestResetSearches(t *testing.T) {
	known := family()
	r, err := PlanReset(Point{At: AtTime, Millis: 20_500}, []uint64{1, 2, 3}, known)
	if err != nil || len(r.Searches) != 1 || r.Searches[2] != (Search{First: at(20, 0), Last: at(20, 99)}) || len(r.Moves) != 2 {
		t.Fatalf("%v %+v", err, r)
	}
	known[1].Found = &entry.Position{Ledger: 20, Entry: 33}
	r, err = PlanReset(Point{At: AtTime, Millis: 20_500}, []uint64{1, 2, 3}, known)
	if err != nil || len(r.Searches) != 0 || r.Refused != "" || len(r.Moves) != 4 || r.Moves[1].Plan.Start != at(20, 33) {
		t.Fatalf("%v %+v", err, r)
	}
}

func TestResetRefusesWhatCannotBe(t *testing.T) {
	for name, f := range map[string]func() error{
		"bootstrap: bad start: start(0)":                 func() error { _, err := PlanReset(Point{}, nil, family()); return err },
		"bootstrap: bad start: segment 1 is there twice": func() error { _, err := PlanReset(Point{At: Latest}, nil, append(family(), family()[0])); return err },
		"segment 1: bootstrap: bad ledgers: ledger 10: offload 9": func() error {
			known := family()
			known[0].Log.Ledgers[0].Offload = 9
			_, err := PlanReset(Point{At: Latest}, nil, known)
			return err
		},
	} {
		if err := f(); err == nil || err.Error() != name || !errors.Is(err, ErrStart) && !errors.Is(err, ErrLedgers) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}
