// SPDX-License-Identifier: Apache-2.0

// Package peer makes and judges the states that clusters exchange about a topic
// before one of them writes to the other.
//
//	Pulsar's metadata record ──BuildState──► PeerState ═══ exchange ═══► remote's PeerState
//	     (DAG, properties)                      │                            │
//	                                            └──────────► Check ◄─────────┘
//	                                       supported · unsupported · incompatible
//
// Nothing is written to a remote that Check does not call supported:
// unsupported means that the remote can not take replicated entries of this
// topic (now), incompatible that the two must not write to each other as they
// are. All functions are pure and may be called from any thread.
//
// Source: PIP-495, "Peer exchange"; profiles and buckets PIP-486.
package peer
