// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"georep/core/codec"
	"georep/core/entry"
	"georep/core/internal/mutant"
	"georep/core/keyhash"
	"georep/core/layout"
)

// Source is the segment that entries are read from, and the two clusters.
type Source struct {
	Cluster string // name of the source cluster
	Remote  string // name of the destination cluster
	Segment uint64
	Range   layout.Range
	Profile keyhash.Profile // how its entries were routed
	Legacy  bool            // routed by modulo: its range says nothing
}

// Policy is what the configuration decides.
type Policy struct {
	PlaceEncryptedBatch bool // encryptedBatchPolicy=place: a misfit goes whole by its outer key
	MaxMessageBytes     int  // the destination's largest header + payload; 0 = no limit
	SpliceBytes         int  // by how many bytes the splice will lengthen the header; 0 = not known
}

// Flags is what only the broker knows of an entry.
type Flags uint8

// Flags.
const (
	Expired    Flags = 1 << iota // its time to live is over
	TxnAborted                   // its transaction was aborted
)

// Decision is where an entry goes. Segment is set for Verbatim, Single and
// Unkeyed, and belongs to the destination's layout; Route is the hash, on the
// ring of segments, that placed an entry which goes whole without covering.
type Decision struct {
	Action  Action
	Reason  Reason
	Segment *layout.Segment
	Bucket  int
	Route   uint16
}

// frameFixed is the size of magic, checksum and metadata size.
const frameFixed = 2 + 4 + 4

// Place decides the path of the entry f with the decoded metadata m. dst is the
// remote's current layout. It reads no payload and allocates nothing.
//
// Rebatch is what the metadata can say; a batch that turns out to have no keys
// goes whole to the same segment as an unkeyed single entry (see [Route]), and
// one that is compacted out as a whole is dropped.
func Place(src *Source, dst *layout.Layout, f *entry.Frame, m *entry.Metadata, flags Flags, pol *Policy) Decision {
	if r := mustStay(src, f, m, flags); r != OK {
		return Decision{Action: Drop, Reason: r}
	}
	if !dst.HasRing() {
		return Decision{Action: Park, Reason: LegacyDestination}
	}
	d := placeWhole(src, dst, f, m, pol)
	if d.Action != Rebatch && d.Action != Park && tooLarge(f, pol) {
		return d.Oversize(m)
	}
	return d
}

// Oversize returns the decision for an entry with metadata m that d sends whole
// and that is above the destination's message size: a batch is cut, anything
// else parked.
func (d Decision) Oversize(m *entry.Metadata) Decision {
	if m.HasBatch && !m.HasChunk && !m.Encrypted {
		return Decision{Action: Rebatch, Reason: TooLarge}
	}
	return Decision{Action: Park, Reason: TooLargeSingle}
}

func tooLarge(f *entry.Frame, pol *Policy) bool {
	return pol.MaxMessageBytes > 0 &&
		frameFixed+len(f.Metadata)+pol.SpliceBytes+len(f.Payload) > pol.MaxMessageBytes
}

// mustStay returns why an entry must not travel, or OK.
func mustStay(src *Source, f *entry.Frame, m *entry.Metadata, flags Flags) Reason {
	if m.HasReplicatedFrom && !mutant.On(mutant.ReplicatedForwarded) {
		return Replicated
	}
	if m.ReplicateTo > 0 && !mutant.On(mutant.ReplicateToIgnored) {
		if _, listed := entry.ReplicatesTo(f.Metadata, src.Remote); !listed {
			return NotInReplicateTo
		}
	}
	switch {
	case m.HasMarker:
		return Marker
	case flags&TxnAborted != 0:
		return TransactionAborted
	case flags&Expired != 0:
		return TimeToLive
	}
	return OK
}

func placeWhole(src *Source, dst *layout.Layout, f *entry.Frame, m *entry.Metadata, pol *Policy) Decision {
	if !m.HasBatch || m.HasChunk {
		return byOuterKey(src, dst, m, OK)
	}
	if !plausibleCount(f, m) {
		return Decision{Action: Park, Reason: Malformed}
	}
	d := fit(src, dst, m)
	if d.Action == Verbatim || !m.Encrypted {
		return d
	}
	if pol.PlaceEncryptedBatch {
		return byOuterKey(src, dst, m, EncryptedBatch)
	}
	return Decision{Action: Park, Reason: EncryptedBatch}
}

// minMessage is the size of the smallest message in a batch: a u32 and a
// SingleMessageMetadata with nothing but its required payload_size.
const minMessage = 4 + 2

// plausibleCount says whether the batch can hold as many messages as it claims,
// as far as its sizes tell. What can not be true is not handed on: the count
// travels in the publish command, too.
func plausibleCount(f *entry.Frame, m *entry.Metadata) bool {
	size := int64(len(f.Payload)) // never below the plain size of an encrypted batch
	switch {
	case m.HasUncompressedSize:
		size = int64(m.UncompressedSize)
	case m.Compression != codec.None:
		return m.NumMessages > 0
	}
	return m.NumMessages > 0 && int64(m.NumMessages) <= size/minMessage
}

// Route returns the hash on dst's ring that an entry is placed by when it goes
// whole without fitting: that of its outer key, else the start of the source
// segment, so that everything without a key goes to one destination. The
// ordering key plays no part: it selects buckets only.
func Route(src *Source, dst *layout.Layout, m *entry.Metadata) uint16 {
	if !m.HasPartitionKey {
		return src.Range.Start
	}
	return dst.Profile().Segment(m.KeyHash())
}

// byOuterKey places an entry that is never opened.
func byOuterKey(src *Source, dst *layout.Layout, m *entry.Metadata, reason Reason) Decision {
	route := Route(src, dst, m)
	s := dst.At(route)
	if s == nil || !s.BucketsKnown {
		return Decision{Action: Park, Reason: NoDestination}
	}
	bucket, ok := stampBucket(s, m)
	if !ok {
		bucket = s.Bucket(keyhash.Bucket(m.BucketHash()))
	}
	return Decision{Action: Single, Reason: reason, Segment: s, Bucket: bucket, Route: route}
}

// fit answers Verbatim where a batch fits, else Rebatch with what does not.
func fit(src *Source, dst *layout.Layout, m *entry.Metadata) Decision {
	maybeUnkeyed := !m.HasPartitionKey && !m.HasOrderingKey &&
		(src.Profile == keyhash.M1 || m.Stamped && m.HashMin == 0 && m.HashMax == 0)
	s := dst.Covering(src.Range)
	if s == nil || src.Legacy || s.Profile != src.Profile {
		if maybeUnkeyed {
			return Decision{Action: Rebatch, Reason: UnkeyedUnproven}
		}
		return Decision{Action: Rebatch, Reason: SegmentMisfit}
	}
	if !s.BucketsKnown {
		return Decision{Action: Park, Reason: NoDestination}
	}
	if src.Profile == keyhash.M1 {
		return Decision{Action: Verbatim, Segment: s, Route: src.Range.Start}
	}
	if !saneStamp(m) {
		// One bucket takes anything. A stamp would still be missing on the other
		// side, so only what can not be cut goes there without.
		if m.Encrypted && len(s.Buckets) == 0 {
			return Decision{Action: Verbatim, Segment: s, Route: src.Range.Start}
		}
		return Decision{Action: Rebatch, Reason: Unstamped}
	}
	bucket, ok := stampBucket(s, m)
	if !ok && !mutant.On(mutant.StampTrusted) {
		return Decision{Action: Rebatch, Reason: BucketMisfit}
	}
	return Decision{Action: Verbatim, Segment: s, Bucket: bucket, Route: src.Range.Start}
}

// saneStamp says whether m has a stamp that a producer can have written.
func saneStamp(m *entry.Metadata) bool {
	return m.Stamped && m.HashMin <= m.HashMax && m.HashMax <= 0xFFFF
}

// stampBucket returns the bucket of s that the stamp lies in, and whether it
// lies in one. Profile m1 has neither stamps nor buckets.
func stampBucket(s *layout.Segment, m *entry.Metadata) (int, bool) {
	if s.Profile != keyhash.PIP486 || !saneStamp(m) {
		return 0, false
	}
	lo, hi := s.Bucket(uint16(m.HashMin)), s.Bucket(uint16(m.HashMax))
	return lo, lo == hi
}
