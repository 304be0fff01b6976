// SPDX-License-Identifier: Apache-2.0

package window

import (
	"slices"

	"georep/core/entry"
	"georep/core/placement"
)

// CursorAt tells where the cursor's mark-delete position stands and how many
// positions have left the cursor since the window began, by whomever. What the
// window neither deleted nor holds has left without having been sent: an
// eviction by a backlog quota, a truncation, a ledger that was lost or the TTL
// took it. Retention and policies are somebody's choice; that they took something
// which was not replicated is counted (Status.Lapsed) and announced (Lapse), never
// passed over in silence.
//
// Read left before mark: what leaves in between is then counted by the next call.
// What the window holds and has begun to send may still arrive and is not counted.
// What it holds and has not begun to send is let go (DroppedBy expired): the TTL
// passed while it waited, through an outage for one, and it shall not arrive after
// those that consumers at home may not see any more. Aborted transactions need no
// such rule: nothing is read before the outcome of its transaction is known.
func (w *Window) CursorAt(mark entry.Position, left uint64) {
	ours := w.deletedN
	for _, it := range w.items {
		if !it.gone && !it.again && (it.deleting || it.pos.Compare(mark) <= 0) {
			ours++
		}
	}
	defer w.letGo(mark)
	if left <= ours+w.lapsed {
		return
	}
	n := left - ours - w.lapsed
	w.lapsed += n
	w.horizon = mark
	w.push(Action{Kind: Lapse, Position: mark, Bytes: int64(min(n, 1<<62))})
}

// letGo drops what has left the cursor by itself and of which nothing was sent.
func (w *Window) letGo(mark entry.Position) {
	for i := 0; i < len(w.items) && w.items[i].pos.Compare(mark) <= 0; i++ {
		it := w.items[i]
		if it.state != itemOpen || it.touched() {
			continue
		}
		if u := it.unit; u != nil && !u.untouched(mark) {
			continue // a message goes as a whole or not at all
		}
		if w.job.it == it {
			w.abandonJob()
		}
		w.drop(it, placement.TimeToLive)
	}
}

// touched says whether any of it was sent, or found at the remote.
func (it *item) touched() bool {
	return len(it.out) > 0 || it.stored != nil || it.whole || it.verify || len(it.trouble) > 0
}

// untouched says whether nothing of the message was sent and all of it lies at or
// below mark.
func (u *unit) untouched(mark entry.Position) bool {
	return !slices.ContainsFunc(u.items, func(it *item) bool { return it.touched() || it.pos.Compare(mark) > 0 })
}
