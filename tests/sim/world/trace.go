// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	"georep/core/window"
)

// Trace makes the world tell what happens, line by line, to emit.
func (w *World) Trace(emit func(line string)) { w.tracing, w.emit = true, emit }

func (w *World) tracef(format string, args ...any) {
	if w.tracing {
		w.trace(format, args...)
	}
}

// trace must be guarded by tracing where its arguments cost something.
func (w *World) trace(format string, args ...any) {
	w.emit(fmt.Sprintf("%6d ms  ", w.now) + fmt.Sprintf(format, args...))
}

func (rp *replicator) traceAction(a *window.Action) {
	w := rp.w
	switch a.Kind {
	case window.Send:
		w.trace("owner %d: send #%d %d/%v/%d (%v, %v) -> %s segment %d bucket %d, %d messages", rp.id, a.SendID, rp.seg.info.ID,
			a.Position, a.Part, a.Path, a.Reason, rp.r.name, a.Segment, a.Bucket, a.Messages)
	case window.Delete, window.Release:
		w.trace("owner %d: %v %d/%v", rp.id, a.Kind, rp.seg.info.ID, a.Position)
	case window.Parked:
		w.trace("owner %d: parked %d/%v: %v", rp.id, rp.seg.info.ID, a.Position, a.Reason)
	case window.AskWatermark, window.CloseProducer:
		w.trace("owner %d: %v %d", rp.id, a.Kind, a.Segment)
	default:
		w.trace("owner %d: %v", rp.id, a.Kind)
	}
}
