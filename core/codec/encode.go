// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"slices"
	"sync"

	"github.com/golang/snappy"
	"github.com/pierrec/lz4/v4"
)

// maxSnappyBlock is the longest input that a snappy block can hold.
const maxSnappyBlock = 1<<32 - 1

var lz4Compressors = sync.Pool{New: func() any { return new(lz4.Compressor) }}

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
		n := snappy.MaxEncodedLen(len(src))
		if n < 0 || len(src) > maxSnappyBlock {
			return dst, fmt.Errorf("%w: snappy holds no %d bytes", ErrSize, len(src))
		}
		base := len(dst)
		dst = slices.Grow(dst, n)
		return dst[:base+len(snappy.Encode(dst[base:base+n], src))], nil
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
		return max(snappy.MaxEncodedLen(n), 0)
	default:
		return 0
	}
}

func encodeLZ4(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return append(dst, 0), nil
	}
	base, bound := len(dst), lz4.CompressBlockBound(len(src))
	if bound <= 0 {
		return dst, fmt.Errorf("%w: lz4 holds no %d bytes", ErrSize, len(src))
	}
	dst = slices.Grow(dst, bound)
	c := lz4Compressors.Get().(*lz4.Compressor)
	n, err := c.CompressBlock(src, dst[base:base+bound])
	lz4Compressors.Put(c)
	if err != nil {
		return dst[:base], fmt.Errorf("%w: %w (lz4)", ErrSize, err)
	}
	return dst[:base+n], nil
}
