// SPDX-License-Identifier: Apache-2.0

package rebatch

import "math/bits"

// Mask is a set of messages of one batch, by index. As an argument of
// [Batch.Plan], nil is the set of all messages.
type Mask []uint64

// NewMask returns an empty set that has room for n messages.
func NewMask(n int) Mask { return make(Mask, (n+63)/64) }

// Has says whether message i is in the set; always true for a nil set.
func (m Mask) Has(i int) bool {
	if m == nil {
		return true
	}
	return i/64 < len(m) && m[i/64]&(1<<(i%64)) != 0
}

// Set adds message i. It must be below the n of NewMask.
func (m Mask) Set(i int) { m[i/64] |= 1 << (i % 64) }

// Clear removes message i. It must be below the n of NewMask.
func (m Mask) Clear(i int) { m[i/64] &^= 1 << (i % 64) }

// Count returns the number of messages in the set; 0 for a nil set, which does
// not know how many all are.
func (m Mask) Count() int {
	n := 0
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}
