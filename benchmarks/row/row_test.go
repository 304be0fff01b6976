// SPDX-License-Identifier: Apache-2.0

package row

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"no array", `{"name": "a/x"}`, "no array of rows"},
		{"cut", `[{"name": "a/x", "unit": "us", "ours": 1}`, "no array of rows"},
		{"unknown field", `[{"name": "a/x", "unit": "us", "ours": 1, "speed": 2}]`, `row 0 "a/x": json: unknown field "speed"`},
		{"NaN as Java writes it", `[{"name": "a/x", "unit": "us", "ours": "NaN"}]`, `row 0 "a/x": json: cannot unmarshal string`},
		{"second row", `[{"name": "a/x", "unit": "us", "ours": 1}, {"name": "a/y", "ours": 1}]`, `row "a/y": no unit`},
		{"other table", `[{"name": "g/x", "unit": "us", "ours": 1}]`, `row "g/x": name`},
		{"blank", `[{"name": "a/x ", "unit": "us", "ours": 1}]`, `row "a/x ": name`},
		{"nothing measured", `[{"name": "a/x", "unit": "us"}]`, `row "a/x": neither ours nor a note`},
		{"target without ratio", `[{"name": "a/x", "unit": "us", "ours": 1, "target": 2}]`, `row "a/x": a target, but no ratio`},
		{"peer without name", `[{"name": "a/x", "unit": "us", "ours": 1, "peer": 2, "ratio": 2}]`, `row "a/x": peer, peerName and ratio`},
		{"peer without ratio", `[{"name": "a/x", "unit": "us", "ours": 1, "peer": 2, "peerName": "p"}]`, `row "a/x": peer, peerName and ratio`},
		{"ratio of 0", `[{"name": "a/x", "unit": "us", "ours": 1, "peer": 0, "peerName": "p", "ratio": 0}]`, `row "a/x": ratio: 0`},
		{"less than nothing", `[{"name": "a/x", "unit": "us", "ours": -1}]`, `row "a/x": ours: -1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := Parse([]byte(c.text))
			if !errors.Is(err, ErrForm) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, %v; want %q", rows, err, c.says)
			}
		})
	}
}

func TestCheckRefusesWhatJSONCanNotHold(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		r := Row{Name: "c/x", Unit: "us", Ours: Of(v)}
		if err := r.Check(); !errors.Is(err, ErrForm) || !strings.Contains(err.Error(), `row "c/x": ours`) {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func TestWriteSortsAndReadsBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.d", "part.json")
	full := Row{Name: "c/1000x1KiB/lz4", Unit: "us/entry", Ours: Of(2.0), Peer: Of(1.0), PeerName: "floor", Ratio: Of(0.5),
		Target: Of(0.87), Spread: Of(0.05), Rounds: 7, OursOutBytes: Of(int64(10)), PeerOutBytes: Of(int64(11))}
	later := Row{Name: "e/idle", Unit: "us", Note: "not measured"}
	if err := Write(file, []Row{later, full}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Row{full, later}; !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nwant %+v", got, want)
	}
	if !got[0].Missed() || got[1].Missed() {
		t.Fatalf("missed: %v %v", got[0].Missed(), got[1].Missed())
	}
}

func TestReadNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "part.json")
	if err := Write(file, []Row{{Name: "x", Unit: "us"}}); !errors.Is(err, ErrForm) || !strings.Contains(err.Error(), file) {
		t.Fatalf("write: %v", err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Fatalf("read: %v", err)
	}
}
