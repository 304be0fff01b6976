// SPDX-License-Identifier: Apache-2.0

package entry

import "hash/crc32"

// shiftTable[k][d] is x^(8*d*4096^k) modulo the Castagnoli polynomial: what a
// CRC is multiplied by when d*4096^k bytes follow. Bits are reflected, the
// coefficient of x^0 is the highest bit. With digits of 12 bits an entry below
// 16 MiB takes two multiplications at most.
var shiftTable = makeShiftTable()

const (
	shiftBits  = 12
	shiftDigit = 1<<shiftBits - 1
)

func makeShiftTable() *[3][shiftDigit + 1]uint32 {
	t := new([3][shiftDigit + 1]uint32)
	step := uint32(1) << (31 - 8) // x^8
	for k := range t {
		t[k][0] = 1 << 31
		for d := 1; d < len(t[k]); d++ {
			t[k][d] = multiply(t[k][d-1], step)
		}
		step = multiply(t[k][shiftDigit], step)
	}
	return t
}

// reduce4[n] is what the four coefficients n, shifted out beyond x^31, are
// modulo the Castagnoli polynomial.
var reduce4 = makeReduce4()

func makeReduce4() *[16]uint32 {
	t := new([16]uint32)
	for n := range t {
		v := uint32(n)
		for range 4 {
			v = v>>1 ^ crc32.Castagnoli&-(v&1)
		}
		t[n] = v
	}
	return t
}

// multiply returns a*b modulo the Castagnoli polynomial over GF(2), four
// coefficients of a at a time, those of the highest powers first.
func multiply(a, b uint32) uint32 {
	b1 := b>>1 ^ crc32.Castagnoli&-(b&1) // b*x
	b2 := b1>>1 ^ crc32.Castagnoli&-(b1&1)
	b3 := b2>>1 ^ crc32.Castagnoli&-(b2&1)
	// multiples[n]: n's highest bit is the coefficient of x^0
	multiples := [16]uint32{0, b3, b2, b2 ^ b3, b1, b1 ^ b3, b1 ^ b2, b1 ^ b2 ^ b3,
		b, b ^ b3, b ^ b2, b ^ b2 ^ b3, b ^ b1, b ^ b1 ^ b3, b ^ b1 ^ b2, b ^ b1 ^ b2 ^ b3}
	var p uint32
	for range 8 {
		p = p>>4 ^ reduce4[p&15] ^ multiples[a&15]
		a >>= 4
	}
	return p
}

// shiftCRC returns the CRC after n more bytes, as far as crc alone decides it.
// Only the low 32 bits of n count; no entry is longer.
func shiftCRC(crc uint32, n int) uint32 {
	for k, rest := 0, uint32(n); rest != 0; k, rest = k+1, rest>>shiftBits {
		if d := rest & shiftDigit; d != 0 {
			crc = multiply(crc, shiftTable[k][d])
		}
	}
	return crc
}

// CombineCRC32C returns the CRC32C of A followed by B from those of A and of B
// and the length of B in bytes (0..2^32-1). Neither A nor B is read.
func CombineCRC32C(crcA, crcB uint32, lenB int) uint32 {
	return shiftCRC(crcA, lenB) ^ crcB
}
