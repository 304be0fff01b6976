// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"

	"georep/core/internal/mutant"
)

// Join returns the coarsest shape that has every boundary of a and of b: "the
// finer wins", on both rings (PIP-495, "Convergence"). It is commutative,
// associative and idempotent, and linear in the boundaries.
//
// A segment of the join has the bucket starts of both segments that cover it, so
// equal-width lists whose counts divide one another give the larger of them. The
// error wraps [ErrProfile]. Bucket lists are shared with a and b where one of
// them holds the other.
func Join(a, b Shape) (Shape, error) {
	if a.Profile != b.Profile {
		return Shape{}, fmt.Errorf("%w: %s and %s", ErrProfile, a.Profile, b.Profile)
	}
	out := Shape{
		Profile: a.Profile,
		Starts:  make([]uint16, 0, len(a.Starts)+len(b.Starts)),
		Buckets: make([][]uint16, 0, len(a.Starts)+len(b.Starts)),
	}
	var memo unionMemo
	for i, j := 0, 0; i < len(a.Starts) || j < len(b.Starts); {
		var start uint16
		switch {
		case j == len(b.Starts) || i < len(a.Starts) && a.Starts[i] < b.Starts[j]:
			start, i = a.Starts[i], i+1
		case i == len(a.Starts) || b.Starts[j] < a.Starts[i]:
			start, j = b.Starts[j], j+1
		default:
			start, i, j = a.Starts[i], i+1, j+1
		}
		out.Starts = append(out.Starts, start)
		out.Buckets = append(out.Buckets, memo.union(a.Buckets[i-1], b.Buckets[j-1]))
	}
	return out, nil
}

// JoinAll folds any number of shapes, at least one.
func JoinAll(first Shape, more ...Shape) (Shape, error) {
	var err error
	for _, s := range more {
		if first, err = Join(first, s); err != nil {
			return Shape{}, err
		}
	}
	return first, nil
}

// unionMemo keeps the last union: neighbours mostly ask for the same one. Where they
// do not, the lists share slabs, each twice as large as the one before.
type unionMemo struct {
	a, b, out []uint16
	slab      []uint16
}

const maxSlab = 8192 // starts

func (m *unionMemo) union(a, b []uint16) []uint16 {
	switch {
	case mutant.On(mutant.BucketsLowered):
		return b
	case len(b) == 0 || sameStarts(a, b):
		return a
	case len(a) == 0:
		return b
	case len(m.a) > 0 && sameStarts(a, m.a) && sameStarts(b, m.b):
		return m.out
	}
	n := len(a) + len(b)
	if cap(m.slab)-len(m.slab) < n {
		m.slab = make([]uint16, 0, max(n, min(2*cap(m.slab), maxSlab)))
	}
	from := len(m.slab)
	all := appendUnion(m.slab, a, b)
	m.a, m.b = a, b
	switch len(all) - from {
	case len(a):
		m.out = a
	case len(b):
		m.out = b
	default:
		m.slab, m.out = all, all[from:len(all):len(all)]
	}
	return m.out
}

// UnionStarts merges two rising lists. It returns one of them, not a copy, where that
// holds the other.
func UnionStarts(a, b []uint16) []uint16 {
	out := appendUnion(make([]uint16, 0, len(a)+len(b)), a, b)
	switch len(out) {
	case len(a):
		return a
	case len(b):
		return b
	}
	return out
}

// appendUnion merges two rising lists behind out, which has room for both. Which of
// them comes next nobody can guess, so the loop has no branch for it.
func appendUnion(out, a, b []uint16) []uint16 {
	n := len(out)
	out = out[:n+len(a)+len(b)]
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		out[n] = min(x, y)
		n++
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
	}
	n += copy(out[n:], a[i:])
	n += copy(out[n:], b[j:])
	return out[:n]
}

// Diverged is a part of the ring where two shapes differ, between two boundaries
// that both have and without one inside that both have.
type Diverged struct {
	Range          Range
	Local, Peer    int  // segments of each in Range, at least 1
	BucketsDiffer  bool // where both have one segment; else the segments differ as well
	LocalIsCoarser bool // the join differs from local here: what is sent to the peer is re-batched
	PeerIsCoarser  bool // the join differs from the peer here: what it sends here is re-batched
}

// Diff returns the diverged ranges, rising, and the number of ranges that agree.
// The error wraps [ErrProfile].
func Diff(local, peer Shape) (diverged []Diverged, converged int, err error) {
	if local.Profile != peer.Profile {
		return nil, 0, fmt.Errorf("%w: %s and %s", ErrProfile, local.Profile, peer.Profile)
	}
	for i, j := 0, 0; i < len(local.Starts); {
		i2, j2 := i+1, j+1 // the next boundary that both have
		for i2 < len(local.Starts) || j2 < len(peer.Starts) {
			switch {
			case j2 == len(peer.Starts) || i2 < len(local.Starts) && local.Starts[i2] < peer.Starts[j2]:
				i2++
				continue
			case i2 == len(local.Starts) || peer.Starts[j2] < local.Starts[i2]:
				j2++
				continue
			}
			break
		}
		if d, differs := compare(local, peer, i, i2, j, j2); differs {
			diverged = append(diverged, d)
		} else {
			converged++
		}
		i, j = i2, j2
	}
	return diverged, converged, nil
}

// compare looks at local's segments i..i2-1 and peer's j..j2-1, which cover the same range.
func compare(local, peer Shape, i, i2, j, j2 int) (Diverged, bool) {
	d := Diverged{Range: Range{local.Starts[i], local.Range(i2 - 1).End}, Local: i2 - i, Peer: j2 - j}
	if d.Local == 1 && d.Peer == 1 {
		a, b := local.Buckets[i], peer.Buckets[j]
		if sameStarts(a, b) {
			return d, false
		}
		d.BucketsDiffer = true
	}
	d.LocalIsCoarser, d.PeerIsCoarser = d.Peer > 1, d.Local > 1
	for x, y := i, j; x < i2 && y < j2; { // every pair that meets
		a, b := local.Buckets[x], peer.Buckets[y]
		both := UnionStarts(a, b)
		d.LocalIsCoarser = d.LocalIsCoarser || len(both) > len(a)
		d.PeerIsCoarser = d.PeerIsCoarser || len(both) > len(b)
		ex, ey := local.Range(x).End, peer.Range(y).End
		if ex <= ey {
			x++
		}
		if ey <= ex {
			y++
		}
	}
	return d, true
}
