// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"georep/core/placement"
)

// count books the stored messages: duplicates and order.
func (c *Checker) count(l *Life, d *Dest, e *Entry, idx []int, from *Sender, sent Sent) {
	f := l.fate(e)
	for _, i := range idx {
		m := e.Messages[i]
		c.duplicate(l, e, i, f.copies[i], d, from, sent)
		// What an operator skipped may come late, after a cursor that forgot the skip.
		// So may what is compacted out as a whole, which no consumer sees, and what was
		// parked where the operator lets others pass.
		late := f.skipped || f.passed || e.MayStay || c.Pass && f.parked
		if len(f.copies[i]) == 0 && !late && !(e.Batch && e.Encrypted && c.Place) {
			in := fmt.Sprintf("%d/%s", d.Life, m.Stream)
			if top := l.last[in]; m.UID < top {
				c.fail(KeyOrder, e, "message %d (%d) of stream %q is first stored in %s segment %d after %d",
					i, m.UID, m.Stream, d.Remote, d.Seg.ID, top)
			}
			l.last[in] = m.UID
		}
		f.copies[i] = append(f.copies[i], copyOf{dest: d, Sent: sent})
	}
}

// duplicate allows what invariant 14 allows: an earlier copy lies where nobody
// could tell this sender about it any more, or the cut cap changed in between.
func (c *Checker) duplicate(l *Life, e *Entry, i int, priors []copyOf, d *Dest, from *Sender, sent Sent) {
	otherCut := false
	for _, p := range priors {
		otherCut = otherCut || p.dest == d && p.Cut != sent.Cut
	}
	untold := false // part of the entry lies where nobody could tell of
	for _, cs := range l.fate(e).copies {
		for _, p := range cs {
			untold = untold || p.dest.Pruned && !from.Told[p.dest]
		}
	}
	for _, p := range priors {
		switch {
		case p.dest.Life < d.Life: // the topic that had it was deleted
		case p.dest == d && otherCut:
			c.Stats.AllowedCut++
		case untold:
			c.Stats.AllowedPruned++
		case p.dest != d && e.Unit != nil && !c.hasAll(l, e.Unit, p.dest):
			c.Stats.AllowedChunks++
		default:
			c.fail(NoDuplicate, e, "message %d, stored in %s segment %d (sent at %d), is stored again in segment %d (owner %d, sent at %d, told %v, pruned %v)",
				i, d.Remote, p.dest.Seg.ID, p.At, d.Seg.ID, from.ID, sent.At, from.Told[p.dest], p.dest.Pruned)
			return
		}
	}
}

// hasAll says whether d has every chunk: where it lacks one, the message starts
// again from chunk 0 elsewhere. A message that was given up and parked has no all.
func (c *Checker) hasAll(l *Life, u *Unit, d *Dest) bool {
	for _, chunk := range u.Chunks {
		if l.fate(chunk).parked {
			return false
		}
		here := false
		for _, cp := range l.fate(chunk).copies[0] {
			here = here || cp.dest == d
		}
		if !here {
			return false
		}
	}
	return u.Complete
}

// Recreated notes that the owner of a source segment has learned that the remote
// deleted the topic and made it again: what is still behind the cursor has to come
// again. What it had deleted before that is gone with the old topic, and so is what
// it is done with and still waits to delete.
func (l *Life) Recreated(log []*Entry, done func(*Entry) bool) {
	for _, e := range log {
		if f := l.fates[e]; f != nil && !f.deleted && !done(e) {
			f.copies = make([][]copyOf, len(e.Messages))
		}
	}
}

// Deleted checks that a position may leave the cursor.
func (c *Checker) Deleted(l *Life, e *Entry) {
	c.Stats.Deleted++
	if !l.settled(e) {
		c.fail(DeleteAfter, e, "deleted from the cursor of %s before all of it is stored", l.Remote)
		return
	}
	f := l.fate(e)
	f.deleted = true
	if e.Unit == nil || e.stays(l.Remote) {
		return
	}
	for _, chunk := range e.Unit.Chunks { // one that was parked dissolves the message
		if l.fate(chunk).parked {
			return
		}
	}
	if e.Unit.Open {
		c.fail(DeleteAfter, e, "chunk %d leaves the cursor of %s while more of %d may come", e.Chunk, l.Remote, e.Unit.Of)
	} else if e.Unit.Complete {
		c.unit(l, e)
	}
}

// unit checks that no chunk leaves the cursor before its message is complete
// somewhere. An operator's skip of a chunk dissolves the message.
func (c *Checker) unit(l *Life, e *Entry) {
	var common []*Dest
	first := true
	for _, chunk := range e.Unit.Chunks {
		f := l.fate(chunk)
		if f.deleted && chunk != e {
			continue // checked then
		}
		var here []*Dest
		for _, cp := range f.copies[0] {
			here = append(here, cp.dest)
		}
		if first {
			common, first = here, false
			continue
		}
		common = both(common, here)
	}
	if len(common) == 0 {
		c.fail(DeleteAfter, e, "chunk %d leaves the cursor of %s and no segment has all %d chunks", e.Chunk, l.Remote, len(e.Unit.Chunks))
	}
}

func both(a, b []*Dest) (out []*Dest) {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				out = append(out, x)
				break
			}
		}
	}
	return out
}

// Parked notes that a window announced a parked entry.
// Overtaken means that something of it is missing; of a chunk that went to two
// places it may be the one that counts.
func (c *Checker) Parked(l *Life, e *Entry, reason placement.Reason) {
	l.fate(e).parked = true
	if reason == placement.Overtaken && l.stored(e) && !l.fate(e).passed && e.Unit == nil {
		c.fail(TrueParks, e, "parked for %s as overtaken, and all of it is stored", l.Remote)
	}
}

// Passed notes that a destination broke the rule and stored what follows a refused
// entry. The entry must not be lost; its place in the order is.
func (c *Checker) Passed(l *Life, e *Entry) { l.fate(e).passed = true }

// Skipped notes an operator's skip; only what was announced can be skipped.
func (c *Checker) Skipped(l *Life, e *Entry) {
	f := l.fate(e)
	if !f.parked {
		c.fail(ParkedVisible, e, "skipped on %s and never announced as parked", l.Remote)
	}
	f.skipped = true
	c.Stats.Skipped++
}

// Publishes checks the drain gate for a send from a segment whose ancestors'
// entries are given by log: all of them must be settled, or parked under the
// policy that lets others pass.
func (c *Checker) Publishes(l *Life, segment uint64, ancestors []uint64, log func(uint64) []*Entry) {
	for _, a := range ancestors {
		if l.complete[a] {
			continue
		}
		for _, e := range log(a) {
			if !l.settled(e) && !(c.Pass && l.fate(e).parked) {
				c.Fail(DrainGate, segment, "publishes to %s while entry %v (%s) of its ancestor %d is not there", l.Remote, e.Pos, e.Kind, a)
				return
			}
		}
		l.complete[a] = true
	}
}

// Prune checks that a source segment may be deleted.
func (c *Checker) Prune(l *Life, segment uint64, log []*Entry) {
	for _, e := range log {
		if !l.settled(e) {
			c.Fail(Pinned, segment, "pruned while entry %v (%s) is not on %s", e.Pos, e.Kind, l.Remote)
			return
		}
	}
}

// Finish checks that everything in a log has its good end.
func (c *Checker) Finish(l *Life, log []*Entry) {
	for _, e := range log {
		if !l.settled(e) {
			c.fail(NothingLost, e, "is not on %s (generation %d), not parked and not skipped", l.Remote, l.Generation)
			return
		}
	}
}
