// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"georep/benchmarks/row"
	"georep/core/keyhash"
	"georep/core/layout"
)

// What join and plan may take at the largest size, and how evenly they grow: the time
// per boundary at 256 is at least so much of that at 4,096.
const (
	joinLimit    = time.Millisecond
	linearTarget = 0.75
)

// fold is a peer's layout that is folded into the local one.
type fold struct {
	local       *layout.Layout
	ours, peers layout.Shape
	boundaries  int
}

// newFold makes two unrelated layouts: of the boundaries, drawn at random, each has
// one half, and they share none but 0. Every segment has a list of bucket starts of
// its own, so that no union is like another.
func newFold(boundaries int) (*fold, error) {
	r := rand.New(rand.NewPCG(495, uint64(boundaries)))
	all := []uint16{}
	for _, at := range r.Perm(1<<16 - 1)[:boundaries] {
		all = append(all, uint16(at+1))
	}
	f := &fold{ours: shape(r, all[:boundaries/2], 4), peers: shape(r, all[boundaries/2:], 8), boundaries: boundaries}
	segs := make([]layout.Segment, f.ours.Len())
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i), Range: f.ours.Range(i), State: layout.Active, Profile: f.ours.Profile,
			Buckets: f.ours.Buckets[i], BucketsKnown: true}
	}
	var err error
	if f.local, err = layout.New(1, segs); err != nil {
		return nil, err
	}
	return f, f.check()
}

func shape(r *rand.Rand, starts []uint16, buckets int) layout.Shape {
	s := layout.Shape{Profile: keyhash.PIP486, Starts: append([]uint16{0}, starts...)}
	slices.Sort(s.Starts)
	for range s.Starts {
		var list []uint16
		for k := 1; k < buckets; k++ {
			list = append(list, uint16(k<<16/buckets-r.IntN(1<<12)))
		}
		s.Buckets = append(s.Buckets, list)
	}
	return s
}

// check does it once, and looks whether it is what it should be.
func (f *fold) check() error {
	target, err := layout.Join(f.ours, f.peers)
	if err != nil {
		return err
	}
	if target.Len() != f.boundaries+1 || !target.Covers(f.ours) || !target.Covers(f.peers) {
		return fmt.Errorf("the join has %d segments of %d", target.Len(), f.boundaries+1)
	}
	ops, err := layout.Plan(f.local, target)
	if err != nil {
		return err
	}
	after, err := layout.Apply(f.local, ops, uint64(f.ours.Len()), 0)
	if err != nil {
		return err
	}
	if got, err := layout.ShapeOf(after); err != nil || !got.Equal(target) {
		return fmt.Errorf("the plan leads to another layout than the join (%w)", err)
	}
	return nil
}

func (f *fold) run() error {
	target, err := layout.Join(f.ours, f.peers)
	if err != nil {
		return err
	}
	_, err = layout.Plan(f.local, target)
	return err
}

// layoutRows measures what following a peer's layout takes.
func layoutRows(s *settings) ([]row.Row, error) {
	var rows []row.Row
	for _, n := range []int{16, 256, 4096} {
		name := fmt.Sprintf("e/join-plan/%d", n)
		if !s.wants(name) {
			continue
		}
		f, err := newFold(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result, err := s.Limit(f.run, joinLimit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r := result.Row(name, "ms", 1e6, "limit")
		if n == 4096 {
			r.Target = row.Of(1.0)
		}
		rows = append(rows, r)
	}
	const name, small, times = "e/join-plan/growth", 256, 16
	if !s.wants(name) {
		return rows, nil
	}
	few, err := newFold(small)
	if err != nil {
		return nil, err
	}
	many, err := newFold(small * times)
	if err != nil {
		return nil, err
	}
	result, err := s.Run(many.run, func() error {
		for range times {
			if err := few.run(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := result.Row(name, "ns/boundary", small*times, "the same at 256 boundaries")
	r.Target, r.Note = row.Of(linearTarget), "at 4,096"
	return append(rows, r), nil
}
