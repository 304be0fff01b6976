// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"georep/core/entry"
	"georep/core/layout"
)

// Place is where an entry is stored.
type Place struct {
	Segment  uint64
	Position entry.Position
}

// id says which entry of which log something is a copy of.
type id struct {
	origin int32 // number of the cluster in Keys.clusters
	Place
}

// stored is one entry of a log.
type stored struct {
	of          id
	at          Place
	first, n    int32 // its messages in Log.messages
	txn         int32 // index in Log.txns + 1; 0 = none
	replicateTo int32 // index in Log.lists + 1; 0 = everywhere
	copied      bool  // came through replication
	lostOrigin  bool  // came through replication and does not say from where
	misplaced   int32 // messages whose key does not belong to the segment
	wrong       int32 // index of the first of them
}

// message is what is kept of one.
type message struct {
	digest digest
	key    int32 // number of its key in Keys.texts; 0 = it has none
}

// span is what was read of a segment: from its first to its last entry.
type span struct{ first, last entry.Position }

// Keys numbers keys and clusters for the logs that are to be compared.
type Keys struct {
	numbers  map[string]int32
	texts    []string // by number; [0] stands for no key
	clusters []string
}

// NewKeys returns an empty numbering.
func NewKeys() *Keys { return &Keys{numbers: map[string]int32{}, texts: []string{""}} }

func (k *Keys) number(key []byte) int32 {
	if n, ok := k.numbers[string(key)]; ok {
		return n
	}
	n := int32(len(k.texts))
	text := string(key)
	k.numbers[text] = n
	k.texts = append(k.texts, text)
	return n
}

func (k *Keys) cluster(name string) int32 {
	if i := slices.Index(k.clusters, name); i >= 0 {
		return int32(i)
	}
	k.clusters = append(k.clusters, name)
	return int32(len(k.clusters) - 1)
}

// Log is the digest of one cluster's copy of a topic. Fill it with Add, segment
// by segment in rising id, each from its start to its end.
type Log struct {
	Cluster string
	layout  *layout.Layout
	keys    *Keys
	self    int32

	entries  []stored
	messages []message
	spans    map[uint64]span
	txns     []txn
	txnOf    map[[2]uint64]int32
	lists    [][]string // replicate_to lists

	open opener
	buf  []byte // key text being numbered
}

// NewLog returns an empty log of the cluster whose layout of the topic is l.
func NewLog(cluster string, l *layout.Layout, k *Keys) *Log {
	return &Log{
		Cluster: cluster, layout: l, keys: k, self: k.cluster(cluster),
		spans: map[uint64]span{}, txnOf: map[[2]uint64]int32{},
	}
}

// Entries returns how many entries were added, markers aside.
func (l *Log) Entries() int { return len(l.entries) }

// Messages returns how many messages they hold.
func (l *Log) Messages() int { return len(l.messages) }

// Add takes in one stored entry; raw may be reused afterwards. An entry that can
// not be read counts as one message with a digest of its bytes, so that it is
// missed where it did not arrive.
func (l *Log) Add(segment uint64, pos entry.Position, raw []byte) {
	s, seen := l.spans[segment]
	if !seen {
		s.first = pos
	}
	s.last = pos
	l.spans[segment] = s

	e := stored{at: Place{segment, pos}, of: id{l.self, Place{segment, pos}}, first: int32(len(l.messages))}
	f, m, err := l.open.parse(raw)
	if err != nil {
		l.messages = append(l.messages, message{digest: l.open.bytes(raw)})
		e.n = 1
		l.entries = append(l.entries, e)
		return
	}
	if m.HasMarker {
		l.marker(m)
		return
	}
	if m.HasReplicatedFrom {
		l.attribute(&e, f, m)
	} else {
		e.txn = l.txn(m)
		e.replicateTo = l.replicateTo(f, m)
	}
	l.contents(&e, f, m)
	if e.n > 0 {
		l.entries = append(l.entries, e)
	}
}

// attribute fills in where a replicated entry comes from.
func (l *Log) attribute(e *stored, f *entry.Frame, m *entry.Metadata) {
	e.copied = true
	e.of.origin = l.keys.cluster(string(m.ReplicatedFrom))
	o, found, err := entry.FindOrigin(f.Metadata)
	if err != nil || !found || o.Cluster != string(m.ReplicatedFrom) {
		e.lostOrigin = true
		return
	}
	e.of.Place = Place{o.Segment, o.Position}
}

// replicateTo keeps the list of clusters that an entry may go to.
func (l *Log) replicateTo(f *entry.Frame, m *entry.Metadata) int32 {
	if m.ReplicateTo == 0 {
		return 0
	}
	var list []string
	// Parsed before, so there is no error.
	_ = entry.EachReplicateTo(f.Metadata, func(cluster []byte) bool {
		list = append(list, string(cluster))
		return true
	})
	l.lists = append(l.lists, list)
	return int32(len(l.lists))
}

// wanted says whether the other cluster should have e, a local entry.
func (l *Log) wanted(e *stored, other string) bool {
	if e.txn > 0 && l.txns[e.txn-1].state != committed {
		return false
	}
	return e.replicateTo == 0 || slices.Contains(l.lists[e.replicateTo-1], other)
}
