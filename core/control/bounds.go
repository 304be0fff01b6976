// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ErrLimit marks a message that is refused before anything is built from it.
var ErrLimit = errors.New("control: over the limit")

// Caps of one message from outside. An empty segment takes two bytes on the wire
// and some two hundred in memory, so bytes alone bound nothing.
const (
	MaxBytes  = 16 << 20 // of protobuf, or of JSON
	MaxNested = 400_000  // messages inside, at any depth
	maxDepth  = 16       // georep.proto's deepest nesting is 4
)

// Unmarshal is proto.Unmarshal with the caps above, checked on the bytes first.
func Unmarshal(b []byte, m proto.Message) error {
	if len(b) > MaxBytes {
		return fmt.Errorf("%w: %d bytes are above the cap of %d", ErrLimit, len(b), MaxBytes)
	}
	if n := nested(b, m.ProtoReflect().Descriptor(), 0, 0); n > MaxNested {
		return fmt.Errorf("%w: more than %d messages inside", ErrLimit, MaxNested)
	}
	return proto.Unmarshal(b, m)
}

// nested returns n plus the number of messages inside b, or stops above the cap.
// Bytes that are no protobuf end the count: Unmarshal refuses them.
func nested(b []byte, d protoreflect.MessageDescriptor, n, depth int) int {
	for len(b) > 0 && n <= MaxNested {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return n
		}
		size := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if size < 0 {
			return n
		}
		value := b[tag : tag+size]
		b = b[tag+size:]
		f := d.Fields().ByNumber(num)
		if f == nil || f.Message() == nil || typ != protowire.BytesType {
			continue
		}
		n++
		if inner, got := protowire.ConsumeBytes(value); got >= 0 && depth < maxDepth {
			n = nested(inner, f.Message(), n, depth+1)
		}
	}
	return n
}

// boundJSON checks the caps on a JSON text. Braces in strings count too, which
// only makes the cap lower.
func boundJSON(text []byte) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("%w: %d bytes are above the cap of %d", ErrLimit, len(text), MaxBytes)
	}
	if n := bytes.Count(text, []byte("{")); n > MaxNested {
		return fmt.Errorf("%w: %d objects are above the cap of %d", ErrLimit, n, MaxNested)
	}
	return nil
}
