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
	at, hasSize := s.parseUsual(b)
	r := reader{b: b, pos: at}
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

// parseUsual reads the fields that messages usually have, up to the first that is
// another one or is malformed, and returns where that starts.
func (s *Single) parseUsual(b []byte) (at int, hasSize bool) {
	for len(b)-at >= 2 {
		v, end := uint64(b[at+1]), at+2
		if v >= 0x80 {
			long, n := uvarint(b[at+1:])
			if n == 0 {
				break
			}
			v, end = long, at+1+n
		}
		switch b[at] {
		case 3<<3 | wireVarint:
			hasSize, s.PayloadSize = true, int32(v)
		case 5<<3 | wireVarint:
			s.HasEventTime, s.EventTime = true, v
		case 8<<3 | wireVarint:
			s.HasSequenceID, s.SequenceID = true, v
		case 2<<3 | wireBytes:
			if v > uint64(len(b)-end) {
				return at, hasSize
			}
			s.HasPartitionKey, s.PartitionKey = true, b[end:end+int(v):end+int(v)]
			end += int(v)
		default:
			return at, hasSize
		}
		at = end
	}
	return at, hasSize
}

// EachSingleProperty calls fn for every property of a SingleMessageMetadata, in
// order, until fn returns false. key and value alias meta.
func EachSingleProperty(meta []byte, fn func(key, value []byte) bool) error {
	return eachProperty(meta, 1, fn)
}
