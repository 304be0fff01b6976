// SPDX-License-Identifier: Apache-2.0

package check

import "fmt"

// count books the stored messages: duplicates and order.
func (c *Checker) count(l *Life, d *Dest, e *Entry, idx []int, from *Sender, sentAt int64) {
	f := l.fate(e)
	if f.skipped && !f.exempted {
		f.exempted = true // an operator skipped it while it was on its way
	}
	for _, i := range idx {
		m := e.Messages[i]
		for _, prior := range f.copies[i] {
			c.duplicate(l, e, i, prior, d, from, sentAt)
		}
		if len(f.copies[i]) == 0 && !(e.Batch && e.Encrypted && c.Place) {
			in := fmt.Sprintf("%d/%s", d.Life, m.Stream)
			if top := l.last[in]; m.UID < top {
				c.fail(KeyOrder, e, "message %d (%d) of stream %q is first stored in %s segment %d after %d",
					i, m.UID, m.Stream, d.Remote, d.Seg.ID, top)
			}
			l.last[in] = m.UID
		}
		f.copies[i] = append(f.copies[i], copyOf{dest: d, sentAt: sentAt})
	}
}

// duplicate allows what invariant 14 allows: the earlier copy lies where nobody
// could tell this sender about it any more, or the cut cap changed in between.
func (c *Checker) duplicate(l *Life, e *Entry, i int, prior copyOf, d *Dest, from *Sender, sentAt int64) {
	switch {
	case prior.dest.Life < d.Life: // the topic that had it was deleted
		return
	case prior.dest == d:
		if d.CutChanged >= prior.sentAt && d.CutChanged <= sentAt {
			c.Stats.AllowedCut++
			return
		}
	case prior.dest.Pruned && !from.Told[prior.dest]:
		c.Stats.AllowedPruned++
		return
	case e.Unit != nil && !c.hasAll(l, e.Unit, prior.dest):
		c.Stats.AllowedChunks++
		return
	}
	c.fail(NoDuplicate, e, "message %d, stored in %s segment %d (sent at %d), is stored again in segment %d (owner %d, sent at %d, told %v, pruned %v)",
		i, d.Remote, prior.dest.Seg.ID, prior.sentAt, d.Seg.ID, from.ID, sentAt, from.Told[prior.dest], prior.dest.Pruned)
}

// hasAll says whether d has every chunk: where it lacks one, the message starts
// again from chunk 0 elsewhere.
func (c *Checker) hasAll(l *Life, u *Unit, d *Dest) bool {
	for _, chunk := range u.Chunks {
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
	for k, chunk := range e.Unit.Chunks {
		f := l.fate(chunk)
		var here []*Dest
		for _, cp := range f.copies[0] {
			here = append(here, cp.dest)
		}
		if k == 0 {
			common = here
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
func (c *Checker) Parked(l *Life, e *Entry) { l.fate(e).parked = true }

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
