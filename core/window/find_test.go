// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"testing"

	"georep/core/entry"
	"georep/internal/entrytest"
)

// TestDeleteOfAnEntryReadAgain has the cursor forget a delete, whichever of the
// entries it is and whatever was looked up before: the entry that is read again
// stands beside the deleted one, and its own delete has to be found.
func TestDeleteOfAnEntryReadAgain(t *testing.T) {
	const entries = 6
	for again := range 3 {
		for look := range entries {
			t.Run(fmt.Sprintf("%d again after a look at %d", again, look), func(t *testing.T) {
				w := cuttingWindow(t, 1)
				at := func(i int) entry.Position { return entry.Position{Ledger: 1, Entry: int64(i)} }
				data := (&entrytest.Batch{Stamp: true, Messages: []entrytest.Message{entrytest.Keyed("k", 0, []byte("body"))}}).Bytes()
				for i := range entries {
					if err := w.Offer(at(i), 0, data); err != nil {
						t.Fatal(err)
					}
				}
				acts, _, _ := w.Ready(nil, make([]byte, 0, 1<<16))
				for i := range acts {
					w.Outcome(acts[i].SendID, Acked)
				}
				for i := range 3 { // no more: the deleted ones stay in the list until they are most of it
					w.Deleted(at(i))
				}
				w.Has(at(look))
				if err := w.Offer(at(again), 0, data); err != nil {
					t.Fatal(err)
				}
				w.Deleted(at(again))
				for i := 3; i < entries; i++ {
					w.Deleted(at(i))
				}
				if s := w.Status(); s.Entries != 0 {
					t.Errorf("%d entries are left, the lowest %v", s.Entries, s.LowestOpen)
				}
			})
		}
	}
}
