// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
	"georep/core/internal/mutant"
	"georep/core/placement"
	"georep/core/rebatch"
)

type itemState uint8

const (
	itemOpen   itemState = iota // has messages that are not known to be stored
	itemParked                  // kept behind the cursor until an operator skips it
	itemDone                    // nothing left to send; waits for the cursor's delete
)

// item is one entry between being read and being deleted from the cursor.
type item struct {
	pos   entry.Position
	old   bool // an earlier owner may have sent it
	state itemState
	flags placement.Flags

	data  []byte // borrowed; nil once released
	frame entry.Frame
	meta  entry.Metadata
	bad   placement.Reason // why it can not be placed, found while parsing

	out       []*send      // in flight
	messages  int          // of an opened batch; 1 otherwise
	stored    rebatch.Mask // messages known to be stored; nil = none
	whole     bool         // known to be stored completely
	cut       bool         // must be re-batched: the destination found it too large
	verify    bool         // the destination has it, if it can be opened; see mayHavePassed
	unkeyed   bool         // was opened and has no key at all
	wide      bool         // was opened and has keys outside the source segment
	trouble   []trouble    // destinations that refused it
	unit      *unit        // chunked message it belongs to
	storedAt  uint64       // destination that stored it (chunks only)
	follower  *item        // chunk to delete from the cursor once this one is
	waits     bool         // is a follower of one that is not deleted yet
	parked    placement.Reason
	announced placement.Reason // of the last Parked action
	deleting  bool             // a Delete is with the driver
	gone      bool             // deleted from the cursor
	again     bool             // read and deleted once more
	deleteAt  int64            // next try of a failed delete, ms
}

// trouble remembers how earlier attempts of an item's part at one destination
// ended; see Window.overtaken.
type trouble struct {
	segment   uint64
	part      int64
	refused   bool   // definitely refused at least once
	ambiguous bool   // an attempt may have been stored
	low       int64  // lowest rank that such an attempt had
	until     uint64 // last send before the latest refusal
}

// doubt notes that s may have been stored.
func (t *trouble) doubt(s *send) {
	low := int64(0)
	if s.messages != nil {
		low = s.part - int64(len(s.messages)) + 1
	}
	if !t.ambiguous || low < t.low {
		t.ambiguous, t.low = true, low
	}
}

// overtaken says whether d's having everything up to the refused part of t means
// that something later was stored in its place: no attempt explains it, of this
// owner or an earlier one, or something later was acknowledged meanwhile.
func (it *item) overtaken(t *trouble, d *dest) bool {
	if !t.refused || mutant.On(mutant.DuplicateIsAck) {
		return false
	}
	if d.passed(it.pos, t.part) {
		return true
	}
	for i := range it.trouble { // another cut may have put the part into a larger one
		if a := &it.trouble[i]; a.segment == t.segment && a.ambiguous && a.low <= t.part && t.part <= a.part {
			return false
		}
	}
	return !it.old
}

func (it *item) troubleAt(segment uint64, part int64) *trouble {
	if t := it.findTrouble(segment, part); t != nil {
		return t
	}
	it.trouble = append(it.trouble, trouble{segment: segment, part: part})
	return &it.trouble[len(it.trouble)-1]
}

func (it *item) findTrouble(segment uint64, part int64) *trouble {
	for i := range it.trouble {
		if t := &it.trouble[i]; t.segment == segment && t.part == part {
			return t
		}
	}
	return nil
}

// send is one entry in flight to one destination.
type send struct {
	id       uint64
	it       *item
	to       *dest
	part     int64
	messages []int32 // indexes in the batch; nil = the whole entry
}

// compare orders sends by (position, part), the order in which one destination
// stores them.
func (s *send) compare(pos entry.Position, part int64) int {
	if c := s.it.pos.Compare(pos); c != 0 {
		return c
	}
	switch {
	case s.part < part:
		return -1
	case s.part > part:
		return 1
	}
	return 0
}

// pending says whether the item has messages that are neither stored nor in flight.
func (it *item) pending() bool {
	if it.state != itemOpen || it.whole {
		return false
	}
	covered := it.stored.Count()
	for _, s := range it.out {
		if s.messages == nil {
			return false
		}
		covered += len(s.messages)
	}
	return covered < it.messages
}

// todo returns the messages to send as a mask over n messages; nil when it is all of them.
func (it *item) todo(n int) rebatch.Mask {
	if it.stored == nil && len(it.out) == 0 || mutant.On(mutant.MaskIgnored) {
		return nil
	}
	m := rebatch.NewMask(n)
	for i := range n {
		if it.stored == nil || !it.stored.Has(i) {
			m.Set(i)
		}
	}
	for _, s := range it.out {
		for _, i := range s.messages {
			m.Clear(int(i))
		}
	}
	return m
}

func (it *item) setStored(messages []int32) {
	if messages == nil {
		it.whole = true
		return
	}
	if it.stored == nil {
		it.stored = rebatch.NewMask(it.messages)
	}
	for _, i := range messages {
		it.stored.Set(int(i))
	}
	if it.stored.Count() == it.messages {
		it.whole = true
	}
}

func (it *item) dropSend(s *send) {
	for i, o := range it.out {
		if o == s {
			it.out = append(it.out[:i], it.out[i+1:]...)
			return
		}
	}
}
