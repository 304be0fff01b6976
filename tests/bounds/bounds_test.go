// SPDX-License-Identifier: Apache-2.0

// Package bounds gives the path from an entry's bytes to its parts what claims
// to be large, and measures what that costs: the bytes allocated, the process's
// resident peak, the bytes written. go test -v prints the table.
package bounds

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

const (
	maxEntry  = 16 << 20
	maxPlain  = 8 << 20 // cap of a decompressed batch
	maxCount  = 100_000 // cap of its messages
	kib       = 1 << 10
	mib       = 1 << 20
	rssMargin = 24 * mib // the collector's lag and the test's own inputs
)

// cutter is one slot of the slow path: its memory is used again.
type cutter struct {
	src   placement.Source
	dst   *layout.Layout
	batch rebatch.Batch
	parts []rebatch.Part
	out   []byte
}

func newCutter(tb testing.TB, cutCap uint32) *cutter {
	tb.Helper()
	half := layout.Segment{ID: 1, Range: layout.Range{Start: 0, End: 0x7fff}, State: layout.Active,
		Profile: keyhash.PIP486, Buckets: layout.EqualWidth(4), BucketsKnown: true, CutCap: cutCap}
	other := half
	other.ID, other.Range = 2, layout.Range{Start: 0x8000, End: 0xffff}
	dst, err := layout.New(1, []layout.Segment{half, other})
	if err != nil {
		tb.Fatal(err)
	}
	return &cutter{dst: dst, src: placement.Source{Cluster: "a", Remote: "b", Range: layout.Ring, Profile: keyhash.PIP486}}
}

// cost is what came of an entry: its fate, the parts and their bytes.
type cost struct {
	fate         string
	parts, bytes int
}

func (c *cutter) run(raw []byte) cost {
	f, err := entry.ParseFrame(raw, maxEntry)
	var m entry.Metadata
	if err == nil {
		err = m.Parse(f.Metadata)
	}
	if err != nil {
		return cost{fate: "park malformed"}
	}
	d := placement.Place(&c.src, c.dst, &f, &m, 0, &placement.Policy{})
	if d.Action != placement.Rebatch {
		return cost{fate: fmt.Sprintf("%s %s", d.Action, d.Reason)}
	}
	lim := rebatch.Limits{MaxDecompressed: maxPlain, MaxMessages: maxCount}
	if err := c.batch.Open(&c.src, &f, &m, lim); err != nil {
		return refused(err)
	}
	if c.parts, err = c.batch.Plan(c.dst, nil, c.parts[:0]); err != nil {
		return refused(err)
	}
	r := cost{fate: "cut", parts: len(c.parts)}
	origin := entry.Origin{Cluster: "a", Instance: "i", BoundTopic: "segment://p/n/t/0000-7fff-1"}
	for i := range c.parts {
		if c.out, _, err = c.batch.AppendPart(c.out[:0], &c.parts[i], &origin, &rebatch.Options{KeepCodec: true}); err != nil {
			return refused(err)
		}
		r.bytes += len(c.out)
	}
	return r
}

func refused(err error) cost {
	if e, ok := errors.AsType[*rebatch.Error](err); ok {
		return cost{fate: "park " + e.Reason.String()}
	}
	return cost{fate: err.Error()}
}

// status reads a number of KiB from the kernel's record of this process.
func status(tb testing.TB, name string) int {
	tb.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Skip(err)
	}
	for line := range bytes.Lines(b) {
		if v, ok := strings.CutPrefix(string(line), name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(v)[0])
			if err != nil {
				tb.Fatal(err)
			}
			return n * kib
		}
	}
	tb.Fatal("no " + name)
	return 0
}

// measured runs f and returns the bytes that it allocated and by how much the
// resident peak rose.
func measured(tb testing.TB, f func()) (allocated, resident int) {
	tb.Helper()
	runtime.GC()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak starts again from here
	rss := status(tb, "VmRSS")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc), max(0, status(tb, "VmHWM")-rss)
}

// TestBounds: what each entry comes to, and within how much memory.
func TestBounds(t *testing.T) {
	for _, b := range bombs(t) {
		c := newCutter(t, b.cutCap)
		c.run(b.raw) // pools and buffers are warm in a broker
		var got cost
		began := time.Now()
		allocated, resident := measured(t, func() { got = c.run(b.raw) })
		t.Logf("%-34s %9d bytes in -> %-22s %6d parts %10d bytes out, allocated %9d, resident +%8d, %v",
			b.name, len(b.raw), got.fate, got.parts, got.bytes, allocated, resident, time.Since(began).Round(time.Microsecond))
		if got.fate != b.want || got.parts != b.parts {
			t.Errorf("%s: %s in %d parts, want %s in %d", b.name, got.fate, got.parts, b.want, b.parts)
		}
		if got.bytes > b.out {
			t.Errorf("%s: %d bytes written, at most %d", b.name, got.bytes, b.out)
		}
		if raceEnabled {
			continue // its memory says nothing, and it empties pools at random
		}
		if allocated > b.alloc {
			t.Errorf("%s: %d bytes allocated, at most %d", b.name, allocated, b.alloc)
		}
		if resident > b.alloc+rssMargin {
			t.Errorf("%s: resident peak rose by %d bytes, at most %d", b.name, resident, b.alloc+rssMargin)
		}
	}
}

// TestFirstOpening: the first bomb that a slot opens takes no more than the cap
// and what the codec needs.
func TestFirstOpening(t *testing.T) {
	if raceEnabled {
		t.Skip("memory under the race detector says nothing")
	}
	for _, b := range bombs(t) {
		c := newCutter(t, b.cutCap)
		allocated, _ := measured(t, func() { c.run(b.raw) })
		if limit := 2*maxPlain + 8*mib; allocated > limit {
			t.Errorf("%s: %d bytes allocated by a fresh slot, at most %d", b.name, allocated, limit)
		}
	}
}

// TestPartsAreLinear: twice the messages are twice the work, counted in bytes
// written and allocated.
func TestPartsAreLinear(t *testing.T) {
	var costs [2]cost
	var allocated [2]int
	for i, n := range []int{10_000, 20_000} {
		raw := tiny(n).Bytes()
		c := newCutter(t, 1)
		c.run(raw)
		allocated[i], _ = measured(t, func() { costs[i] = c.run(raw) })
		if costs[i].parts != n {
			t.Fatalf("%d messages: %+v", n, costs[i])
		}
	}
	if costs[1].bytes > costs[0].bytes*21/10 || !raceEnabled && allocated[1] > 3*allocated[0]+64*kib {
		t.Errorf("%+v, allocated %v", costs, allocated)
	}
}
