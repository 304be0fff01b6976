// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// maxLZ4Block is the longest input that liblz4 takes, LZ4_MAX_INPUT_SIZE.
const maxLZ4Block = 0x7e000000

var lz4Compressors = sync.Pool{New: func() any { return new(lz4.Compressor) }}

// decodeLZ4 fills out. It is the Go reader in every build: as fast as liblz4's.
func decodeLZ4(out, src []byte) (int, error) {
	if len(out) == 0 {
		// The empty block is a single zero token; the library wants room.
		if len(src) == 1 && src[0] == 0 {
			return 0, nil
		}
		return 0, ErrSize
	}
	n, err := lz4.UncompressBlock(src, out)
	if err != nil {
		return 0, ErrCorrupt
	}
	return n, nil
}

// encodeLZ4 appends one block; of no bytes the single zero token that Java wants.
func encodeLZ4(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return append(dst, 0), nil
	}
	if len(src) > maxLZ4Block {
		return dst, fmt.Errorf("%w: lz4 holds no %d bytes", ErrSize, len(src))
	}
	base, bound := len(dst), lz4.CompressBlockBound(len(src))
	dst = slices.Grow(dst, bound)
	n, err := packLZ4(dst[base:base+bound], src)
	if err != nil {
		return dst[:base], fmt.Errorf("%w: %w (lz4)", ErrSize, err)
	}
	return dst[:base+n], nil
}

// goPackLZ4 compresses src into out, which has room for the worst case.
func goPackLZ4(out, src []byte) (int, error) {
	c := lz4Compressors.Get().(*lz4.Compressor)
	n, err := c.CompressBlock(src, out)
	lz4Compressors.Put(c)
	return n, err
}
