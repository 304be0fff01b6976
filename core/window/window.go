// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"sort"

	"georep/core/entry"
	"georep/core/internal/mutant"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

// topicScheme starts the name of every scalable topic.
const topicScheme = "topic://"

type slotState uint8

const (
	slotNone slotState = iota
	slotAsked
	slotGranted
)

// Window is the machine for one (source segment, remote). See the package
// documentation. The zero value is not usable; call New.
type Window struct {
	cfg            Config
	policy         placement.Policy
	remote         *layout.Layout // nil before the first SetRemote
	remoteInstance string         // topic instance of the remote; "" = not told
	block          Block
	gate           bool
	paused         bool
	now            int64 // ms, of the latest Tick

	items   []*item // by position; gone ones are removed lazily
	goneN   int     // of those, the gone ones
	next    int     // first item that may have to be handed over
	found   int     // where find was last; a guess
	last    entry.Position
	offered bool
	held    int   // items whose memory is borrowed
	heldB   int64 // its bytes
	free    []*item

	dests    []*dest // by segment id
	sends    sendTable
	units    []*unit        // open chunked messages, oldest first
	agedAt   int64          // ms, of the Tick that units were aged at
	agedLast entry.Position // the newest entry then
	schemas  schemas
	slot     slotState
	slotItem *item // the item the slot was asked for
	job      job
	options  rebatch.Options
	quiet    bool     // no sealed destination over the source range is unsettled
	out      []Action // actions that need no arena, in order
	outAt    int      // of those, the drained ones

	waiting  wait
	parkedN  int
	deletedN uint64 // positions that the cursor has deleted for this window
	lapsed   uint64 // entries that left the cursor without having been sent
	horizon  entry.Position
	counters Counters
}

// New returns a window that has met neither its remote nor its gate: it offers
// nothing to send until SetRemote and SetGate(true).
func New(c Config) (*Window, error) {
	c.setDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Window{
		cfg:    c,
		policy: placement.Policy{PlaceEncryptedBatch: c.PlaceEncryptedBatch, SpliceBytes: originBound / 2},
		block:  BlockHandshake,
	}, nil
}

// Offer hands over an entry as it was read from the source segment's log, with
// what only the broker knows about it in flags. Positions ascend. data is
// borrowed until the Release action of pos, or until the window is dropped.
// A position that the window still holds is ignored; one that it has finished
// with is answered with Delete and Release again.
func (w *Window) Offer(pos entry.Position, flags placement.Flags, data []byte) error {
	if w.offered && pos.Compare(w.last) <= 0 {
		if w.find(pos) == nil {
			w.offerFinished(pos, data)
		}
		return nil
	}
	if w.offered = true; len(w.items) > 0 && pos.Compare(w.items[len(w.items)-1].pos) <= 0 {
		return fmt.Errorf("%w: %v after %v", ErrOrder, pos, w.items[len(w.items)-1].pos)
	}
	w.last = pos
	it := w.newItem(pos, data)
	it.flags = flags
	it.old = w.cfg.SentBefore == entry.Position{} || pos.Compare(w.cfg.SentBefore) <= 0
	w.items = append(w.items, it)
	w.parse(it)
	return nil
}

func (w *Window) newItem(pos entry.Position, data []byte) *item {
	var it *item
	if n := len(w.free); n > 0 {
		it, w.free = w.free[n-1], w.free[:n-1]
		*it = item{out: it.out[:0], trouble: it.trouble[:0]}
	} else {
		it = new(item)
	}
	it.pos, it.data, it.messages = pos, data, 1
	w.held++
	w.heldB += int64(len(data))
	return it
}

// offerFinished answers an entry that was deleted from the cursor before and
// was read again, because the cursor forgot (a rewind after a late delete).
func (w *Window) offerFinished(pos entry.Position, data []byte) {
	it := w.newItem(pos, data)
	it.again = true
	i := sort.Search(len(w.items), func(i int) bool { return w.items[i].pos.Compare(pos) >= 0 })
	w.items = append(w.items, nil)
	copy(w.items[i+1:], w.items[i:])
	w.items[i] = it
	if i <= w.next {
		w.next++
	}
	w.finish(it)
}

func (w *Window) parse(it *item) {
	f, err := entry.ParseFrame(it.data, w.cfg.MaxEntryBytes)
	if err == nil {
		err = it.meta.Parse(f.Metadata)
	}
	if err != nil {
		it.bad = placement.Malformed
		return
	}
	it.frame = f
	if it.meta.HasChunk {
		w.joinUnit(it)
	}
}

// find returns the item at pos, or nil. What is new lies behind all others, and
// what is deleted often right behind the one before. An entry that was read again
// lies before the deleted item of its position, so the first one at pos counts.
func (w *Window) find(pos entry.Position) *item {
	n := len(w.items)
	if n == 0 || w.items[n-1].pos.Compare(pos) < 0 {
		return nil
	}
	i := w.found + 1
	if i >= n || w.items[i].pos != pos || i > 0 && w.items[i-1].pos == pos {
		i = sort.Search(n, func(i int) bool { return w.items[i].pos.Compare(pos) >= 0 })
	}
	w.found = i
	if w.items[i].pos == pos && !w.items[i].gone {
		return w.items[i]
	}
	return nil
}

// Granted tells that the budget gave the slot that AskBudget asked for.
func (w *Window) Granted() {
	if w.slot == slotAsked {
		w.slot = slotGranted
		return
	}
	if w.slot == slotNone { // withdrawn meanwhile: the driver's Return frees it
		w.push(Action{Kind: ReturnBudget})
	}
}

// Tick advances the window's time to nowMillis (any origin, never backward) and
// makes due what waited for it.
func (w *Window) Tick(nowMillis int64) {
	if nowMillis <= w.now {
		return
	}
	w.now = nowMillis
	w.schemas.tick(nowMillis)
	w.ageUnits()
	for _, d := range w.dests {
		if d.inFlight.len() > 0 {
			w.ask(d)
		}
	}
	for _, it := range w.items {
		if it.deleteAt > 0 && it.deleteAt <= nowMillis {
			it.deleteAt = 0
			w.requestDelete(it)
		}
	}
}

// Deleted tells that pos is deleted from the cursor.
func (w *Window) Deleted(pos entry.Position) {
	if it := w.find(pos); it != nil && it.deleting {
		it.deleting, it.gone = false, true
		w.goneN++
		if !it.again {
			w.deletedN++
		}
		if f := it.follower; f != nil {
			it.follower, f.waits = nil, false
			w.requestDelete(f)
		}
		w.trim()
	}
}

// DeleteFailed tells that the cursor did not delete pos; it is tried again.
func (w *Window) DeleteFailed(pos entry.Position) {
	if mutant.On(mutant.DeleteFailureEaten) {
		w.Deleted(pos)
	}
	if it := w.find(pos); it != nil && it.deleting {
		it.deleting = false
		it.deleteAt = w.now + w.cfg.RetryMillis
		w.counters.DeleteRetries++
	}
}

func (w *Window) requestDelete(it *item) {
	if !it.deleting && !it.gone && !it.waits {
		it.deleting = true
		w.push(Action{Kind: Delete, Position: it.pos})
	}
}

func (w *Window) push(a Action) { w.out = append(w.out, a) }

// finish marks an item as having nothing left to send.
func (w *Window) finish(it *item) {
	if it.state == itemParked {
		w.parkedN--
	}
	if it.unit != nil {
		w.leaveUnit(it)
	}
	if w.slotItem == it {
		w.giveSlotBack()
	}
	it.state = itemDone
	it.whole = true
	w.release(it)
	w.requestDelete(it)
}

func (w *Window) release(it *item) {
	if it.data == nil {
		return
	}
	w.held--
	w.heldB -= int64(len(it.data))
	it.data = nil
	it.frame = entry.Frame{}
	it.meta = entry.Metadata{}
	w.push(Action{Kind: Release, Position: it.pos})
}

// trim drops the items that are deleted from the cursor once they are most of
// the list, so that each one that goes costs the same whatever the list's length.
// They are leading ones, or lie behind a parked one that lets others pass.
func (w *Window) trim() {
	if w.goneN*2 <= len(w.items) {
		return
	}
	w.compact()
	if len(w.free) > w.cfg.MaxInFlightEntries {
		w.free = w.free[:w.cfg.MaxInFlightEntries]
	}
}

func (w *Window) compact() {
	kept, next := w.items[:0], w.next
	for i, it := range w.items {
		if !it.gone {
			kept = append(kept, it)
			continue
		}
		if i < next {
			w.next--
		}
		w.recycle(it)
	}
	clear(w.items[len(kept):])
	w.items = kept
}

// recycle takes an item that has left the list.
func (w *Window) recycle(it *item) {
	w.goneN--
	if len(it.out) == 0 { // a parked one that was skipped may be in flight
		w.free = append(w.free, it)
	}
}

// goBack moves the hand-over point to it, if that is earlier. What was being
// emitted is abandoned; the parts that were not sent are still to do.
func (w *Window) goBack(it *item) {
	i := sort.Search(len(w.items), func(i int) bool { return w.items[i].pos.Compare(it.pos) >= 0 })
	if i < w.next {
		w.next = i
		w.counters.GoBacks++
	}
	w.abandonJob()
}

// job is a re-batch being emitted.
type job struct {
	it     *item
	batch  rebatch.Batch
	parts  []rebatch.Part
	i      int
	reason placement.Reason
}

func (w *Window) abandonJob() {
	if w.job.it != nil {
		w.job.it, w.job.parts, w.job.i = nil, w.job.parts[:0], 0
		w.giveSlotBack()
	}
}

// yieldSlot hands back a slot that can not be used now, because the window was
// paused or blocked, or waits for something else, after it had asked: others
// need it, and this window asks again.
func (w *Window) yieldSlot() {
	w.abandonJob()
	w.giveSlotBack()
}

func (w *Window) giveSlotBack() {
	if w.slot != slotNone {
		w.job.batch.Release()
		w.slot, w.slotItem = slotNone, nil
		w.push(Action{Kind: ReturnBudget})
	}
}
