// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"slices"
)

// AppendDecode appends the decoded form of src to dst and returns the result.
// Exactly want bytes must come out; the caller has checked want against its
// own cap. On an error dst is returned with its old length.
//
// Errors: ErrSize where src decodes to another size (or cannot reach want),
// ErrCorrupt where it does not decode, ErrUnknown for a codec without a coder.
// LZ4 cannot tell a block that is too long from a broken one: both are
// ErrCorrupt.
func (c Codec) AppendDecode(dst, src []byte, want int) ([]byte, error) {
	if c >= count {
		return dst, fmt.Errorf("%w %d", ErrUnknown, uint8(c))
	}
	if want < 0 || uint64(want) > c.maxDecoded(len(src)) {
		return dst, fmt.Errorf("%w: %s, %d bytes cannot become %d", ErrSize, c, len(src), want)
	}
	base := len(dst)
	dst = slices.Grow(dst, want)
	// An empty slice of exactly the wanted capacity: no decoder can write
	// beyond it, nor read what the caller had before it as history.
	out := dst[base : base : base+want]
	var n int
	var err error
	switch c {
	case None:
		n = len(src)
		copy(out[:want], src)
	case LZ4:
		n, err = decodeLZ4(out[:want], src)
	case Zlib:
		n, err = decodeZlib(out[:want], src)
	case Zstd:
		n, err = decodeZstd(out, src)
	case Snappy:
		n, err = decodeSnappy(out[:want], src)
	}
	if err != nil {
		return dst[:base], fmt.Errorf("%w (%s)", err, c)
	}
	if n != want {
		return dst[:base], fmt.Errorf("%w: %s, got %d bytes, want %d", ErrSize, c, n, want)
	}
	return dst[:base+want], nil
}

// maxDecoded is an upper bound of what n compressed bytes can become. It costs
// nothing and takes the sting out of a tiny entry that claims a huge size.
func (c Codec) maxDecoded(n int) uint64 {
	u := uint64(n)
	switch c {
	case LZ4:
		return u * 255 // one length byte adds at most 255
	case Zlib:
		return u * 1032 // two bits for a match of 258
	case Zstd:
		return u * (128 << 10) / 4 // an RLE block: 4 bytes for 128 KiB
	case Snappy:
		return u * 64 // a copy element: at least one byte beside its tag for 64
	default:
		return u
	}
}
