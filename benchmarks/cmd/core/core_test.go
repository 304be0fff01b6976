// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"georep/benchmarks/corpus"
	"georep/benchmarks/paired"
	"georep/benchmarks/row"
	"georep/core/codec"
	"georep/internal/entrytest"
)

// brief are settings that measure next to nothing.
func brief(run string) *settings {
	return &settings{Runner: paired.Runner{Rounds: paired.MinRounds, Span: time.Microsecond, Clock: paired.CPU},
		only: regexp.MustCompile(run)}
}

func TestFloorKnowsWhatThePartsHold(t *testing.T) {
	msgs := corpus.Messages(100, 100)
	c, err := newCutter((&entrytest.Batch{Messages: msgs, Codec: codec.Zstd, Stamp: true}).Bytes())
	if err == nil {
		err = c.cut()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFloor(c, codec.Zstd, msgs)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.run(); err != nil || f.encoded < 1000 || f.encoded > len(c.arena) {
		t.Errorf("%d bytes of %d, %v", f.encoded, len(c.arena), err)
	}
	if string(f.buf) != string(plain(msgs)) {
		t.Error("the floor decodes something else")
	}
	other := slices.Clone(msgs)
	i, k := sameKey(msgs)
	other[i], other[k] = msgs[k], msgs[i]
	if _, err := newFloor(c, codec.Zstd, other); err == nil || !strings.Contains(err.Error(), "part ") {
		t.Errorf("messages in another order: %v", err)
	}
	if _, err := newFloor(c, codec.Zstd, msgs[:99]); err == nil {
		t.Error("a message too many was not seen")
	}
	c.arena[len(c.arena)-1] ^= 1
	if _, err := newFloor(c, codec.Zstd, msgs); err == nil {
		t.Error("a damaged part was not seen")
	}
}

// sameKey returns two messages that go to the same segment.
func sameKey(msgs []entrytest.Message) (i, k int) {
	first := map[string]int{}
	for k := range msgs {
		if i, ok := first[msgs[k].Key]; ok {
			return i, k
		}
		first[msgs[k].Key] = k
	}
	panic("no key comes twice")
}

func plain(msgs []entrytest.Message) (out []byte) {
	for i := range msgs {
		out = msgs[i].Append(out)
	}
	return out
}

// TestRows: every table has the rows that it is to have, and only they have targets.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		run   string
		table func(*settings) ([]row.Row, error)
		want  string
	}{
		{"c/1000x100B", rebatchRows, "c/1000x100B/lz4 c/1000x100B/zstd c/1000x100B/zlib c/1000x100B/snappy"},
		{"c/1000x1KiB/lz4", rebatchRows, "c/1000x1KiB/lz4 >0.87"},
		{"e/change/2-", changeRows, "e/change/2-clusters/calls e/change/2-clusters/states e/change/2-clusters/json e/change/2-clusters/protobuf"},
		{"e/join", layoutRows, "e/join-plan/16 e/join-plan/256 e/join-plan/4096 >1 e/join-plan/growth >0.75"},
		{"f/", nativeRows, ""}, // no host
	} {
		rows, err := c.table(brief(c.run))
		if err != nil {
			t.Fatalf("%s: %v", c.run, err)
		}
		var got []string
		for i := range rows {
			if err := rows[i].Check(); err != nil {
				t.Error(err)
			}
			if got = append(got, rows[i].Name); rows[i].Target != nil {
				got = append(got, fmt.Sprintf(">%g", *rows[i].Target))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, want %s", s, c.want)
		}
	}
}

func TestFoldRefusesAnotherPlan(t *testing.T) {
	f, err := newFold(64)
	if err != nil {
		t.Fatal(err)
	}
	f.boundaries++
	if err := f.check(); err == nil {
		t.Error("a join without one of the boundaries was not seen")
	}
}

// TestMemory: what is measured is there, and is no more than a topic can be worth.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name      string
		build     func(int) (any, error)
		low, high float64 // bytes
	}{
		{"converge", converging, 1 << 10, 16 << 10}, {"windows", replicating, 4 << 10, 128 << 10},
		{"dedup", deduplicating, 1 << 10, 32 << 10}, {"topic", wholeTopic, 8 << 10, 160 << 10},
	} {
		got, err := heap(100, func() (any, error) {
			var all []any
			for i := range 100 {
				one, err := c.build(i)
				if err != nil {
					return nil, err
				}
				all = append(all, one)
			}
			return all, nil
		})
		if err != nil || got < c.low || got > c.high {
			t.Errorf("%s: %v bytes, %v", c.name, got, err)
		}
	}
	if _, err := inFlight(); err != nil {
		t.Error(err)
	}
}

func TestReadHost(t *testing.T) {
	var out strings.Builder
	for range paired.MinRounds {
		out.WriteString("round place-1KiB 200 100\nround place-1MiB 200 9000\nround rebatch-none 2000 1000\n")
	}
	out.WriteString("bytes rebatch-none 12 10\npeer place-1KiB a b\npeer place-1MiB a\npeer rebatch-none c\n")
	out.WriteString("skipped rebatch-lz4 there is no liblz4\n")
	rows, err := readHost(out.String())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]row.Row{}
	for _, r := range rows {
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		seen[r.Name] = r
	}
	if r := seen["f/native/place/64x1KiB"]; *r.Ours != 200 || *r.Ratio != 0.5 || r.PeerName != "a b" {
		t.Errorf("%+v", r)
	}
	if r := seen["f/native/rebatch/1000x1KiB/none"]; *r.Ours != 2 || *r.OursOutBytes != 12 || *r.PeerOutBytes != 10 {
		t.Errorf("%+v", r)
	}
	if r := seen["f/native/rebatch/1000x1KiB/lz4"]; r.Ours != nil || r.Note != "there is no liblz4" {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{"round nothing 1 2", "round place-1KiB x 2", "what place-1KiB", "round place-1KiB 1 2"} {
		if rows, err := readHost(bad); err == nil {
			t.Errorf("%q: %+v", bad, rows)
		}
	}
}
