// SPDX-License-Identifier: Apache-2.0

package layout

import "fmt"

// Ring is the whole hash ring of segments.
var Ring = Range{Start: 0, End: 0xFFFF}

// Range is a part of the hash ring, both ends inclusive.
type Range struct{ Start, End uint16 }

// Contains says whether h lies in r.
func (r Range) Contains(h uint16) bool { return r.Start <= h && h <= r.End }

// Covers says whether every hash of o lies in r.
func (r Range) Covers(o Range) bool { return r.Start <= o.Start && o.End <= r.End }

// Overlaps says whether r and o have a hash in common.
func (r Range) Overlaps(o Range) bool { return r.Start <= o.End && o.Start <= r.End }

// String returns the range as Pulsar names it in segment topics: two times four
// hexadecimal digits, "0000-7fff".
func (r Range) String() string { return fmt.Sprintf("%04x-%04x", r.Start, r.End) }

// EqualWidth returns the starts of buckets 1..n-1 of n buckets of equal width:
// floor(i*65536/n). It returns nil for n below 2; n is cut to 65536.
// Source: PIP-486.
func EqualWidth(n int) []uint16 {
	if n < 2 {
		return nil
	}
	n = min(n, 1<<16)
	starts := make([]uint16, n-1)
	for i := range starts {
		starts[i] = uint16((i + 1) << 16 / n)
	}
	return starts
}
