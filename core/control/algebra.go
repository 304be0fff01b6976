// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"

	"georep/core/layout"
	"georep/core/pb"
	"georep/core/peer"
)

// Join returns the shape that has every boundary of all layouts. Errors name the
// layout by its index.
func Join(r *pb.JoinRequest) (*pb.Shape, error) {
	_, out, err := joined(r.GetLayouts(), "layouts")
	if err != nil {
		return nil, err
	}
	return fromShape(out), nil
}

// Plan returns what has to change in the local layout. A target beyond the caps is
// an error that wraps [layout.ErrCap].
func Plan(r *pb.PlanRequest) (*pb.PlanResponse, error) {
	first, target, err := joined(append([]*pb.Layout{r.GetLocal()}, r.GetPeers()...), "local, peers")
	if err != nil {
		return nil, err
	}
	local, err := layout.ShapeOf(first)
	if err != nil {
		return nil, err
	}
	if err := toCaps(r.GetCaps()).Allow(local, target); err != nil {
		return nil, err
	}
	ops, err := layout.Plan(first, target)
	if err != nil {
		return nil, err
	}
	return &pb.PlanResponse{Target: fromShape(target), Ops: fromOps(ops)}, nil
}

// Diff returns where two layouts differ.
func Diff(r *pb.DiffRequest) (*pb.DiffResponse, error) {
	_, local, err := joined([]*pb.Layout{r.GetLocal()}, "local")
	if err != nil {
		return nil, err
	}
	_, other, err := joined([]*pb.Layout{r.GetPeer()}, "peer")
	if err != nil {
		return nil, err
	}
	diverged, converged, err := layout.Diff(local, other)
	if err != nil {
		return nil, err
	}
	return &pb.DiffResponse{Diverged: fromDiverged(diverged), Converged: uint32(converged)}, nil
}

// joined returns the first layout, and the join of all.
func joined(all []*pb.Layout, field string) (first *layout.Layout, out layout.Shape, err error) {
	if len(all) == 0 {
		return nil, out, fmt.Errorf("%w: %s: empty", ErrConfig, field)
	}
	for i, m := range all {
		l, err := peer.ToLayout(m)
		if err != nil {
			return nil, out, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		s, err := layout.ShapeOf(l)
		if err == nil && i > 0 {
			s, err = layout.Join(out, s)
		}
		if err != nil {
			return nil, out, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		if out = s; i == 0 {
			first = l
		}
	}
	return first, out, nil
}
