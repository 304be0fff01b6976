// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	"georep/core/placement"
	"georep/tests/sim/check"
)

// openUnit is a chunked message that its producer has not finished.
type openUnit struct {
	seg  *segment
	unit *check.Unit
	uuid string
}

// publish lets one producer write one entry to a random active segment.
func (w *World) publish() {
	var open []*segment
	for _, s := range w.segments {
		if s.published && !s.sealed {
			open = append(open, s)
		}
	}
	if len(open) == 0 {
		return
	}
	s := open[w.rng.IntN(len(open))]
	w.events++
	w.noChecksum = w.rng.IntN(20) == 0
	defer func() { w.noChecksum = false }()
	if len(w.openUnits) > 0 && w.rng.IntN(4) == 0 {
		w.continueUnit()
		return
	}
	w.append(s, w.build(s, w.shape()))
}

// shape draws what the next entry is; weights are out of 1000.
func (w *World) shape() shape {
	n := 1 + w.rng.IntN(1+w.rng.IntN(16))
	x := w.rng.IntN(1000)
	for _, c := range [...]struct {
		weight int
		make   func() shape
	}{
		{330, func() shape { return shape{style: "keyed", n: n, batch: true} }},
		{70, func() shape { return shape{style: "one-key", n: n + 5, batch: true} }},
		{70, func() shape { return shape{style: "mixed", n: n, batch: true} }},
		{40, func() shape { return shape{style: "ordering", n: n, batch: true} }},
		{60, func() shape { return shape{style: "unkeyed", n: n, batch: true} }},
		{130, func() shape { return shape{style: "keyed", n: 1} }},
		{50, func() shape { return shape{style: "mixed", n: 1} }},
		{30, func() shape { return shape{style: "keyed", n: 1, encrypted: true} }},
		{20, func() shape { return shape{style: "keyed", n: n, batch: true, encrypted: true} }},
		{30, func() shape { return shape{style: "keyed", n: 1, targets: []string{"c", "b"}} }},
	} {
		if x < c.weight {
			return c.make()
		}
		x -= c.weight
	}
	return w.odd(n)
}

// odd draws what should not travel, or can not.
func (w *World) odd(n int) shape {
	switch w.rng.IntN(14) {
	case 0, 1:
		return shape{style: "keyed", n: n, batch: true, stays: "replicated"}
	case 2:
		return shape{style: "keyed", n: 1, targets: []string{"c"}}
	case 3:
		return shape{style: "keyed", n: n, batch: true, targets: []string{"__local__"}}
	case 4:
		return shape{style: "unkeyed", n: 1, stays: "marker"}
	case 5:
		return shape{style: "keyed", n: n, batch: true, stays: "expired"}
	case 6:
		return shape{style: "keyed", n: 1, stays: "txn-aborted"}
	case 7:
		return shape{style: "keyed", n: n, batch: true, allOut: true}
	case 8:
		if w.rng.IntN(3) > 0 {
			return shape{style: "keyed", n: 1, large: true}
		}
		return shape{style: "keyed", n: n, batch: true, damage: check.Unreadable}
	case 9:
		if w.rng.IntN(2) == 0 {
			return shape{style: "keyed", n: n, batch: true, damage: check.BadChecksum}
		}
		return shape{style: "keyed", n: n, batch: true, damage: check.BadBatch}
	default:
		return w.newUnit()
	}
}

// newUnit starts a chunked message; its later chunks come between other entries.
func (w *World) newUnit() shape {
	w.units++
	return shape{style: "chunk", n: 1, uuid: fmt.Sprintf("uuid-%d", w.units), unit: &check.Unit{Of: 2 + w.rng.IntN(3), Open: true}}
}

func (w *World) continueUnit() {
	i := w.rng.IntN(len(w.openUnits))
	u := w.openUnits[i]
	if u.seg.sealed {
		u.unit.Open = false
		w.openUnits = append(w.openUnits[:i], w.openUnits[i+1:]...)
		return
	}
	e := w.build(u.seg, shape{style: "chunk", n: 1, uuid: u.uuid, unit: u.unit, chunk: len(u.unit.Chunks)})
	w.append(u.seg, e)
}

// booked follows up on an entry that append has stored.
func (w *World) booked(s *segment, e *check.Entry) placement.Flags {
	u := e.Unit
	if u != nil {
		u.Chunks = append(u.Chunks, e)
		if e.Chunk == 0 {
			w.openUnits = append(w.openUnits, openUnit{seg: s, unit: u, uuid: fmt.Sprintf("uuid-%d", w.units)})
		}
		if len(u.Chunks) == u.Of {
			u.Open, u.Complete = false, true
			for i := range w.openUnits {
				if w.openUnits[i].unit == u {
					w.openUnits = append(w.openUnits[:i], w.openUnits[i+1:]...)
					break
				}
			}
		}
	}
	switch e.Stays {
	case "expired":
		return placement.Expired
	case "txn-aborted":
		return placement.TxnAborted
	}
	return 0
}
