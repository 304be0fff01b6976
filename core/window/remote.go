// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"

	"georep/core/layout"
	"georep/core/placement"
)

// SetRemote takes the remote's state: its complete DAG, sealed segments too,
// and the largest message it stores, in bytes (0 = not known). A layout with a
// lower epoch than the present one is ignored; the handshake that brought it
// clears a Block all the same.
func (w *Window) SetRemote(l *layout.Layout, maxMessageBytes int) error {
	if l == nil {
		return fmt.Errorf("%w: no layout", ErrConfig)
	}
	w.block = BlockNone
	if w.remote != nil && l.Epoch() < w.remote.Epoch() {
		return nil
	}
	w.abandonJob() // it was planned for the layout before
	w.quiet = false
	w.remote = l
	w.policy.MaxMessageBytes = maxMessageBytes
	for _, d := range w.dests {
		if s := l.Get(d.id); s == nil || s.State != layout.Active {
			w.seal(d)
		} else {
			d.seg = s
		}
	}
	w.reconsiderParked()
	return nil
}

// Block forbids writing to the remote until the next SetRemote.
func (w *Window) Block(b Block) { w.block = b }

// SetGate opens or closes the parent-drain gate; see Gate.
func (w *Window) SetGate(open bool) { w.gate = open }

// Pause stops or resumes handing over; what is in flight goes on.
func (w *Window) Pause(on bool) { w.paused = on }

// RemoteInstance tells which life of its topic the remote is in; the driver
// calls it before each SetRemote. Where it differs from the one before, the
// topic was deleted there and made again: segment numbers and epochs start
// anew, nothing that went to the old one is there, and what is still behind
// the cursor goes to the new one once its layout is known.
func (w *Window) RemoteInstance(id string) {
	if id == w.remoteInstance {
		return
	}
	known := w.remoteInstance != ""
	w.remoteInstance = id
	if !known {
		return
	}
	w.counters.RemoteReplaced++
	w.abandonJob()
	w.schemas.forget()
	w.remote, w.quiet = nil, false
	w.block = BlockHandshake
	old := w.dests
	w.dests = nil
	for _, d := range old {
		d.state, d.marked, d.gone = destSettled, false, false
		for d.inFlight.len() > 0 {
			w.lose(d.inFlight.all()[0])
		}
		w.closeProducer(d)
	}
	for _, it := range w.items {
		if it.state == itemParked && it.parked == placement.Overtaken && it.data != nil {
			it.state = itemOpen // what overtook it is gone
			w.parkedN--
		}
		switch {
		case it.state == itemParked && !w.passes(it.parked):
			w.goBack(it) // nothing may pass it on the new topic either
			continue
		case it.state != itemOpen || it.gone:
			continue
		}
		it.stored, it.whole, it.verify, it.trouble = nil, false, false, it.trouble[:0]
		w.goBack(it)
	}
}
