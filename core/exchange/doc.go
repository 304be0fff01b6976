// SPDX-License-Identifier: Apache-2.0

// Package exchange carries the states of many topics between two clusters in few
// calls. One broker has one [Sender] and one [Answerer]; the topics' machines
// (core/converge) stand at both ends:
//
//	topic ─ Push ─►┐                                   ┌─ Deliver ─► topic
//	topic ─ Push ─►│ Sender ── Call ~~~~~► Receive ── Answerer       ...
//	topic ─ Push ─►┘   ▲                               ▲
//	topic ◄─ Outcome ──┴── Returned ◄~~~~~~ Respond ───┴─ Replied ── topic
//
// # Calls
//
// The brokers of one cluster lead different topics. A call goes to any broker of
// the cluster, which answers "not-leader" and names the leader for a topic that is
// led elsewhere; the sender passes that push on, once, and remembers the way. So
// calls settle down to one for each pair of brokers. At most one call is under way
// to each broker; what comes meanwhile waits for the next one. A push waits so long
// for others as the configuration says, then as many as fit go together, first come
// first served; a state that is larger than a call may be goes alone.
//
// # Newer pushes
//
// Of one (cluster, topic) only the newest push counts. It takes the place in the
// queue of one that waits; one under way goes on, and its outcome is dropped.
// Nobody is told of a token that was replaced: a topic's machine pushes again to the
// same peer only after the outcome, or after it has forgotten that push itself (a
// new leader, a new machine). An old outcome could even be taken for the new one's,
// because a new machine counts its tokens from one.
//
// What waits is thereby bounded by clusters times topics, and what is under way by
// brokers times the states of a call.
//
// The types do no I/O, read no clock and are not safe for concurrent use. S is the
// driver's form of a state, which this package never looks into.
package exchange
