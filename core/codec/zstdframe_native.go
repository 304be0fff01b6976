// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

import "encoding/binary"

const (
	zstdMagic     = 0xfd2fb528
	maxZstdBlock  = 128 << 10 // bytes, of a block before and after it is decoded
	minZstdWindow = 1 << 10   // bytes
)

// plainFrame says that src is one frame of the shape that Pulsar's clients
// write: no dictionary, a window over all of the want bytes, the content size
// either absent or want, blocks within zstd's limits, nothing behind them.
// Readers differ in what else they take.
//
//	magic 4 | descriptor 1 | window 0-1 | dictionary 0 | content size 0-8 | blocks | checksum 0 or 4
//	block: last 1 bit, kind 2 bits, size 21 bits | size bytes, or 1 byte for a run
func plainFrame(src []byte, want int) bool {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != zstdMagic {
		return false
	}
	descriptor := src[4]
	single := descriptor&0x20 != 0
	if descriptor&0x0b != 0 { // reserved, dictionary
		return false
	}
	src = src[5:]
	window := uint64(max(want, minZstdWindow))
	if !single {
		base := uint64(1) << (10 + src[0]>>3)
		window = base + base/8*uint64(src[0]&7)
		src = src[1:]
	}
	if window < uint64(want) || window > maxZstdWindow {
		return false
	}
	src, ok := contentSize(src, descriptor>>6, single, want)
	if !ok {
		return false
	}
	src, ok = skipBlocks(src, int(min(window, maxZstdBlock)))
	if descriptor&4 != 0 {
		return ok && len(src) == 4
	}
	return ok && len(src) == 0
}

// contentSize takes the frame's content size off src and compares it with want.
func contentSize(src []byte, kind byte, single bool, want int) ([]byte, bool) {
	var wide [8]byte
	n := 1 << kind
	if kind == 0 && !single {
		return src, true
	}
	if len(src) < n {
		return src, false
	}
	copy(wide[:], src[:n])
	size := binary.LittleEndian.Uint64(wide[:])
	if kind == 1 {
		size += 256
	}
	return src[n:], size == uint64(want)
}

// skipBlocks returns what follows the last block.
func skipBlocks(src []byte, most int) ([]byte, bool) {
	for len(src) >= 3 {
		head := uint32(src[0]) | uint32(src[1])<<8 | uint32(src[2])<<16
		size, stored := int(head>>3), int(head>>3)
		src = src[3:]
		switch head >> 1 & 3 {
		case 1: // a run of one byte
			stored = 1
		case 3:
			return src, false
		}
		if size > most || stored > len(src) {
			return src, false
		}
		src = src[stored:]
		if head&1 != 0 {
			return src, true
		}
	}
	return src, false
}
