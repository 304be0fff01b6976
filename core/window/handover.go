// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"

	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

// fullRange is every hash.
var fullRange = layout.Range{Start: 0, End: 0xffff}

// step hands over at most one entry, or the next parts of one. It returns false
// when nothing more can be done now; w.waiting says why.
func (w *Window) step(r *ready) bool {
	w.waiting = waitNothing
	if !w.mayHandOver() {
		return false
	}
	if w.job.it != nil {
		return w.emitParts(r)
	}
	for w.next < len(w.items) {
		it := w.items[w.next]
		if it.state == itemParked && !w.passes(it.parked) {
			w.waiting = waitParked
			return false
		}
		if it.pending() {
			return w.handOver(r, it)
		}
		w.next++
	}
	return false
}

func (w *Window) mayHandOver() bool {
	switch {
	case w.block == BlockDenied:
		w.waiting = waitCredentials
	case w.block != BlockNone || w.remote == nil:
		w.waiting = waitHandshake
	case !w.gate:
		w.waiting = waitGate
	case w.paused:
		w.waiting = waitPause
	default:
		return true
	}
	return false
}

func (w *Window) handOver(r *ready, it *item) bool {
	if it.bad != 0 {
		w.park(it, it.bad)
		return true
	}
	dec := placement.Place(&w.cfg.Source, w.remote, &it.frame, &it.meta, it.flags, &w.policy)
	if dec.Action == placement.Drop {
		w.drop(it, dec.Reason)
		return true
	}
	if !w.settled(w.cfg.Source.Range) {
		return false
	}
	if w.overtakenAtSeal(it) {
		w.parkOvertaken(it)
		return true
	}
	if !w.schemas.ready(w, it) {
		w.waiting = waitSchema
		return false
	}
	switch dec.Action {
	case placement.Single, placement.Unkeyed:
		return w.handOverWhole(r, it, &dec)
	case placement.Verbatim:
		if it.meta.HasBatch && !it.meta.Encrypted {
			return w.handOverFitting(r, it, &dec)
		}
		// It may have been placed by its key before it fitted.
		dec.Route = placement.Route(&w.cfg.Source, w.remote, &it.meta)
		return w.handOverWhole(r, it, &dec)
	case placement.Rebatch:
		return w.handOverBatch(r, it, dec.Reason)
	}
	if dec.Reason == placement.EncryptedBatch &&
		w.storedWhole(it, placement.Route(&w.cfg.Source, w.remote, &it.meta)) {
		w.alreadyStored(it, 0) // it fitted a destination that is sealed now
		return true
	}
	w.park(it, dec.Reason)
	return true
}

// handOverFitting sends a batch verbatim unless a part of it is stored already.
func (w *Window) handOverFitting(r *ready, it *item, dec *placement.Decision) bool {
	switch {
	case it.cut:
		return w.handOverBatch(r, it, placement.TooLarge)
	case it.stored != nil || len(it.out) > 0 || it.verify:
		return w.handOverBatch(r, it, placement.Masked)
	}
	switch w.fateOf(it) {
	case fateStored:
		w.alreadyStored(it, 0)
		return true
	case fatePart:
		return w.handOverBatch(r, it, placement.Masked)
	}
	d := w.destOf(dec.Segment)
	return w.available(d) && w.emitWhole(r, it, d, dec)
}

// handOverWhole sends an entry that is never cut to the destination of dec.Route.
func (w *Window) handOverWhole(r *ready, it *item, dec *placement.Decision) bool {
	if !w.cfg.Source.Range.Contains(dec.Route) && !w.settled(layout.Range{Start: dec.Route, End: dec.Route}) {
		return false
	}
	if it.unit != nil {
		switch at, f := w.unitFate(it, dec.Route); f {
		case fateStored:
			w.alreadyStored(it, at)
			return true
		case fatePart:
			w.waiting = waitUnit
			return false
		}
	} else if w.storedWhole(it, dec.Route) {
		w.alreadyStored(it, 0)
		return true
	}
	d := w.destOf(dec.Segment)
	return w.available(d) && w.emitWhole(r, it, d, dec)
}

// alreadyStored finishes an entry that a sealed destination has by its watermark.
// One whose checksum is wrong can not be there: it was refused, and what was on
// its way behind it was stored.
func (w *Window) alreadyStored(it *item, at uint64) {
	if !it.frame.ChecksumValid() {
		w.counters.ChecksumErrors++
		w.park(it, placement.Checksum)
		return
	}
	it.whole, it.storedAt = true, at
	w.counters.MaskedEntries++
	w.complete(it)
}

// handOverBatch opens a batch under the budget and plans what is left of it.
func (w *Window) handOverBatch(r *ready, it *item, reason placement.Reason) bool {
	it.cut = it.cut || reason == placement.TooLarge
	if it.unkeyed && !it.cut {
		return w.handOverUnkeyed(r, it)
	}
	if it.wide && !w.wideOpen() || !w.rangeAvailable(w.cfg.Source.Range) || !w.slotFor(it) {
		return false
	}
	b := &w.job.batch
	lim := rebatch.Limits{MaxDecompressed: w.cfg.MaxDecompressed, MaxMessages: w.cfg.MaxMessages,
		MaxMessageBytes: w.policy.MaxMessageBytes}
	if err := b.OpenVerified(&w.cfg.Source, &it.frame, &it.meta, lim); err != nil {
		if errors.Is(err, rebatch.ErrChecksum) {
			w.counters.ChecksumErrors++
		}
		w.park(it, reasonOf(err))
		return true
	}
	it.messages = b.Len()
	switch {
	case b.AllCompactedOut():
		w.drop(it, placement.CompactedOut)
		return true
	case b.Unkeyed() && !it.cut:
		it.unkeyed = true
		w.giveSlotBack()
		return w.handOverUnkeyed(r, it)
	}
	if it.verify {
		w.giveSlotBack()
		it.whole = true
		w.complete(it)
		return true
	}
	if it.wide = outside(b, w.cfg.Source.Range); it.wide && !w.wideOpen() {
		w.giveSlotBack()
		return false
	}
	w.maskStored(it, b)
	if it.whole {
		w.giveSlotBack()
		w.complete(it)
		return true
	}
	parts, err := b.Plan(w.remote, it.todo(b.Len()), w.job.parts[:0])
	if err != nil {
		w.park(it, reasonOf(err))
		return true
	}
	w.job.it, w.job.parts, w.job.i, w.job.reason = it, parts, 0, reason
	return w.emitParts(r)
}

// wideOpen says whether a batch may go out whose messages go anywhere.
func (w *Window) wideOpen() bool { return w.settled(fullRange) && w.rangeAvailable(fullRange) }

// handOverUnkeyed sends a batch that was found to have no key whole, always to
// the destination that holds the first hash of the source segment.
func (w *Window) handOverUnkeyed(r *ready, it *item) bool {
	route := w.cfg.Source.Range.Start
	to := w.remote.At(route)
	if to == nil {
		w.park(it, placement.NoDestination)
		return true
	}
	return w.handOverWhole(r, it, &placement.Decision{
		Action: placement.Unkeyed, Reason: placement.UnkeyedUnproven, Segment: to, Route: route})
}

// slotFor says whether the budget has granted opening it, and asks if not.
func (w *Window) slotFor(it *item) bool {
	if w.slot != slotNone && w.slotItem != it {
		w.giveSlotBack()
	}
	if w.slot == slotGranted {
		return true
	}
	w.waiting = waitBudget
	if w.slot == slotNone {
		w.slot, w.slotItem = slotAsked, it
		bytes := int64(len(it.frame.Payload))
		if it.meta.HasUncompressedSize {
			bytes = max(bytes, int64(it.meta.UncompressedSize))
		}
		w.counters.BudgetWaits++
		w.push(Action{Kind: AskBudget, Position: it.pos, Bytes: min(bytes, int64(w.cfg.MaxDecompressed))})
	}
	return false
}

func (w *Window) partOptions(it *item) *rebatch.Options {
	w.options = rebatch.Options{KeepCodec: w.cfg.KeepCodec, MaxMessageBytes: w.policy.MaxMessageBytes}
	w.options.SchemaVersion, w.options.SetSchemaVersion = w.schemas.of(it)
	return &w.options
}

func (w *Window) drop(it *item, reason placement.Reason) {
	w.counters.Dropped++
	w.counters.DroppedBy[reason]++
	w.finish(it)
}
