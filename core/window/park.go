// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"

	"georep/core/entry"
	"georep/core/internal/mutant"
	"georep/core/placement"
)

// park keeps an entry behind the cursor, visible, until an operator skips it.
func (w *Window) park(it *item, reason placement.Reason) {
	if w.job.it == it {
		w.abandonJob()
	}
	if w.slotItem == it {
		if mutant.On(mutant.SlotLeaked) {
			w.slot, w.slotItem = slotNone, nil
		}
		w.giveSlotBack()
	}
	if it.state != itemOpen {
		return
	}
	it.state, it.parked = itemParked, reason
	w.parkedN++
	if it.announced != reason { // another layout may have let it be tried, to end otherwise
		if it.announced == 0 {
			w.counters.Parked++
		}
		it.announced = reason
		w.push(Action{Kind: Parked, Position: it.pos, Reason: reason, Passed: w.passes(reason)})
	}
	if w.passes(reason) {
		w.release(it)
	}
	if mutant.On(mutant.ParkedDropped) {
		w.finish(it)
	}
}

// dependsOnLayout says whether another layout of the remote can make room for
// an entry that was parked for reason.
func dependsOnLayout(reason placement.Reason) bool {
	switch reason {
	case placement.EncryptedBatch, placement.NoDestination, placement.LegacyDestination, placement.TooLargeSingle:
		return true
	}
	return false
}

// passes says whether later entries may go on past one parked for reason.
// An entry that a later layout, or another owner, may send after all never lets
// others pass: the destination's watermark would then count it as stored.
func (w *Window) passes(reason placement.Reason) bool {
	switch reason {
	case placement.ChunkIncomplete, placement.Overtaken:
		return false
	}
	return w.cfg.ParkedPass && !dependsOnLayout(reason)
}

// reconsiderParked gives entries that a new layout may place another try.
func (w *Window) reconsiderParked() {
	if w.parkedN == 0 {
		return
	}
	for _, it := range w.items {
		if it.state == itemParked && it.data != nil && dependsOnLayout(it.parked) {
			it.state = itemOpen
			w.parkedN--
			w.goBack(it)
		}
	}
}

// Skip releases exactly one parked position, as an operator decided: it is
// deleted from the cursor and counted. Any other position is ErrNotParked.
func (w *Window) Skip(pos entry.Position) error {
	it := w.find(pos)
	if it == nil || it.state != itemParked {
		return fmt.Errorf("%w: %v", ErrNotParked, pos)
	}
	w.counters.Skipped++
	w.finish(it)
	return nil
}

// reasonOf maps an error of opening, planning or writing parts to why the entry is parked.
func reasonOf(err error) placement.Reason {
	var r interface{ ParkReason() placement.Reason }
	if errors.As(err, &r) {
		return r.ParkReason()
	}
	return placement.Malformed
}
