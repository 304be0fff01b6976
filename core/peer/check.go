// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"fmt"

	"georep/core/layout"
	"georep/core/pb"
)

// ProtocolVersion is raised when peers of the version before could not work
// with what a cluster writes or says now.
const ProtocolVersion = 1

// Reasons of a check, as they are exchanged and shown.
const (
	ReasonNoState         = "no-state"         // the remote's plugin has not answered for this topic
	ReasonProtocolVersion = "protocol-version" // it speaks another version
	ReasonSameCluster     = "same-cluster"     // the remote is this cluster
	ReasonTopic           = "topic"            // the state is about another topic
	ReasonNoInstance      = "no-instance"      // its topic instance has no id yet
	ReasonLayout          = "layout"           // its layout is absent or breaks a rule
	ReasonLegacy          = "legacy-segments"  // it still runs on segments that route by modulo
	ReasonProfile         = "profile"          // its active segments route keys otherwise
	ReasonBucketsUnknown  = "buckets-unknown"  // the bucket list of an active segment is not known
	ReasonLocalState      = "local-state"      // this cluster's own state is not complete
)

// Check says whether the cluster of local may write to that of remote. It never
// fails: what can not be understood is a verdict too. A nil remote is one that
// has not answered.
//
// The remote runs the same check on the state that a handshake brings, with the
// sides as they are here: Prepare says that its record lacks nothing but what its
// leader can write. So a topic that only receives, in a namespace that names no
// remote, is made ready by the first cluster that may write to it, and no caller
// that may not write makes it write anything.
func Check(local, remote *pb.PeerState) *pb.PeerCheck {
	switch {
	case remote.GetProtocolVersion() == 0:
		return unsupported(ReasonNoState, "the remote has no state for this topic: is the plugin switched on there?")
	case remote.GetProtocolVersion() != local.GetProtocolVersion():
		return incompatible(ReasonProtocolVersion, "the remote speaks protocol version %d (plugin %q), this cluster %d",
			remote.GetProtocolVersion(), remote.GetPluginVersion(), local.GetProtocolVersion())
	case local.GetCluster() == "" || local.GetInstance() == "":
		return unsupported(ReasonLocalState, "this cluster's own state has no cluster name or topic instance id yet")
	case remote.GetCluster() == local.GetCluster():
		return incompatible(ReasonSameCluster, "the remote calls itself %q, as this cluster does", remote.GetCluster())
	case remote.GetTopic() != local.GetTopic():
		return incompatible(ReasonTopic, "the remote's state is about %q, not %q", remote.GetTopic(), local.GetTopic())
	}
	dst, err := ToLayout(remote.GetLayout())
	if err != nil {
		return incompatible(ReasonLayout, "the remote's layout: %v", err)
	}
	src, err := ToLayout(local.GetLayout())
	if err != nil {
		return unsupported(ReasonLocalState, "this cluster's layout: %v", err)
	}
	c := checkLayouts(src, dst)
	if remote.GetInstance() == "" && (c.GetPrepare() || c.GetVerdict() == pb.PeerVerdict_PEER_VERDICT_SUPPORTED) {
		c = unsupported(ReasonNoInstance, "the remote's topic has no instance id yet")
		c.Prepare = true
	}
	return c
}

func checkLayouts(src, dst *layout.Layout) *pb.PeerCheck {
	for _, s := range dst.Active() {
		if s.IsLegacy() {
			return unsupported(ReasonLegacy, "the remote's active segment %d is the legacy topic %s", s.ID, s.Legacy)
		}
	}
	for _, s := range src.Active() {
		if s.IsLegacy() || s.Profile == dst.Profile() {
			continue
		}
		return incompatible(ReasonProfile, "segment %d here routes keys by %s, the remote by %s",
			s.ID, s.Profile, dst.Profile())
	}
	for _, s := range dst.Active() {
		if !s.BucketsKnown {
			c := unsupported(ReasonBucketsUnknown, "the bucket list of the remote's segment %d is not known", s.ID)
			c.Prepare = true
			return c
		}
	}
	return &pb.PeerCheck{Verdict: pb.PeerVerdict_PEER_VERDICT_SUPPORTED}
}

func unsupported(reason, format string, args ...any) *pb.PeerCheck {
	return &pb.PeerCheck{Verdict: pb.PeerVerdict_PEER_VERDICT_UNSUPPORTED, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

func incompatible(reason, format string, args ...any) *pb.PeerCheck {
	return &pb.PeerCheck{Verdict: pb.PeerVerdict_PEER_VERDICT_INCOMPATIBLE, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
