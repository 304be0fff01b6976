// SPDX-License-Identifier: Apache-2.0

package world

// after schedules do in delay ms.
func (w *World) after(delay int64, do func()) { w.atTime(w.now+delay, do) }

func (w *World) atTime(at int64, do func()) { w.agenda.Add(max(at, w.now), do) }

// next runs the next event and says whether there was one.
func (w *World) next() bool {
	at, do, ok := w.agenda.Next()
	if !ok {
		return false
	}
	w.now = at
	w.chk.Now = at
	do()
	return true
}

// delay draws up to limit ms, small ones more often.
func (w *World) delay(limit int64) int64 {
	if limit <= 1 {
		return limit
	}
	return w.rng.Int64N(1 + w.rng.Int64N(limit))
}
