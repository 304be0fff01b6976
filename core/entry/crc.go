// SPDX-License-Identifier: Apache-2.0

package entry

import "hash/crc32"

// shiftTable[k][b] is x^(8*b*256^k) modulo the Castagnoli polynomial: what a
// CRC is multiplied by when b*256^k bytes follow. Bits are reflected, the
// coefficient of x^0 is the highest bit.
var shiftTable = makeShiftTable()

func makeShiftTable() *[4][256]uint32 {
	t := new([4][256]uint32)
	step := uint32(1) << (31 - 8) // x^8
	for k := range t {
		t[k][0] = 1 << 31
		for b := 1; b < 256; b++ {
			t[k][b] = multiply(t[k][b-1], step)
		}
		step = multiply(t[k][255], step)
	}
	return t
}

// multiply returns a*b modulo the Castagnoli polynomial over GF(2).
func multiply(a, b uint32) uint32 {
	var p uint32
	for range 32 {
		p ^= b & -(a >> 31)
		a <<= 1
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return p
}

// shiftCRC returns the CRC after n more bytes, as far as crc alone decides it.
// Only the low 32 bits of n count; no entry is longer.
func shiftCRC(crc uint32, n int) uint32 {
	for k := range shiftTable {
		if b := byte(n >> (8 * k)); b != 0 {
			crc = multiply(crc, shiftTable[k][b])
		}
	}
	return crc
}

// CombineCRC32C returns the CRC32C of A followed by B from those of A and of B
// and the length of B in bytes (0..2^32-1). Neither A nor B is read.
func CombineCRC32C(crcA, crcB uint32, lenB int) uint32 {
	return shiftCRC(crcA, lenB) ^ crcB
}
