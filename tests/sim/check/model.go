// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
)

// Message is one message as it was published.
type Message struct {
	UID     uint64 // rises in publish order over the whole topic
	Raw     []byte // as framed in the decompressed batch; the payload of an entry that is no batch
	HasKey  bool
	Key     string
	Stream  string // messages of one stream keep their order: key and ordering key
	Segment uint16 // hash that routes it; without a key, the start of its segment
	Bucket  uint16 // hash that selects the bucket
}

// Damage says what is wrong with an entry from the start.
type Damage uint8

// Damages.
const (
	Sound       Damage = iota
	Unreadable         // no entry at all: can only be parked
	BadChecksum        // bytes differ from the checksum: must never be stored
	BadBatch           // can not be opened: goes whole or is parked
)

// Entry is one entry of a source segment's log.
type Entry struct {
	Segment  uint64
	Range    layout.Range // of the source segment
	Profile  keyhash.Profile
	Pos      entry.Position
	Raw      []byte // as the broker's cursor reads it; never lent to a machine
	Meta     []byte // MessageMetadata
	Payload  []byte
	Messages []*Message
	Kind     string // for stories

	Batch, Encrypted bool
	Stamped          bool
	HasSchema        bool
	Schema           string
	Stays            string   // why it may go to no remote at all; "" = it travels
	MayStay          bool     // all messages are compacted out: it travels only unopened
	ReplicateTo      []string // nil = everywhere
	Damage           Damage
	Unit             *Unit // chunked message
	Chunk            int
}

// Unit is a chunked message: the entries of its chunks in order. Complete is
// false where the producer died before the last one.
type Unit struct {
	Chunks   []*Entry
	Of       int  // chunks that the message needs
	Open     bool // its producer may still send
	Complete bool
}

// stays says whether the entry must not go to the remote.
func (e *Entry) stays(remote string) bool {
	return e.Stays != "" || e.ReplicateTo != nil && !slices.Contains(e.ReplicateTo, remote)
}

// unkeyed says whether no message has any key.
func (e *Entry) unkeyed() bool {
	for _, m := range e.Messages {
		if m.HasKey || m.Bucket != 0 {
			return false
		}
	}
	return true
}

// Dest is a destination segment.
type Dest struct {
	Remote string
	Seg    *layout.Segment // range, profile and buckets never change
	Topic  string
	Life   int // of the remote's topic
	Pruned bool
}

// Sender is one owner's replicator, and Told the sealed destinations whose final
// watermark it was given.
type Sender struct {
	ID   int
	Told map[*Dest]bool
}

// copyOf is one stored copy of a message.
type copyOf struct {
	dest *Dest
	Sent
}

// Sent says of a send when it left and which cut cap its sender knew.
type Sent struct {
	At  int64 // ms
	Cut int   // bytes
}

// fate is what became of one entry in one life.
type fate struct {
	copies  [][]copyOf // by message
	parked  bool
	skipped bool
	passed  bool // a destination refused it and stored what followed: order is lost
	deleted bool
}

// Life is one generation of replication to one remote.
type Life struct {
	Remote     string
	Generation uint64
	fates      map[*Entry]*fate
	last       map[string]uint64 // by stream: highest UID stored so far
	complete   map[uint64]bool   // source segments whose every entry is settled for good
}

func (l *Life) fate(e *Entry) *fate {
	f := l.fates[e]
	if f == nil {
		f = &fate{copies: make([][]copyOf, len(e.Messages))}
		l.fates[e] = f
	}
	return f
}

// stored says whether every message of the entry is stored at least once.
func (l *Life) stored(e *Entry) bool {
	f := l.fates[e]
	if f == nil {
		return false
	}
	for _, c := range f.copies {
		if len(c) == 0 {
			return false
		}
	}
	return len(e.Messages) > 0
}

// settled says whether nothing of the entry is left to do for a good reason.
func (l *Life) settled(e *Entry) bool {
	f := l.fates[e]
	return e.stays(l.Remote) || e.MayStay || f != nil && f.skipped || l.stored(e)
}
