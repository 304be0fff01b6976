// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"

	"georep/core/pb"
)

// Bootstrap is a [bootstrap.Planner] that speaks georep.proto.
type Bootstrap struct{}

// NewBootstrap makes the machine of one (segment, remote).
func NewBootstrap(c *pb.BootstrapConfig) (*Bootstrap, error) { return &Bootstrap{}, nil }

// Step takes one event.
func (b *Bootstrap) Step(e *pb.BootstrapEvent) error { return fmt.Errorf("%w: not yet", ErrConfig) }

// Ready returns what there is to do.
func (b *Bootstrap) Ready() (*pb.BootstrapResult, error) {
	return &pb.BootstrapResult{WakeAtMillis: -1}, nil
}

// Status returns what status calls show.
func (b *Bootstrap) Status() *pb.BootstrapStatus { return &pb.BootstrapStatus{} }

// ChooseStart says where a remote starts.
func ChooseStart(q *pb.StartQuery) (*pb.StartChoice, error) {
	return nil, fmt.Errorf("%w: not yet", ErrConfig)
}

// PlanReset says what moving cursors would do.
func PlanReset(r *pb.ResetRequest) (*pb.ResetPlan, error) {
	return nil, fmt.Errorf("%w: not yet", ErrConfig)
}
