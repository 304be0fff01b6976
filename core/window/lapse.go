// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
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
// What the window holds may still arrive and is not counted.
func (w *Window) CursorAt(mark entry.Position, left uint64) {
	ours := w.deletedN
	for _, it := range w.items {
		if !it.gone && !it.again && (it.deleting || it.pos.Compare(mark) <= 0) {
			ours++
		}
	}
	if left <= ours+w.lapsed {
		return
	}
	n := left - ours - w.lapsed
	w.lapsed += n
	w.horizon = mark
	w.push(Action{Kind: Lapse, Position: mark, Bytes: int64(min(n, 1<<62))})
}
