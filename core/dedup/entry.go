// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"georep/core/entry"
)

// Of reads the origin of an entry that is about to be stored in this topic, from
// its MessageMetadata. ours is false where no replication producer wrote it for
// this topic: without replicated_from, without a record, with a record of an
// unknown version, of another cluster than replicated_from or bound to another
// topic. Such an entry is none of this table's business.
//
// Errors: ErrReplay for metadata, or for the record of a replicated entry, that
// cannot be read.
func (t *Table) Of(meta []byte) (k Key, pos entry.Position, part int64, ours bool, err error) {
	var m entry.Metadata
	if err := m.Parse(meta); err != nil {
		return k, pos, 0, false, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if !m.HasReplicatedFrom {
		return k, pos, 0, false, nil
	}
	o, found, err := entry.FindOrigin(meta)
	if errors.Is(err, entry.ErrOriginVersion) {
		return k, pos, 0, false, nil
	}
	if err != nil {
		return k, pos, 0, false, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if !found || o.BoundTopic != t.bound || string(m.ReplicatedFrom) != o.Cluster {
		return k, pos, 0, false, nil
	}
	k = Key{Cluster: o.Cluster, Instance: o.Instance, Segment: o.Segment, Generation: o.Generation}
	return k, o.Position, o.Part, true, nil
}

// Each calls fn for every key with something stored, by key, until it returns
// false. It sorts a copy of the keys.
func (t *Table) Each(fn func(k Key, pos entry.Position, part int64) bool) {
	for _, k := range slices.SortedFunc(maps.Keys(t.marks), Key.compare) {
		if p := t.marks[k].persisted; p.valid && !fn(k, p.pos, p.part) {
			return
		}
	}
}

// BoundTopic returns the topic that records must be bound to.
func (t *Table) BoundTopic() string { return t.bound }
