// SPDX-License-Identifier: Apache-2.0

package window

import (
	"slices"

	"georep/core/entry"
	"georep/core/placement"
)

// unit is a chunked message: its chunks go to one destination, and none of
// their positions is deleted before the last chunk is stored.
type unit struct {
	producer, uuid string
	items          []*item // chunks 0, 1, … as read
	bytes          int64   // of the chunks read
	full           bool    // the last chunk has been read
	aged           int64   // how long reading went on without the next one, ms
}

// joinUnit adds a chunk to its unit. Chunk 0 starts one; a chunk that does not
// follow the one before it (its predecessors are gone, or it repeats) stands
// for itself.
func (w *Window) joinUnit(it *item) {
	m := &it.meta
	if m.NumChunks <= 1 || m.ChunkID < 0 || m.ChunkID >= m.NumChunks {
		return
	}
	i := slices.IndexFunc(w.units, func(u *unit) bool {
		return !u.full && u.uuid == string(m.UUID) && u.producer == string(m.ProducerName)
	})
	if m.ChunkID == 0 {
		if i >= 0 {
			w.dissolve(w.units[i])
		}
		w.units = append(w.units, &unit{producer: string(m.ProducerName), uuid: string(m.UUID)})
		i = len(w.units) - 1
	} else if i < 0 || int(m.ChunkID) != len(w.units[i].items) {
		return
	}
	u := w.units[i]
	u.items = append(u.items, it)
	u.full, u.aged = m.ChunkID == m.NumChunks-1, 0
	u.bytes += int64(len(it.data))
	it.unit = u
	switch {
	case u.full:
	case u.bytes > w.cfg.MaxInFlightBytes*unitFactor:
		w.parkUnit(u) // all its chunks are held, and it names their number itself
	default:
		w.boundUnits()
	}
}

// boundUnits parks the oldest message that lacks chunks when there are too many
// of them. Complete ones only wait for their receipts, as any other entry does.
func (w *Window) boundUnits() {
	n, oldest := 0, -1
	for i, u := range w.units {
		if !u.full {
			if n++; oldest < 0 {
				oldest = i
			}
		}
	}
	if n > w.cfg.MaxOpenUnits {
		w.parkUnit(w.units[oldest])
	}
}

// dissolve lets the chunks of u stand for themselves: they can not become a
// complete message any more, and the remote gets exactly what is here.
func (w *Window) dissolve(u *unit) {
	w.counters.UnitsDissolved++
	w.removeUnit(u)
	for _, it := range u.items {
		it.unit = nil
	}
	for _, it := range u.items {
		w.complete(it)
	}
}

// SourceEnded tells that the source segment is sealed and that all it holds has
// been offered: a chunked message without its last chunk can never be complete,
// so its chunks are parked. Without this call they would hold back the segment's
// children for ever, and nobody would see why.
func (w *Window) SourceEnded() {
	for i := 0; i < len(w.units); {
		if w.units[i].full {
			i++
			continue
		}
		w.parkUnit(w.units[i])
	}
}

// ageUnits parks the chunks of messages whose producer has not sent the next
// chunk for too long. Only time in which reading went on counts: a window that
// is full, paused or blocked, or whose remote is away, does not see a chunk that
// has long been written. After a gap in the ticks nobody knows, so a gap is no
// more than a part of the wait.
func (w *Window) ageUnits() {
	passed := min(w.now-w.agedAt, (w.cfg.MaxUnitMillis+3)/4)
	entries, _ := w.Want()
	reads := w.last != w.agedLast || entries > 0 && (w.next >= len(w.items) || w.waiting == waitUnit)
	w.agedAt, w.agedLast = w.now, w.last
	if !reads {
		return
	}
	for i := 0; i < len(w.units); {
		u := w.units[i]
		if !u.full {
			if u.aged += passed; u.aged >= w.cfg.MaxUnitMillis {
				w.parkUnit(u)
				continue
			}
		}
		i++
	}
}

func (w *Window) parkUnit(u *unit) {
	w.removeUnit(u)
	for _, it := range u.items {
		it.unit = nil
		w.park(it, placement.ChunkIncomplete)
	}
}

// leaveUnit takes a finished chunk out of its unit; a chunk that an operator
// skipped, or that does not travel, leaves the others to stand for themselves.
func (w *Window) leaveUnit(it *item) {
	u := it.unit
	it.unit = nil
	u.items = slices.DeleteFunc(u.items, func(o *item) bool { return o == it })
	w.dissolve(u)
}

func (w *Window) removeUnit(u *unit) {
	if i := slices.Index(w.units, u); i >= 0 {
		w.units = slices.Delete(w.units, i, i+1)
	}
}

// completeUnit finishes all chunks of u once all of them are stored.
func (w *Window) completeUnit(u *unit) {
	if !u.full {
		return
	}
	for _, it := range u.items {
		if it.state != itemOpen || !it.whole || len(it.out) > 0 {
			return
		}
	}
	w.removeUnit(u)
	// Chunk 0 leaves the cursor first, each other one after the one before it: what
	// a new owner finds is then never a chunk 0 whose followers are gone, which would
	// look like a message that has just begun.
	for i, it := range u.items {
		it.unit = nil
		if i > 0 {
			it.waits, u.items[i-1].follower = true, it
		}
		w.finish(it)
	}
}

// reopenUnits sends the chunks that the sealed d has stored again, from chunk 0,
// where d does not have the complete message.
func (w *Window) reopenUnits(d *dest) {
	for _, u := range w.units {
		again := false
		for _, it := range u.items {
			if it.whole && it.storedAt == d.id {
				it.whole, again = false, true
			}
		}
		if again {
			w.counters.UnitsResent++
			w.goBack(u.items[0])
		}
	}
}

// unitFate says whether the chunk is stored, for good, at a sealed destination
// (at): only if the unit's last chunk is there too. fatePart: the entries that
// would tell have not been read yet.
func (w *Window) unitFate(it *item, route uint16) (at uint64, f fate) {
	u := it.unit
	for _, d := range w.dests {
		if !d.covers(it.pos, entry.Whole) || !(d.rng.Contains(route) || d.rng.Covers(w.cfg.Source.Range)) {
			continue
		}
		switch last := u.items[len(u.items)-1]; {
		case u.full && d.covers(last.pos, entry.Whole):
			return d.id, fateStored
		case !u.full && w.last.Compare(d.pos) < 0:
			return 0, fatePart
		}
	}
	return 0, fateFree
}
