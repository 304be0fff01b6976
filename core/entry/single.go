// SPDX-License-Identifier: Apache-2.0

package entry

// Single is a decoded SingleMessageMetadata. Byte slices alias what was parsed.
type Single struct {
	Properties       int // occurrences; see Each
	HasPartitionKey  bool
	PartitionKey     []byte // the text, base64 not decoded
	PartitionKeyB64  bool
	NullPartitionKey bool
	HasOrderingKey   bool
	OrderingKey      []byte
	PayloadSize      int32 // bytes of the body that follows
	CompactedOut     bool
	HasEventTime     bool
	EventTime        uint64 // ms since 1970
	HasSequenceID    bool
	SequenceID       uint64
	NullValue        bool
}

// Parse reads a SingleMessageMetadata into s, replacing what s held. It
// allocates nothing unless it fails.
func (s *Single) Parse(b []byte) error {
	*s = Single{}
	hasSize := false
	r := reader{b: b}
	for r.next() {
		switch {
		case r.typ == wireBytes:
			switch r.num {
			case 1:
				s.Properties++
				if err := checkKeyValue(r.data); err != nil {
					return shifted(err, r.pos-len(r.data))
				}
			case 2:
				s.HasPartitionKey, s.PartitionKey = true, r.data
			case 7:
				s.HasOrderingKey, s.OrderingKey = true, r.data
			}
		case r.typ == wireVarint:
			switch r.num {
			case 3:
				hasSize, s.PayloadSize = true, int32(r.v)
			case 4:
				s.CompactedOut = isTrue(r.v)
			case 5:
				s.HasEventTime, s.EventTime = true, r.v
			case 6:
				s.PartitionKeyB64 = isTrue(r.v)
			case 8:
				s.HasSequenceID, s.SequenceID = true, r.v
			case 9:
				s.NullValue = isTrue(r.v)
			case 10:
				s.NullPartitionKey = isTrue(r.v)
			}
		}
	}
	if r.err != nil {
		return r.err
	}
	if !hasSize {
		return malformed(len(b), "payload_size", "required and absent")
	}
	return nil
}

// EachSingleProperty calls fn for every property of a SingleMessageMetadata, in
// order, until fn returns false. key and value alias meta.
func EachSingleProperty(meta []byte, fn func(key, value []byte) bool) error {
	return eachProperty(meta, 1, fn)
}
