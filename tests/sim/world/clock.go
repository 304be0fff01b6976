// SPDX-License-Identifier: Apache-2.0

package world

import "container/heap"

// event is something that happens at a time; equal times keep their order.
type event struct {
	at, seq int64
	do      func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push appends an event; for container/heap.
func (a *agenda) Push(x any) { *a = append(*a, x.(event)) }

// Pop removes the last event; for container/heap.
func (a *agenda) Pop() any {
	old := *a
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*a = old[:len(old)-1]
	return e
}

// after schedules do in delay ms.
func (w *World) after(delay int64, do func()) { w.atTime(w.now+delay, do) }

func (w *World) atTime(at int64, do func()) {
	w.seq++
	heap.Push(&w.agenda, event{at: max(at, w.now), seq: w.seq, do: do})
}

// next runs the next event and says whether there was one.
func (w *World) next() bool {
	if len(w.agenda) == 0 {
		return false
	}
	e := heap.Pop(&w.agenda).(event)
	w.now = e.at
	w.chk.Now = e.at
	e.do()
	return true
}

// delay draws up to limit ms, small ones more often.
func (w *World) delay(limit int64) int64 {
	if limit <= 1 {
		return limit
	}
	return w.rng.Int64N(1 + w.rng.Int64N(limit))
}
