// SPDX-License-Identifier: Apache-2.0

// Package agenda orders what happens in a simulated run: by time, and by the order
// in which it was planned where times are equal.
package agenda

import "container/heap"

// Agenda is a queue of things to do. The zero value is empty. Not safe for
// concurrent use: a run is single-threaded.
type Agenda struct {
	list events
	seq  int64
}

// Add plans do for the time at, in simulated ms.
func (a *Agenda) Add(at int64, do func()) {
	a.seq++
	heap.Push(&a.list, event{at: at, seq: a.seq, do: do})
}

// Next takes the next thing out; ok is false where there is none.
func (a *Agenda) Next() (at int64, do func(), ok bool) {
	if len(a.list) == 0 {
		return 0, nil, false
	}
	e := heap.Pop(&a.list).(event)
	return e.at, e.do, true
}

type event struct {
	at, seq int64
	do      func()
}

type events []event

func (l events) Len() int { return len(l) }
func (l events) Less(i, j int) bool {
	if l[i].at != l[j].at {
		return l[i].at < l[j].at
	}
	return l[i].seq < l[j].seq
}
func (l events) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push appends an event; for container/heap.
func (l *events) Push(x any) { *l = append(*l, x.(event)) }

// Pop removes the last event; for container/heap.
func (l *events) Pop() any {
	old := *l
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*l = old[:len(old)-1]
	return e
}
