// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"encoding/binary"
	"testing"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
)

// BenchmarkWindow takes 64 fitting entries of 1 KiB through a window: offer,
// send, acknowledge, delete. One operation is the 64 entries.
func BenchmarkWindow(b *testing.B) {
	const batch = 64
	l, err := layout.New(1, []layout.Segment{{ID: 1, Range: layout.Range{End: 0xffff}, State: layout.Active,
		Profile: keyhash.M1, BucketsKnown: true}})
	if err != nil {
		b.Fatal(err)
	}
	w, err := window.New(window.Config{Source: placement.Source{Cluster: "a", Remote: "b", Segment: 7,
		Range: layout.Range{End: 0xffff}, Profile: keyhash.M1}, Topic: "topic://t/n/x", Instance: "i", Generation: 1})
	if err != nil {
		b.Fatal(err)
	}
	w.SetGate(true)
	if err := w.SetRemote(l, 5<<20); err != nil {
		b.Fatal(err)
	}
	data := keyedEntry(1024)
	arena := make([]byte, 0, 64<<10)
	acts := make([]window.Action, 0, 3*batch)
	pos := entry.Position{Ledger: 1}
	b.SetBytes(batch * int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for range batch {
			pos.Entry++
			if err := w.Offer(pos, 0, data); err != nil {
				b.Fatal(err)
			}
		}
		var needed int
		acts, _, needed = w.Ready(acts[:0], arena)
		if needed > 0 || len(acts) != batch {
			b.Fatalf("%d actions, %d needed: %+v", len(acts), needed, acts)
		}
		for i := range acts {
			w.Outcome(acts[i].SendID, window.Acked)
		}
		acts, _, _ = w.Ready(acts[:0], arena)
		for i := range acts {
			if acts[i].Kind == window.Delete {
				w.Deleted(acts[i].Position)
			}
		}
	}
	if c := w.Counters(); c.Verbatim == 0 || w.Status().Entries != 0 {
		b.Fatalf("%+v", c)
	}
}

// keyedEntry returns a stored batch of one message with a body of n bytes.
func keyedEntry(n int) []byte {
	sm := entry.AppendVarintField(entry.AppendStringField(nil, 2, "key"), 3, uint64(n))
	payload := append(binary.BigEndian.AppendUint32(nil, uint32(len(sm))), sm...)
	payload = append(payload, make([]byte, n)...)
	m := entry.AppendStringField(nil, 1, "producer-a-1")
	m = entry.AppendVarintField(entry.AppendVarintField(m, 2, 77), 3, 1700000000000)
	m = entry.AppendVarintField(entry.AppendStringField(m, 6, "key"), 11, 1)
	return append(entry.AppendHeaderForPayload(nil, m, payload), payload...)
}
