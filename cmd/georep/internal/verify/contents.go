// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"

	"georep/core/entry"
)

// contents digests the messages of an entry and appends them to the log. A batch
// whose messages are all compacted out has none.
func (l *Log) contents(e *stored, f *entry.Frame, m *entry.Metadata) {
	o := &l.open
	o.text = o.text[:0]
	body, err := o.body(f, m)
	if err == nil {
		err = o.outer(f, m)
	}
	switch {
	case err != nil:
	case m.HasBatch && !m.Encrypted && !m.HasChunk:
		if err = l.batch(e, m, body); err == nil {
			return
		}
	default:
		o.single(m)
		l.append(e, o.message(body), m.HasPartitionKey, m.PartitionKey, m.HasOrderingKey, m.OrderingKey, !m.Encrypted)
		return
	}
	// Only the payload: the header of a copy is not the origin's.
	l.messages = append(l.messages[:e.first], message{digest: o.bytes(f.Payload)})
	e.n, e.misplaced = 1, 0
}

func (l *Log) batch(e *stored, m *entry.Metadata, body []byte) error {
	o := &l.open
	r := entry.NewBatchReader(body, int(m.NumMessages))
	var msg entry.Message
	outer, alive := len(o.text), false
	for r.Next(&msg) {
		o.text = o.text[:outer]
		if err := o.batched(&msg); err != nil {
			return err
		}
		s := &msg.Single
		alive = alive || !s.CompactedOut
		l.append(e, o.message(msg.Payload), s.HasPartitionKey, s.PartitionKey, s.HasOrderingKey, s.OrderingKey, true)
	}
	if r.Err() != nil {
		return r.Err()
	}
	if !alive {
		l.messages, e.n = l.messages[:e.first], 0
	}
	return nil
}

// append adds one message. Its order is that of its key's text; without one, of
// its ordering key within the origin's segment; without any, it has none.
// placed: the key must belong to the segment.
func (l *Log) append(e *stored, d digest, hasKey bool, key []byte, hasOrdering bool, ordering []byte, placed bool) {
	msg := message{digest: d}
	switch {
	case hasKey:
		l.buf = append(append(l.buf[:0], 'k'), key...)
		msg.key = l.keys.number(l.buf)
	case hasOrdering:
		l.buf = binary.BigEndian.AppendUint64(append(l.buf[:0], 'o'), e.of.Segment)
		l.buf = append(l.buf, ordering...)
		msg.key = l.keys.number(l.buf)
	}
	if placed && hasKey && !l.belongs(e.at.Segment, key) {
		if e.misplaced == 0 {
			e.wrong = e.n
		}
		e.misplaced++
	}
	l.messages = append(l.messages, msg)
	e.n++
}

// belongs says whether the segment's range holds the key. Legacy segments do not
// route by range.
func (l *Log) belongs(segment uint64, key []byte) bool {
	s := l.layout.Get(segment)
	return s == nil || s.IsLegacy() || s.Range.Contains(s.Profile.Segment(entry.KeyHash(true, key)))
}

// keyText returns a key as people know it.
func (k *Keys) keyText(n int32) string {
	t := k.texts[n]
	switch {
	case t == "":
		return ""
	case t[0] == 'o':
		return t[9:]
	}
	return t[1:]
}
