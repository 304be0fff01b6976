// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"slices"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
)

// encodeSnappy appends one block. The encoder is s2's for snappy readers.
func encodeSnappy(dst, src []byte) ([]byte, error) {
	n := s2.MaxEncodedLen(len(src))
	if n < 0 {
		return dst, fmt.Errorf("%w: snappy holds no %d bytes", ErrSize, len(src))
	}
	base := len(dst)
	dst = slices.Grow(dst, n)
	return dst[:base+len(s2.EncodeSnappy(dst[base:base+n], src))], nil
}

// decodeSnappy fills out. It is not s2's reader, which takes codes that no
// snappy reader knows, and is no faster.
func decodeSnappy(out, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return 0, ErrCorrupt
	}
	if n != len(out) {
		return 0, ErrSize
	}
	got, err := snappy.Decode(out, src)
	if err != nil {
		return 0, ErrCorrupt
	}
	if n > 0 && &got[0] != &out[0] {
		return copy(out, got), nil
	}
	return len(got), nil
}
