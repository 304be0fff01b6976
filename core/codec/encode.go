// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"
)

// AppendEncode appends the encoded form of src to dst and returns the result;
// the bytes are readable by Pulsar's Java, C++ and Go clients. On an error dst
// is returned with its old length. dst and src must not overlap.
//
// Errors: ErrUnknown for a codec without a coder, ErrSize for an input that
// the format cannot hold.
func (c Codec) AppendEncode(dst, src []byte) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case LZ4:
		return encodeLZ4(dst, src)
	case Zlib:
		return encodeZlib(dst, src)
	case Zstd:
		return encodeZstd(dst, src)
	case Snappy:
		return encodeSnappy(dst, src)
	default:
		return dst, fmt.Errorf("%w %d", ErrUnknown, uint8(c))
	}
}

// Bound returns an upper bound of what AppendEncode appends for n bytes, so
// that a caller can size its buffer once; 0 for an unknown codec.
func (c Codec) Bound(n int) int {
	switch c {
	case None:
		return n
	case LZ4:
		return max(lz4.CompressBlockBound(n), 1)
	case Zlib:
		return n + n>>8 + 64
	case Zstd:
		return n + n>>8 + 64
	case Snappy:
		return max(s2.MaxEncodedLen(n), 0)
	default:
		return 0
	}
}
