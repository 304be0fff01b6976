// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"fmt"

	"georep/core/pb"
)

// Gone returns the streams that a remote may forget: those of this cluster whose
// topic instance or segment exists no more. status lists what the remote holds,
// state is what this cluster's record says; keys come back in the status's order.
//
// The state must have been read after the status was asked for. Then every
// stream of the status began before the reading, so a segment that the state
// does not have is not a younger one but has left the layout, and a segment
// leaves only when everything in it is replicated or past its TTL: it sends
// nothing any more. Instances and segment ids never come back.
//
// Only the origin can answer this, and it needs nothing of the remote but the
// way there: it works for a remote that replicates nothing back.
//
// Errors wrap [ErrMessage] or layout.ErrInvalid and name the field; nothing is
// gone then.
func Gone(state *pb.PeerState, status *pb.DedupStatus) (*pb.OriginKeys, error) {
	switch {
	case state.GetCluster() == "":
		return nil, fmt.Errorf("%w: cluster: absent", ErrMessage)
	case state.GetInstance() == "":
		return nil, fmt.Errorf("%w: instance: absent", ErrMessage)
	}
	l, err := ToLayout(state.GetLayout())
	if err != nil {
		return nil, err
	}
	out := new(pb.OriginKeys)
	for _, e := range status.GetEntries() {
		k := e.GetKey()
		if k.GetCluster() != state.GetCluster() {
			continue
		}
		if k.GetInstance() == state.GetInstance() && l.Get(k.GetSegment()) != nil {
			continue
		}
		out.Keys = append(out.Keys, k)
	}
	return out, nil
}
