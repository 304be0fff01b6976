// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"georep/core/entry"
)

// log reads "10 c100, 11 n50, 12 open7": id, offload (c complete, n none, i
// incomplete, u unreadable, d complete and deleted from bookkeeper) and entries of
// 10 bytes each. Without an open one it is sealed.
func log(text string) (l Log) {
	l.Sealed = true
	for _, part := range strings.Split(text, ", ") {
		var g Ledger
		var what string
		if _, err := fmt.Sscanf(part, "%d %s", &g.ID, &what); err != nil {
			panic(err)
		}
		if n, ok := strings.CutPrefix(what, "open"); ok {
			g.Open, g.Offload, what, l.Sealed = true, None, "n"+n, false
		} else {
			g.Offload = map[byte]Offload{'c': Complete, 'd': Complete, 'n': None, 'i': Incomplete, 'u': Unreadable}[what[0]]
		}
		g.Bookies = Present
		if what[0] == 'd' {
			g.Bookies = Deleted
		}
		if _, err := fmt.Sscanf(what[1:], "%d", &g.Entries); err != nil {
			panic(err)
		}
		g.Bytes, g.FirstMillis, g.LastMillis = 10*g.Entries, 1000*g.ID, 1000*g.ID+999
		l.Ledgers = append(l.Ledgers, g)
	}
	return l
}

// asked is a want of a remote whose log's end was not known.
func asked(s StartAt) Want {
	return Want{Choice: Choice{Start: Point{At: s}, Ordinary: Latest, Source: "test"}, End: Nowhere}
}

func at(ledger, e int64) entry.Position { return entry.Position{Ledger: ledger, Entry: e} }

func TestLedgers(t *testing.T) {
	unsure := func(l Log) Log { l.Ledgers[0].Bookies = Unsure; return l }
	for _, c := range []struct {
		name string
		log  Log
		want string
	}{
		{"all closed ones offloaded", log("10 c100, 11 c100, 12 open7"), "start 12:0 skips 200 horizon 11:99"},
		{"a hole", log("10 c100, 11 n50, 12 c100, 13 open0"), "start 11:0 skips 100 horizon 10:99"},
		{"an incomplete one", log("10 c100, 11 i50, 12 open0"), "start 11:0 skips 100 horizon 10:99"},
		{"an empty one is no hole", log("10 c100, 11 n0, 12 c100, 13 open0"), "start 13:0 skips 200 horizon 12:99"},
		{"nothing offloaded", log("10 n100, 11 open7"), "start 10:0 skips 0 horizon -1:-1"},
		{"deleted after the offload", log("10 d100, 11 c100, 12 n5, 13 open0"), "start 12:0 skips 200 horizon 11:99"},
		{"unreadable, some deleted", log("10 d100, 11 u100, 12 open0"), "retry"},
		{"unreadable, a later one deleted", log("10 u100, 11 d100, 12 open0"), "retry"},
		{"unreadable, none deleted", log("10 u100, 11 n100, 12 open0"), "start 10:0 skips 0 horizon -1:-1"},
		{"unreadable, deleted or not is not known", unsure(log("10 u100, 11 n100, 12 open0")), "retry"},
		{"offloaded, deleted or not is not known", unsure(log("10 c100, 11 n100, 12 open0")), "start 11:0 skips 100 horizon 10:99"},
		{"unreadable behind what is known", log("10 d100, 11 n100, 12 u100, 13 open0"), "start 11:0 skips 100 horizon 10:99"},
		{"sealed, all offloaded", log("10 c100, 11 d20"), "start 11:20 skips 120 horizon 11:19 whole"},
		{"closed for a moment, not sealed", Log{Ledgers: log("10 c100, 11 d20").Ledgers}, "start 11:20 skips 120 horizon 11:19"},
		{"an open one with entries alone", log("10 open5"), "start 10:0 skips 0 horizon -1:-1"},
		{"empty", log("10 open0"), "ordinary-policy 10:0 skips 0"},
		{"sealed and empty", log("10 n0"), "ordinary-policy 10:0 skips 0"},
		{"no ledger at all", Log{}, "ordinary-policy 0:0 skips 0"},
		{"compacted", Log{Ledgers: log("10 c100, 11 open1").Ledgers, Compacted: true}, "ordinary-policy 11:1 skips 101"},
	} {
		p, search, err := Make(c.log, asked(EarliestNotOffloaded))
		if err != nil || search != nil {
			t.Errorf("%s: %v %v", c.name, search, err)
			continue
		}
		got := p.Action.String()
		if p.Action != Retry {
			got += fmt.Sprintf(" %v skips %d", p.Start, p.Entries)
		}
		if p.Action == Start {
			got += fmt.Sprintf(" horizon %v", p.Horizon)
		}
		if p.Whole {
			got += " whole"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	w := asked(EarliestNotOffloaded) // the ordinary policy may be earliest
	w.Ordinary = Earliest
	l := log("10 c100, 11 open1")
	l.Compacted = true
	if p, _, err := Make(l, w); err != nil || p.Action != Ordinary || p.Start != at(10, 0) || p.Entries != 0 {
		t.Errorf("compacted: %v %v", p, err)
	}
}

func TestStarts(t *testing.T) {
	l := log("10 c100, 11 n50, 12 open8")
	for _, c := range []struct {
		start Point
		end   entry.Position
		want  string
	}{
		{Point{At: Earliest}, Nowhere, "start 10:0, 0 entries, 0 bytes, 0..0"},
		{Point{At: Latest}, Nowhere, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
		{Point{At: Latest}, at(12, 3), "start 12:3, 153 entries, 1530 bytes, 10000..12999"},
		{Point{At: Latest}, at(11, 50), "start 12:0, 150 entries, 1500 bytes, 10000..11999"}, // the ledger was rolled since
		{Point{At: Latest}, at(12, 9), "start 12:9, 159 entries, 1580 bytes, 10000..12999"},  // the record does not count them yet
		{Point{At: EarliestNotOffloaded}, at(10, 60), "start 10:60, 60 entries, 600 bytes, 10000..10999"},
		{Point{At: AtPosition, Position: at(11, 20)}, Nowhere, "start 11:20, 120 entries, 1200 bytes, 10000..11999"},
		{Point{At: AtPosition, Position: at(11, 50)}, Nowhere, "start 12:0, 150 entries, 1500 bytes, 10000..11999"},
		{Point{At: AtPosition, Position: at(3, 7)}, Nowhere, "truncate-and-start 10:0, 0 entries, 0 bytes, 0..0"},
		{Point{At: AtPosition, Position: at(10, 0)}, Nowhere, "start 10:0, 0 entries, 0 bytes, 0..0"},
		{Point{At: AtPosition, Position: at(12, 8)}, Nowhere, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
		{Point{At: AtPosition, Position: at(40, 1)}, Nowhere, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
		{Point{At: AtPosition, Position: at(40, 1)}, at(12, 2), "start 12:2, 152 entries, 1520 bytes, 10000..12999"},
		{Point{At: AtTime, Millis: 9_000}, Nowhere, "start 10:0, 0 entries, 0 bytes, 0..0"},
		{Point{At: AtTime, Millis: 11_000}, Nowhere, "start 11:0, 100 entries, 1000 bytes, 10000..10999"},
		{Point{At: AtTime, Millis: 11_500}, Nowhere, "search 11:0 to 11:49"},
		{Point{At: AtTime, Millis: 13_500}, Nowhere, "start 12:8, 158 entries, 1580 bytes, 10000..12999"},
	} {
		w := asked(c.start.At)
		w.Start, w.End = c.start, c.end
		p, search, err := Make(l, w)
		got := fmt.Sprintf("%v %v, %d entries, %d bytes, %d..%d", p.Action, p.Start, p.Entries, p.Bytes, p.From, p.To)
		if search != nil {
			got = fmt.Sprintf("search %v to %v", search.First, search.Last)
		}
		if err != nil || got != c.want {
			t.Errorf("%v, end %v: %s %v, want %s", c.start, c.end, got, err, c.want)
		}
	}
	for _, bad := range []Point{{}, {At: 6}, {At: AtPosition, Position: at(-1, 0)}, {At: AtTime, Millis: -1}} {
		if _, _, err := Make(l, Want{Choice: Choice{Start: bad}}); !errors.Is(err, ErrStart) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for text, l := range map[string]Log{
		"ledger 10 follows 11":             {Ledgers: []Ledger{{ID: 11, Offload: None}, {ID: 10, Offload: None}}},
		"ledger 10 is open and not the":    {Ledgers: []Ledger{{ID: 10, Offload: None, Open: true}, {ID: 11, Offload: None}}},
		"ledger 10 is open, and the log":   {Ledgers: []Ledger{{ID: 10, Offload: None, Open: true}}, Sealed: true},
		"ledger 10: offload 0":             {Ledgers: []Ledger{{ID: 10}}},
		"ledger 10: bookies 3":             {Ledgers: []Ledger{{ID: 10, Offload: None, Bookies: 3}}},
		"ledger 10: -1 entries":            {Ledgers: []Ledger{{ID: 10, Offload: None, Entries: -1}}},
		"bootstrap: bad ledgers: ledger -": {Ledgers: []Ledger{{ID: -1, Offload: None}}},
	} {
		if _, _, err := Make(l, asked(Earliest)); !errors.Is(err, ErrLedgers) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// TestTimeIsSearchedLedgerByLedger: a ledger whose time is not known, and that has
// nothing of that time, leads to the next one.
func TestTimeIsSearchedLedgerByLedger(t *testing.T) {
	l := log("10 c100, 11 n50, 12 n0, 13 open8")
	for i := range l.Ledgers {
		l.Ledgers[i].FirstMillis, l.Ledgers[i].LastMillis = 0, 0
	}
	l.Ledgers[0].LastMillis = 100
	w := asked(AtTime)
	w.Start.Millis = 200
	for _, c := range []struct {
		found entry.Position
		want  string
	}{
		{Nowhere, "search 11:0 13:7"}, {at(11, 50), "search 13:0 13:7"}, {at(13, 8), "13:8 158"}, {at(13, 2), "13:2 152"}, {at(11, 7), "11:7 107"},
	} {
		if w.Found = &c.found; c.found == Nowhere {
			w.Found = nil
		}
		p, search, err := Make(l, w)
		got := fmt.Sprint(p.Start, " ", p.Entries)
		if search != nil {
			got = fmt.Sprintf("search %v %v", search.First, l.Ledgers[3].ID) + fmt.Sprintf(":%d", l.Ledgers[3].Entries-1)
		}
		if err != nil || got != c.want {
			t.Errorf("found %v: %s %v, want %s", c.found, got, err, c.want)
		}
		if search == nil && p.From != 100 { // when the first ledger was closed: its opening is not known
			t.Errorf("found %v: from %d", c.found, p.From)
		}
	}
}

// TestManifestIsBounded: the oldest are left out, the sums count them.
func TestManifestIsBounded(t *testing.T) {
	l := Log{Sealed: true}
	for i := range int64(MaxSkipped + 3) {
		l.Ledgers = append(l.Ledgers, Ledger{ID: i, Entries: 2, Bytes: 7, Offload: Complete, Driver: "file", UUID: "u"})
	}
	p, _, err := Make(l, asked(EarliestNotOffloaded))
	if err != nil || len(p.Skipped) != MaxSkipped || p.Omitted != 3 || p.Skipped[0].Ledger != 3 ||
		p.Entries != 2*(MaxSkipped+3) || p.Bytes != 7*(MaxSkipped+3) || p.OffloadedBytes != p.Bytes || !p.Whole {
		t.Errorf("%d kept, %d left out, %v %v", len(p.Skipped), p.Omitted, p, err)
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
			g := Ledger{ID: id, Entries: r.Int64N(4), Offload: Offload(1 + r.IntN(4)), Bytes: 100, Bookies: Present}
			if g.Offload == Complete && r.IntN(2) == 0 {
				g.Bookies = Deleted
			}
			l.Ledgers, all = append(l.Ledgers, g), all+g.Entries
		}
		last := &l.Ledgers[len(l.Ledgers)-1]
		last.Open = r.IntN(2) == 0
		l.Sealed = !last.Open && r.IntN(4) > 0
		for s := Earliest; s <= AtTime; s++ {
			w := asked(s)
			w.Start.Position = at(r.Int64N(id+2), r.Int64N(5))
			if w.End = Nowhere; r.IntN(2) == 0 {
				w.End = at(r.Int64N(id+1), r.Int64N(5))
				if w.End.Ledger == last.ID {
					w.End.Entry = min(w.End.Entry, last.Entries)
				}
			}
			p, search, err := Make(l, w)
			if err != nil {
				t.Fatal(err)
			}
			if p.Action == Retry || search != nil {
				continue
			}
			kept, sum := int64(0), int64(0)
			for _, g := range l.Ledgers {
				for e := range g.Entries {
					pos := at(g.ID, e)
					switch {
					case pos.Compare(p.Start) >= 0:
						kept++
					case p.Action == Start && s == EarliestNotOffloaded && (g.Offload == None || g.Offload == Incomplete):
						t.Fatalf("%+v skips %v, which is not offloaded", l, pos)
					case w.End != Nowhere && pos.Compare(w.End) >= 0:
						t.Fatalf("%+v skips %v, which was written after planning began at %v", l, pos, w.End)
					}
				}
			}
			for _, k := range p.Skipped {
				sum += k.Entries
			}
			if p.Entries+kept != all || sum != p.Entries || p.Whole != (kept == 0 && p.Entries > 0 && l.Sealed) {
				t.Fatalf("%+v: %+v keeps %d of %d", l, p, kept, all)
			}
			if (p.Entries > 0) != (p.Horizon != Nowhere) || p.Horizon.Compare(p.Start) >= 0 || l.at(p.Start) != p.Start {
				t.Fatalf("horizon %v, start %v", p.Horizon, p.Start)
			}
		}
	}
}
