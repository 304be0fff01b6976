// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
	"georep/internal/entrytest"
)

// TestPartsAreInTheCallersArena re-batches entries whose parts are larger than
// the arena, with a driver that gives the memory that it is asked for: every
// address that goes out lies in that memory, whatever a codec reserves, and what
// is asked for the first time suffices.
func TestPartsAreInTheCallersArena(t *testing.T) {
	for c := codec.None; c.Known(); c++ {
		for _, size := range []int{100, 1024} {
			t.Run(fmt.Sprintf("%v/%d", c, size), func(t *testing.T) { arenaOf(t, c, size) })
		}
	}
}

func arenaOf(t *testing.T, c codec.Codec, size int) {
	msgs := make([]entrytest.Message, 1000)
	for i := range msgs {
		body := strings.Repeat(fmt.Sprintf(`{"id":%d,"amount":%d}`, i*7919, i*i), size/10+1)[:size]
		msgs[i] = entrytest.Keyed(fmt.Sprintf("customer-%d", i), int64(i), []byte(body))
	}
	data := (&entrytest.Batch{Messages: msgs, Codec: c}).Bytes()
	w := cuttingWindow(t, 4)
	if err := w.Offer(entry.Position{Ledger: 1, Entry: 1}, 0, data); err != nil {
		t.Fatal(err)
	}
	arena := make([]byte, 0, 4<<10)
	var got []byte
	messages, asked := 0, 0
	for {
		acts, used, needed := w.Ready(nil, arena)
		if cap(used) != cap(arena) {
			t.Fatalf("the arena of %d bytes has moved to one of %d", cap(arena), cap(used))
		}
		for i := range acts {
			a := &acts[i]
			switch a.Kind {
			case AskBudget:
				w.Granted()
			case Send:
				for _, b := range [][]byte{a.Header, a.Payload} {
					if !inside(arena, b) {
						t.Fatalf("part %d of %d bytes is not in the arena", a.Part, len(b))
					}
				}
				got = append(append(got[:0], a.Header...), a.Payload...)
				f, m := entrytest.Parse(got)
				var part rebatch.Batch
				if err := part.Open(&placement.Source{Range: layout.Ring, Profile: keyhash.PIP486}, &f, &m, rebatch.Limits{}); err != nil {
					t.Fatal(err)
				}
				for k := range part.Len() {
					if !bytes.Contains(part.Bytes(k), []byte(`{"id":`)) {
						t.Fatalf("message %d of part %d: %q", k, a.Part, part.Bytes(k))
					}
				}
				messages += part.Len()
			}
		}
		if needed > 0 {
			asked++
			arena = make([]byte, 0, needed)
		} else if len(acts) == 0 {
			break
		}
	}
	if messages != len(msgs) || asked > 2 { // once with the budget's grant still out, once for the parts
		t.Errorf("%d messages, asked for an arena %d times", messages, asked)
	}
}

func inside(arena, b []byte) bool {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(arena)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at >= from && at+uintptr(len(b)) <= from+uintptr(cap(arena))
}

// cuttingWindow is a window of a segment of the whole ring, to a remote with n.
func cuttingWindow(t *testing.T, n int) *Window {
	t.Helper()
	segs := make([]layout.Segment, n)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range: layout.Range{Start: uint16(i << 16 / n), End: uint16((i+1)<<16/n - 1)}}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(Config{Source: placement.Source{Cluster: "a", Remote: "b", Segment: 7, Range: layout.Ring,
		Profile: keyhash.PIP486}, Topic: "topic://t/n/x", Instance: "i", Generation: 1, KeepCodec: true})
	if err != nil {
		t.Fatal(err)
	}
	w.SetGate(true)
	if err := w.SetRemote(l, 5<<20); err != nil {
		t.Fatal(err)
	}
	return w
}
