// SPDX-License-Identifier: Apache-2.0

// Package keyhash hashes message keys as Pulsar's clients do, and takes the
// two halves that route a message: which segment of a scalable topic, and which
// bucket inside it.
//
//	       Murmur3_32(key text, seed 0), unmasked
//	       31            16 15             0
//	pip486 [    segment    |    bucket     ]
//	m1     [      -        |    segment    ]   no buckets
//
// One hash per key text serves both halves. The profile belongs to a segment
// and is recorded at its creation, because entries keep the routing that they
// were written with.
//
// All functions are pure, allocate nothing and may be called from any thread.
//
// Source: PIP-486 and PIP-495 (profile pip486), Murmur3Hash32 and the scalable
// producer of 5.0.0-M1 (profile m1).
package keyhash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Profile says which half of the hash selects the segment.
type Profile uint8

// The profiles.
const (
	M1     Profile = 1 // segment = low 16 bits, no buckets, no stamps (5.0.0-M1)
	PIP486 Profile = 2 // segment = high 16 bits, bucket hash = low 16 bits
)

// ErrProfile is returned for a name that is no profile's.
var ErrProfile = errors.New("keyhash: unknown routing profile")

// ParseProfile returns the profile named "m1" or "pip486", or ErrProfile.
func ParseProfile(s string) (Profile, error) {
	switch s {
	case "m1":
		return M1, nil
	case "pip486":
		return PIP486, nil
	}
	return 0, fmt.Errorf("%w %q", ErrProfile, s)
}

// String returns the profile's name as ParseProfile takes it, or "unknown".
func (p Profile) String() string {
	switch p {
	case M1:
		return "m1"
	case PIP486:
		return "pip486"
	}
	return "unknown"
}

// Segment returns the half of h that selects the segment: 0..65535.
func (p Profile) Segment(h uint32) uint16 {
	if p == M1 {
		return uint16(h)
	}
	return uint16(h >> 16)
}

// Bucket returns the half of h that selects the bucket (hashB): 0..65535.
func Bucket(h uint32) uint16 { return uint16(h) }

const (
	c1 = 0xcc9e2d51
	c2 = 0x1b873593
)

// Sum returns the raw Murmur3_32 of key with seed 0. Pulsar's clients mask the
// sign bit away before they use it as a number; both halves here are taken from
// the unmasked value.
func Sum(key []byte) uint32 {
	var h uint32
	p := key
	for ; len(p) >= 8; p = p[8:] { // two blocks a turn: half the bookkeeping
		v := binary.LittleEndian.Uint64(p)
		h = mix(h, uint32(v))
		h = mix(h, uint32(v>>32))
	}
	if len(p) >= 4 {
		h = mix(h, binary.LittleEndian.Uint32(p))
		p = p[4:]
	}
	var k uint32
	switch len(p) {
	case 3:
		k = uint32(p[2]) << 16
		fallthrough
	case 2:
		k |= uint32(p[1]) << 8
		fallthrough
	case 1:
		k |= uint32(p[0])
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= uint32(len(key))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

func mix(h, k uint32) uint32 {
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	return bits.RotateLeft32(h, 13)*5 + 0xe6546b64
}
