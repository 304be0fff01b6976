// SPDX-License-Identifier: Apache-2.0

package window

import (
	"strconv"

	"georep/core/entry"
	"georep/core/layout"
)

// AppendSegmentTopic appends the name of a segment's backing topic, which the
// origin record binds an entry to: segment://tenant/namespace/name/start-end-id,
// from the topic's own name without its scheme. It allocates only to grow dst.
// Source: SegmentTopicName of Pulsar 5.0.0-M1.
func AppendSegmentTopic(dst []byte, topic string, s *layout.Segment) []byte {
	if len(topic) >= len(topicScheme) && topic[:len(topicScheme)] == topicScheme {
		topic = topic[len(topicScheme):]
	}
	dst = append(append(append(dst, "segment://"...), topic...), '/')
	dst = append(appendHex4(dst, s.Range.Start), '-')
	dst = append(appendHex4(dst, s.Range.End), '-')
	return strconv.AppendUint(dst, s.ID, 10)
}

func appendHex4(dst []byte, v uint16) []byte {
	const digits = "0123456789abcdef"
	return append(dst, digits[v>>12], digits[v>>8&15], digits[v>>4&15], digits[v&15])
}

// Has says whether the window holds a position: an Offer of it would be ignored,
// and its memory not borrowed.
func (w *Window) Has(pos entry.Position) bool { return w.find(pos) != nil }
