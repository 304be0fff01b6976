// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"georep/core/entry"
)

const bound = "segment://t/n/x/0000-7fff-4"

var east = Key{Cluster: "east", Instance: "i1", Segment: 3, Generation: 1}

func pos(l, e int64) entry.Position { return entry.Position{Ledger: l, Entry: e} }

func TestVerdicts(t *testing.T) {
	tab := New(bound, 0)
	older, other := east, east
	older.Generation, other.Segment = 0, 4
	for i, step := range []struct {
		do   string
		k    Key
		p    entry.Position
		part int64
		want Verdict
	}{
		{"check", east, pos(5, 0), 2, Fresh},
		{"check", east, pos(5, 0), 2, Unknown}, // pushed, not persisted
		{"check", east, pos(5, 0), 7, Fresh},
		{"persisted", east, pos(5, 0), 2, 0},
		{"check", east, pos(5, 0), 2, Duplicate},
		{"check", east, pos(5, 0), 7, Unknown},
		{"check", east, pos(4, 99), entry.Whole, Duplicate}, // ledgers compare first
		{"failed", east, pos(0, 0), 0, 0},
		{"check", east, pos(5, 0), 7, Fresh}, // failed: it may come again
		{"persisted", east, pos(5, 0), 7, 0},
		{"check", east, pos(5, 0), entry.Whole, Fresh},
		{"persisted", east, pos(5, 0), entry.Whole, 0},
		{"check", east, pos(5, 0), 1 << 40, Duplicate}, // below the whole entry
		{"persisted", east, pos(5, 0), 2, 0},           // a late report lowers nothing
		{"check", east, pos(5, 0), entry.Whole, Duplicate},
		{"check", older, pos(1, 0), 0, Fresh}, // another generation is another stream
		{"check", other, pos(1, 0), 0, Fresh},
		{"check", east, pos(-1, 0), 0, Unknown},
		{"check", east, pos(9, 0), -1, Unknown},
		{"prune", east, pos(0, 0), 0, 0},
		{"check", east, pos(1, 0), 0, Fresh},
	} {
		switch step.do {
		case "check":
			if got := tab.Check(step.k, step.p, step.part); got != step.want {
				t.Fatalf("step %d: %v:%d is %v, want %v", i, step.p, step.part, got, step.want)
			}
		case "persisted":
			tab.Persisted(step.k, step.p, step.part)
		case "failed":
			tab.Failed()
		case "prune":
			tab.Prune(step.k)
		}
	}
}

func TestFullRefusesNewOriginsOnly(t *testing.T) {
	tab := New(bound, 1)
	west := Key{Cluster: "west"}
	if got := tab.Check(east, pos(1, 0), 0); got != Fresh {
		t.Fatal(got)
	}
	if got := tab.Check(west, pos(1, 0), 0); got != Full {
		t.Errorf("a second origin is %v, want full", got)
	}
	tab.Failed() // nothing of east is stored: its room is free again
	if got := tab.Check(west, pos(1, 0), 0); got != Fresh {
		t.Errorf("after the failure it is %v, want new", got)
	}
	if err := tab.Replay(stored(t, east, pos(1, 0), 3, bound, "east")); !errors.Is(err, ErrFull) {
		t.Errorf("replay beyond the cap: %v, want ErrFull", err)
	}
}

// stored returns the metadata of an entry as the replicator stores it.
func stored(t *testing.T, k Key, p entry.Position, part int64, topic, from string) []byte {
	t.Helper()
	meta := []byte("\x0a\x01p\x10\x00\x18\x01") // producer_name, sequence_id, publish_time
	o := entry.Origin{Cluster: k.Cluster, Instance: k.Instance, Segment: k.Segment, Generation: k.Generation,
		Position: p, Part: part, BoundTopic: topic}
	meta = o.AppendFields(meta)
	if from != k.Cluster { // field 5, the last one wins
		meta = append(append(meta, 0x2a, byte(len(from))), from...)
	}
	return meta
}

func TestReplayCountsOnlyWhatReplicationWroteHere(t *testing.T) {
	tab := New(bound, 0)
	v2 := []byte("\x0a\x01p\x10\x00\x18\x01\x22\x14\x0a\x0f__GEOREP_ORIGIN\x12\x012")
	for i, tc := range []struct {
		meta    []byte
		err     error
		ignored uint64
		want    string
	}{
		{stored(t, east, pos(2, 1), 4, bound, "east"), nil, 0, "2:1:4"},
		{stored(t, east, pos(1, 9), entry.Whole, bound, "east"), nil, 0, "2:1:4"}, // lower: no change
		{stored(t, east, pos(9, 9), 4, "segment://t/n/x-RETRY/0000-ffff-0", "east"), nil, 1, "2:1:4"},
		{stored(t, east, pos(9, 9), 4, bound, "west"), nil, 2, "2:1:4"},
		{[]byte("\x0a\x01p\x10\x00\x18\x01"), nil, 2, "2:1:4"}, // an ordinary entry
		{v2, nil, 3, "2:1:4"}, // a later version of the record
		{[]byte("\x0a\x7f"), ErrReplay, 3, "2:1:4"},
		{stored(t, east, pos(2, 1), entry.Whole, bound, "east"), nil, 3, "2:1:whole"},
	} {
		if err := tab.Replay(tc.meta); !errors.Is(err, tc.err) {
			t.Errorf("%d: error %v, want %v", i, err, tc.err)
		}
		if got := show(tab, east); got != tc.want || tab.Ignored() != tc.ignored {
			t.Errorf("%d: watermark %s, ignored %d; want %s, %d", i, got, tab.Ignored(), tc.want, tc.ignored)
		}
	}
}

func show(tab *Table, k Key) string {
	p, part, ok := tab.Watermark(k)
	if !ok {
		return "none"
	}
	if part == entry.Whole {
		return p.String() + ":whole"
	}
	o := entry.Origin{Position: p, Part: part}
	return string(o.AppendSourcePosition(nil))
}

// TestAgainstList compares with a table that keeps every place it was told.
func TestAgainstList(t *testing.T) {
	type at struct {
		p    entry.Position
		part int64
	}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		tab := New(bound, 0)
		stored, pushed := map[Key][]at{}, map[Key][]at{}
		max := func(l []at) (m at, ok bool) {
			for _, a := range l {
				if c := a.p.Compare(m.p); !ok || c > 0 || c == 0 && a.part > m.part {
					m, ok = a, true
				}
			}
			return m, ok
		}
		notAbove := func(a at, l []at) bool {
			m, ok := max(l)
			c := a.p.Compare(m.p)
			return ok && (c < 0 || c == 0 && a.part <= m.part)
		}
		for range 300 {
			k := Key{Cluster: "c", Instance: string('a' + rune(rng.IntN(2))), Segment: rng.Uint64N(2), Generation: rng.Uint64N(2)}
			a := at{pos(rng.Int64N(3), rng.Int64N(4)), rng.Int64N(3)}
			if a.part == 2 {
				a.part = entry.Whole
			}
			switch rng.IntN(8) {
			case 0:
				tab.Failed()
				clear(pushed)
			case 1:
				snap := tab.AppendSnapshot(nil)
				tab = New(bound, 0)
				if err := tab.LoadSnapshot(snap); err != nil {
					t.Fatal(err)
				}
				clear(pushed)
			case 2:
				if l := pushed[k]; len(l) > 0 {
					tab.Persisted(k, l[0].p, l[0].part)
					stored[k], pushed[k] = append(stored[k], l[0]), l[1:]
				}
			default:
				want := Fresh
				if notAbove(a, stored[k]) {
					want = Duplicate
				} else if notAbove(a, pushed[k]) {
					want = Unknown
				}
				if got := tab.Check(k, a.p, a.part); got != want {
					t.Fatalf("seed %d: %v:%d is %v, want %v", seed, a.p, a.part, got, want)
				}
				if want == Fresh {
					pushed[k] = append(pushed[k], a)
				}
			}
			m, ok := max(stored[k])
			p, part, got := tab.Watermark(k)
			if got != ok || ok && (p != m.p || part != m.part) {
				t.Fatalf("seed %d: watermark %v:%d %v, want %v:%d %v", seed, p, part, got, m.p, m.part, ok)
			}
		}
	}
}

func TestVerdictNames(t *testing.T) {
	var names []string
	for v := Verdict(0); v < 6; v++ {
		names = append(names, v.String())
	}
	if got := strings.Join(names, " "); got != "invalid new duplicate unknown full invalid" {
		t.Error(got)
	}
}
