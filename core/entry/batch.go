// SPDX-License-Identifier: Apache-2.0

package entry

import "encoding/binary"

// minMessage is the size of the smallest message in a batch: its size field and
// a SingleMessageMetadata that holds payload_size alone.
const minMessage = 4 + 2

// Message is one message of a batch. All slices alias the payload.
type Message struct {
	Index   int    // from 0
	Raw     []byte // u32 size, metadata, body
	Meta    []byte // SingleMessageMetadata
	Payload []byte // body
	Single  Single // Meta decoded
}

// BatchReader walks over the messages of a decoded, decrypted batch payload.
//
//	for r.Next(&m) { … }
//	if err := r.Err(); err != nil { … }
type BatchReader struct {
	payload []byte
	pos, n  int
	next    int
	err     error
}

// NewBatchReader returns a reader of n messages, n being the entry's
// num_messages_in_batch. An n that is negative or that payload cannot hold is
// an error at once, so a caller may size things by n when Err is nil.
func NewBatchReader(payload []byte, n int) BatchReader {
	r := BatchReader{payload: payload, n: n}
	switch {
	case n < 0:
		r.err = malformed(0, fieldNames[fieldNumMessages], "negative")
	case n > len(payload)/minMessage:
		r.err = malformed(0, fieldNames[fieldNumMessages], "more messages than the payload can hold")
	case n == 0 && len(payload) > 0:
		r.err = malformed(0, fieldNames[fieldNumMessages], "bytes in a batch of none")
	}
	return r
}

// Next reads the next message into m and reports whether there was one. After
// the last it checks that the payload is used up.
func (r *BatchReader) Next(m *Message) bool {
	if r.err != nil || r.next >= r.n {
		return false
	}
	start := r.pos
	body := len(r.payload) + 1
	if body-start > 4 {
		body = start + 4 + int(binary.BigEndian.Uint32(r.payload[start:]))
	}
	if body > len(r.payload) {
		_, r.err = readSize(r.payload, start, "single message metadata size")
		return false
	}
	m.Meta = r.payload[start+4 : body : body]
	if err := m.Single.Parse(m.Meta); err != nil {
		r.err = shifted(err, start+4)
		return false
	}
	if s := m.Single.PayloadSize; s < 0 || int(s) > len(r.payload)-body {
		r.err = malformed(body, "payload_size", "not what is left of the batch")
		return false
	}
	end := body + int(m.Single.PayloadSize)
	m.Index = r.next
	m.Raw = r.payload[start:end:end]
	m.Payload = r.payload[body:end:end]
	r.pos = end
	r.next++
	if r.next == r.n && end < len(r.payload) {
		// The last message is withheld: a batch that does not add up has none.
		r.err = malformed(end, "batch", "bytes after the last message")
		return false
	}
	return true
}

// Err returns what stopped Next, or nil after the last message.
func (r *BatchReader) Err() error { return r.err }

// AppendMessage appends one message of a batch: the size of meta, meta, body.
// meta is a SingleMessageMetadata whose payload_size is len(body).
func AppendMessage(dst, meta, body []byte) []byte {
	n := len(meta)
	dst = append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	dst = append(dst, meta...)
	return append(dst, body...)
}
