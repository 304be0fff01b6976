// SPDX-License-Identifier: Apache-2.0

package entry

import "hash/crc32"

// shifts[k][d] multiplies a CRC by x^(8*d*256^k) modulo the Castagnoli
// polynomial: by what it is multiplied when d*256^k bytes follow. Bits are
// reflected, the coefficient of x^0 is the highest bit. 384 KiB, for entries
// below 16 MiB; what is longer takes the slow way for the rest.
var shifts = makeShifts()

const shiftLevels = 3

// product is multiplication by a constant: [i][n] is that of nibble i with the
// value n, so the eight lookups of one do not wait for each other.
type product [8][16]uint32

func makeShifts() *[shiftLevels][256]product {
	t := new([shiftLevels][256]product)
	step := uint32(1) << (31 - 8) // x^8
	for k := range t {
		power := uint32(1) << 31
		for d := range t[k] {
			t[k][d].set(power)
			power = multiply(power, step)
		}
		step = power
	}
	return t
}

func (p *product) set(c uint32) {
	for i := range p {
		for bit := range 4 {
			v := multiply(1<<(4*i+bit), c)
			for n := 1 << bit; n < 2<<bit; n++ {
				p[i][n] = p[i][n-1<<bit] ^ v
			}
		}
	}
}

func (p *product) times(a uint32) uint32 {
	return p[0][a&15] ^ p[1][a>>4&15] ^ p[2][a>>8&15] ^ p[3][a>>12&15] ^
		p[4][a>>16&15] ^ p[5][a>>20&15] ^ p[6][a>>24&15] ^ p[7][a>>28]
}

// multiply returns a*b modulo the Castagnoli polynomial over GF(2).
func multiply(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return p
}

// shiftCRC returns the CRC after n more bytes, as far as crc alone decides it.
// Only the low 32 bits of n count; no entry is longer.
func shiftCRC(crc uint32, n int) uint32 {
	rest := uint32(n)
	for k := 0; rest != 0 && k < shiftLevels; k, rest = k+1, rest>>8 {
		if d := rest & 0xff; d != 0 {
			crc = shifts[k][d].times(crc)
		}
	}
	for ; rest != 0; rest-- { // at most 255 times 16 MiB
		crc = shifts[shiftLevels-1][128].times(shifts[shiftLevels-1][128].times(crc))
	}
	return crc
}

// UpdateCRC32C returns the CRC32C of A followed by b from that of A.
func UpdateCRC32C(crcA uint32, b []byte) uint32 { return crc32.Update(crcA, castagnoli, b) }

// CombineCRC32C returns the CRC32C of A followed by B from those of A and of B
// and the length of B in bytes (0..2^32-1). Neither A nor B is read.
func CombineCRC32C(crcA, crcB uint32, lenB int) uint32 {
	return shiftCRC(crcA, lenB) ^ crcB
}
