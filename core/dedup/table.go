// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"errors"
	"fmt"

	"georep/core/entry"
	"georep/core/internal/mutant"
)

// Errors of this package; they are wrapped with the place or the number.
var (
	ErrFull    = errors.New("dedup: too many origins")
	ErrCorrupt = errors.New("dedup: corrupt snapshot")
	ErrBound   = errors.New("dedup: snapshot of another topic")
	ErrReplay  = errors.New("dedup: unreadable entry")
)

// DefaultMaxKeys is the cap for New with 0.
const DefaultMaxKeys = 1 << 16

// Key names one stream of entries: a generation of replication from one segment
// of one life of the topic in the origin cluster.
type Key struct {
	Cluster, Instance   string
	Segment, Generation uint64
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Cluster, o.Cluster), cmp.Compare(k.Instance, o.Instance),
		cmp.Compare(k.Segment, o.Segment), cmp.Compare(k.Generation, o.Generation))
}

// Verdict says what to do with an entry that an origin sends.
type Verdict uint8

// Verdicts of Check.
const (
	Fresh     Verdict = 1 // new: store it
	Duplicate Verdict = 2 // it is stored: answer the receipt "duplicate"
	Unknown   Verdict = 3 // it is being written: answer an error, it may fail yet
	Full      Verdict = 4 // a new origin beyond the cap: refuse, it was not stored
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Fresh:
		return "new"
	case Duplicate:
		return "duplicate"
	case Unknown:
		return "unknown"
	case Full:
		return "full"
	}
	return "invalid"
}

// place is a position with a part; the zero place lies before every other.
type place struct {
	pos   entry.Position
	part  int64
	valid bool
}

func at(pos entry.Position, part int64) place {
	if mutant.On(mutant.WholeAsPartZero) && part == entry.Whole {
		part = 0
	}
	return place{pos: pos, part: part, valid: pos.Ledger >= 0 && pos.Entry >= 0 && part >= 0}
}

func (p place) above(o place) bool {
	if p.valid != o.valid {
		return p.valid
	}
	if c := p.pos.Compare(o.pos); c != 0 {
		return c > 0
	}
	return p.part > o.part
}

type mark struct{ pushed, persisted place }

// Table holds the watermarks of one segment topic. The zero value is not
// usable; call New.
type Table struct {
	bound   string
	maxKeys int
	marks   map[Key]*mark
	ignored uint64
	refused uint64
}

// New returns an empty table for the topic that origin records must be bound to
// (segment://tenant/namespace/topic/range-id). maxKeys caps the origins that it
// remembers; 0 is DefaultMaxKeys.
func New(boundTopic string, maxKeys int) *Table {
	if maxKeys <= 0 {
		maxKeys = DefaultMaxKeys
	}
	return &Table{bound: boundTopic, maxKeys: maxKeys, marks: make(map[Key]*mark)}
}

// Len returns the number of origins known.
func (t *Table) Len() int { return len(t.marks) }

// MaxKeys returns how many origins the table may hold.
func (t *Table) MaxKeys() int { return t.maxKeys }

// Full says whether a new origin would be refused now.
func (t *Table) Full() bool { return len(t.marks) >= t.maxKeys }

// Refused counts the entries that Check answered with Full.
func (t *Table) Refused() uint64 { return t.refused }

// Ignored counts the records that Replay left out because of their version or
// because an ordinary producer wrote them.
func (t *Table) Ignored() uint64 { return t.ignored }

func normal(k Key) Key {
	if mutant.On(mutant.GenerationIgnored) {
		k.Generation = 0
	}
	return k
}

// get returns the key's mark, made if there is room, or nil.
func (t *Table) get(k Key) *mark {
	k = normal(k)
	m := t.marks[k]
	if m == nil && len(t.marks) < t.maxKeys {
		m = new(mark)
		t.marks[k] = m
	}
	return m
}

// Check decides on an entry that is about to be stored. Fresh means that the
// caller now stores it and reports Persisted or Failed; the table counts it as
// pushed. A negative position or part is answered with Unknown.
func (t *Table) Check(k Key, pos entry.Position, part int64) Verdict {
	p := at(pos, part)
	if !p.valid {
		return Unknown
	}
	m := t.get(k)
	switch {
	case m == nil:
		t.refused++
		return Full
	case p.above(m.pushed), mutant.On(mutant.EqualIsNew) && !m.pushed.above(p):
		m.pushed = p
		return Fresh
	case p.above(m.persisted):
		return Unknown
	}
	return Duplicate
}

// Persisted reports that the entry is stored. Reports may come late; an older
// one changes nothing.
func (t *Table) Persisted(k Key, pos entry.Position, part int64) {
	if m := t.get(k); m != nil {
		m.raise(at(pos, part))
	}
}

func (m *mark) raise(p place) {
	if p.above(m.persisted) {
		m.persisted = p
	}
	if m.persisted.above(m.pushed) {
		m.pushed = m.persisted
	}
}

// Failed reports that writes failed and that nothing is being written any more:
// the topic was fenced and opened again. What was pushed and not persisted may
// come again.
func (t *Table) Failed() {
	for k, m := range t.marks {
		if !m.persisted.valid {
			delete(t.marks, k)
			continue
		}
		m.pushed = m.persisted
	}
}

// Watermark returns the highest place that is stored; ok is false where nothing
// of the key is. For a sealed topic it is final.
func (t *Table) Watermark(k Key) (pos entry.Position, part int64, ok bool) {
	m := t.marks[normal(k)]
	if m == nil || !m.persisted.valid {
		return entry.Position{}, 0, false
	}
	return m.persisted.pos, m.persisted.part, true
}

// Prune forgets a key. Only for an origin that said that its segment is gone:
// the key's entries would count as new again.
func (t *Table) Prune(k Key) { delete(t.marks, normal(k)) }

// Replay raises the watermarks by one entry that is stored in this topic, from
// its MessageMetadata. It counts if a replication producer wrote it here: its
// origin record is bound to this topic and names the cluster that replicated_from
// names. A copy that a consumer published lacks the one or the other.
//
// Errors: ErrReplay for metadata that cannot be read (nothing changes; go on),
// ErrFull for an origin beyond the cap (its dedup is not safe: do not open).
func (t *Table) Replay(meta []byte) error {
	if mutant.On(mutant.NotRebuilt) {
		return nil
	}
	o, found, err := entry.FindOrigin(meta)
	if errors.Is(err, entry.ErrOriginVersion) {
		t.ignored++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if !found {
		return nil
	}
	var m entry.Metadata
	if err := m.Parse(meta); err != nil {
		return fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if o.BoundTopic != t.bound || !m.HasReplicatedFrom || string(m.ReplicatedFrom) != o.Cluster {
		t.ignored++
		return nil
	}
	k := Key{Cluster: o.Cluster, Instance: o.Instance, Segment: o.Segment, Generation: o.Generation}
	mk := t.get(k)
	if mk == nil {
		return fmt.Errorf("%w: %d", ErrFull, t.maxKeys)
	}
	mk.raise(at(o.Position, o.Part))
	return nil
}
