// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"cmp"
	"fmt"
	"slices"

	"georep/core/keyhash"
)

// Layout is the DAG of one topic at one epoch. It is immutable.
type Layout struct {
	epoch   uint64
	all     []*Segment // by id
	active  []*Segment // by start of range, then id
	sealed  []*Segment // by id
	ring    []*Segment // the active ones, where they tile the ring; else empty
	profile keyhash.Profile
}

// New checks segs and returns the layout that they make. It keeps copies of the
// segments but not of the slices in them, which the caller gives up.
//
// Ids are unique; the active segments tile 0..65535 and share one routing
// profile, unless some of them are legacy ones; parents and children that are
// listed but not there count as pruned. Errors wrap [ErrInvalid] and name
// segment and field.
func New(epoch uint64, segs []Segment) (*Layout, error) {
	if len(segs) > MaxSegments {
		return nil, fmt.Errorf("%w: segments: %d are above the cap of %d", ErrInvalid, len(segs), MaxSegments)
	}
	own := slices.Clone(segs)
	l := &Layout{epoch: epoch, all: make([]*Segment, 0, len(own))}
	for i := range own {
		if err := own[i].validate(); err != nil {
			return nil, err
		}
		l.all = append(l.all, &own[i])
	}
	slices.SortFunc(l.all, func(a, b *Segment) int { return cmp.Compare(a.ID, b.ID) })
	legacy := false
	for i, s := range l.all {
		if i > 0 && l.all[i-1].ID == s.ID {
			return nil, s.fault("segmentId", "appears twice")
		}
		if s.State == Sealed {
			l.sealed = append(l.sealed, s)
			continue
		}
		l.active = append(l.active, s)
		legacy = legacy || s.IsLegacy()
	}
	slices.SortStableFunc(l.active, func(a, b *Segment) int { return cmp.Compare(a.Range.Start, b.Range.Start) })
	if err := l.validateLineage(); err != nil {
		return nil, err
	}
	if legacy {
		return l, nil
	}
	if err := l.validateRing(); err != nil {
		return nil, err
	}
	l.ring, l.profile = l.active, l.active[0].Profile
	return l, nil
}

func (l *Layout) validateRing() error {
	next := 0
	for _, s := range l.active {
		switch start := int(s.Range.Start); {
		case start > next:
			return s.fault("hashRange", "no active segment holds %d..%d", next, start-1)
		case start < next:
			return s.fault("hashRange", "start %d overlaps another active segment", start)
		case s.Profile != l.active[0].Profile:
			return s.fault("profile", "active segments mix %s and %s", l.active[0].Profile, s.Profile)
		}
		next = int(s.Range.End) + 1
	}
	if next != 1<<16 {
		return fmt.Errorf("%w: segments: no active segment holds %d..65535", ErrInvalid, next)
	}
	return nil
}

// validateLineage checks the edges whose both ends are there. Children that do
// not know their parent are let through: pruning rewrites both ends, one by one.
func (l *Layout) validateLineage() error {
	for _, s := range l.all {
		for _, id := range s.Parents {
			if p := l.Get(id); p != nil && p.State == Active {
				return s.fault("parentIds", "parent %d is still active", id)
			}
		}
	}
	return nil
}

// Epoch returns the number that rises with every layout change.
func (l *Layout) Epoch() uint64 { return l.epoch }

// Profile returns the routing profile of the active segments, 0 where there is
// no ring (see [Layout.HasRing]).
func (l *Layout) Profile() keyhash.Profile { return l.profile }

// HasRing says whether hashes can be looked up: false while an active segment is
// a legacy one.
func (l *Layout) HasRing() bool { return len(l.ring) > 0 }

// Segments returns all segments by id. The slice belongs to the layout.
func (l *Layout) Segments() []*Segment { return l.all }

// Active returns the active segments by start of range. The slice belongs to the layout.
func (l *Layout) Active() []*Segment { return l.active }

// Get returns the segment with this id, or nil.
func (l *Layout) Get(id uint64) *Segment {
	lo, hi := 0, len(l.all)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.all[mid].ID < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(l.all) && l.all[lo].ID == id {
		return l.all[lo]
	}
	return nil
}

// At returns the active segment whose range holds h, or nil where there is no ring.
func (l *Layout) At(h uint16) *Segment {
	if i := l.Index(h); i >= 0 {
		return l.ring[i]
	}
	return nil
}

// Index returns the place in [Layout.Active] of the segment whose range holds h,
// or -1 where there is no ring.
func (l *Layout) Index(h uint16) int {
	lo, hi := 0, len(l.ring) // first whose start is above h
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.ring[mid].Range.Start <= h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// Covering returns the active segment whose range covers r, or nil.
func (l *Layout) Covering(r Range) *Segment {
	if s := l.At(r.Start); s != nil && s.Range.Covers(r) {
		return s
	}
	return nil
}

// SealedOverlapping returns the sealed segments whose ranges meet r, by id, in a
// new slice. Legacy ones are among them: each of them spans the ring.
func (l *Layout) SealedOverlapping(r Range) []*Segment {
	var out []*Segment
	for _, s := range l.sealed {
		if s.Range.Overlaps(r) {
			out = append(out, s)
		}
	}
	return out
}

// Ancestors returns the ids of all segments that id descends from and that are
// still in the layout, sorted, in a new slice. It is empty for an unknown id.
func (l *Layout) Ancestors(id uint64) []uint64 {
	s := l.Get(id)
	if s == nil {
		return nil
	}
	var out []uint64
	seen := make(map[uint64]struct{}) // only asked, never iterated
	queue := []*Segment{s}
	for len(queue) > 0 {
		s, queue = queue[0], queue[1:]
		for _, p := range s.Parents {
			if _, ok := seen[p]; ok {
				continue
			}
			seen[p] = struct{}{}
			if a := l.Get(p); a != nil {
				out = append(out, p)
				queue = append(queue, a)
			}
		}
	}
	slices.Sort(out)
	return out
}
