// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
	"georep/internal/entrytest"
)

// TestWindowsShareScratch: a window that re-batches now and then neither keeps the
// memory for it nor makes it anew; it has what another one has used.
func TestWindowsShareScratch(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	const windows, each = 50, 64 * kib // bytes that a window may take for its first entry: lists, a send, some actions
	msgs := make([]entrytest.Message, 1000)
	for i := range msgs {
		msgs[i] = entrytest.Keyed(fmt.Sprint("key-", i), int64(i), bytes.Repeat([]byte(fmt.Sprint(1000+i)), 300))
	}
	raw := (&entrytest.Batch{Messages: msgs, Codec: codec.LZ4}).Bytes()
	arena := make([]byte, 0, 4*mib)
	acts := make([]window.Action, 0, 64)
	var all []*window.Window
	for range windows + 1 {
		all = append(all, newWindow(t))
	}
	cut(t, all[0], raw, arena, acts) // somebody has to be the first
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, w := range all[1:] {
		cut(t, w, raw, arena, acts)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / windows; got > each {
		t.Errorf("a window took %d bytes to cut an entry of %d messages, %d at most", got, len(msgs), each)
	}
	runtime.KeepAlive(all)
}

func newWindow(t *testing.T) *window.Window {
	t.Helper()
	segs := make([]layout.Segment, 4)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.M1, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i << 14), End: uint16(i<<14 + 1<<14 - 1)}}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	w, err := window.New(window.Config{Topic: "topic://t/n/x", Instance: "i", Generation: 1, KeepCodec: true,
		Source: placement.Source{Cluster: "a", Remote: "b", Segment: 7, Range: layout.Ring, Profile: keyhash.M1}})
	if err != nil {
		t.Fatal(err)
	}
	w.SetGate(true)
	if err := w.SetRemote(l, 5*mib); err != nil {
		t.Fatal(err)
	}
	return w
}

// cut takes an entry that has to be cut in four through the window.
func cut(t *testing.T, w *window.Window, raw, arena []byte, acts []window.Action) {
	t.Helper()
	if err := w.Offer(entry.Position{Ledger: 1, Entry: 1}, 0, raw); err != nil {
		t.Fatal(err)
	}
	sent, deleted := 0, 0
	for n := 1; n > 0; {
		got, _, needed := w.Ready(acts, arena)
		if n = len(got); needed > 0 {
			t.Fatalf("%d bytes of arena", needed)
		}
		for i := range got {
			switch a := got[i]; a.Kind {
			case window.AskBudget:
				w.Granted()
			case window.Send:
				sent++
				w.Outcome(a.SendID, window.Acked)
			case window.Delete:
				deleted++
				w.Deleted(a.Position)
			}
		}
	}
	if sent != 4 || deleted != 1 {
		t.Fatalf("%d parts were sent, %d entries deleted", sent, deleted)
	}
}
