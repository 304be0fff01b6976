// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"errors"
	"fmt"

	"georep/core/layout"
)

// ErrConfig marks a configuration that no machine is made from.
var ErrConfig = errors.New("converge: bad configuration")

// Config is fixed for a machine's life, but for the caps. Times are milliseconds.
type Config struct {
	Cluster           string      // our own
	Caps              layout.Caps // our own; see [Machine.SetCaps]
	AntiEntropyMillis int64       // a peer that knows everything is told again so often
	RetryFirstMillis  int64       // pause after a first failure; doubles
	RetryMaxMillis    int64       // longest pause between two tries
	GrowWaitMillis    int64       // a new leader's splits, own and folded, wait so long for peers at most
	AnswerMillis      int64       // a push that is not folded in after so long is answered "busy"
	MarkMillis        int64       // life of a manual mark
}

// DefaultConfig returns what the broker plugin uses where nothing else is configured.
func DefaultConfig(cluster string) Config {
	return Config{
		Cluster: cluster, Caps: layout.Caps{MaxSegments: 64, MaxBuckets: 64},
		AntiEntropyMillis: 60_000, RetryFirstMillis: 500, RetryMaxMillis: 60_000,
		GrowWaitMillis: 60_000, AnswerMillis: 20_000, MarkMillis: 24 * 3_600_000,
	}
}

func (c *Config) check() error {
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"anti-entropy", c.AntiEntropyMillis}, {"retry first", c.RetryFirstMillis}, {"retry max", c.RetryMaxMillis},
		{"grow wait", c.GrowWaitMillis}, {"answer", c.AnswerMillis}, {"mark", c.MarkMillis},
		{"max segments", int64(c.Caps.MaxSegments)}, {"max buckets", int64(c.Caps.MaxBuckets)},
	} {
		if v.n < 1 {
			return fmt.Errorf("%w: %s: %d is not positive", ErrConfig, v.name, v.n)
		}
	}
	if c.Cluster == "" || len(c.Cluster) > MaxName {
		return fmt.Errorf("%w: cluster: %d bytes", ErrConfig, len(c.Cluster))
	}
	return nil
}

// Mark is a manual merge or rebucket-down that waits for the peers. It is durable
// with the topic. Either Boundary or Starts is set.
type Mark struct {
	Boundary    uint16   // merge the segments that meet here
	Segment     uint16   // start of the segment whose buckets are to go
	Starts      []uint16 // the bucket starts that are to go
	UntilMillis int64    // it expires then
}

// Local is what the own metadata store holds of the topic.
type Local struct {
	Layout   *layout.Layout
	Instance string
	Term     uint64 // of the last leader that has written its own; 0: none has
	Splits   layout.SplitLog
	Marks    []Mark
}

// Mutation is one compare-and-set on the topic's record: all of it or nothing. The
// record has to have the epoch and the term given: a leader that does not know yet
// that there is another one takes nothing of what that one has written back. The
// driver looks before it seals anything, and makes the children and their cursors
// before it publishes the layout.
type Mutation struct {
	Expect uint64      // epoch that the operations were made for
	Term   uint64      // of the leader that made them
	Ops    []layout.Op // none: only the properties change, and the epoch stays
	Splits layout.SplitLog
	Marks  []Mark
	Why    Why
}

// Why names what a mutation is for.
type Why uint8

// Reasons of mutations.
const (
	WhyFold   Why = 1 // a peer has boundaries that are missing here
	WhyMerge  Why = 2 // everybody agrees
	WhyPolicy Why = 3 // the local policy or an operator grows the layout
	WhyMark   Why = 4 // a manual mark is added
	WhyUnmark Why = 5 // marks are applied, cancelled or expired
)

// String returns the reason as status and logs show it.
func (w Why) String() string {
	names := [...]string{"", "fold", "merge", "policy", "mark", "unmark"}
	if int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("why(%d)", uint8(w))
}

// Code says how a push or a wish ended.
type Code uint8

// Codes of answers and verdicts. Append only.
const (
	OK         Code = 1 // push: folded in and durable; wish: done
	Marked     Code = 2 // wish: noted, waits for the peers
	NotLeader  Code = 3 // ask the controller leader
	Busy       Code = 4 // another change is under way: try again
	Waiting    Code = 5 // a new leader waits for its peers: try again
	Capped     Code = 6 // beyond the effective caps
	NoSiblings Code = 7 // the segments are not halves of one split
	NoSegment  Code = 8 // not in the layout, or not active
	BadState   Code = 9 // the state breaks a rule; nothing was changed
	NotMember  Code = 10
	NoRing     Code = 11 // legacy segments, or routing profiles that differ
	Failed     Code = 12 // the store refused
	Stale      Code = 13 // a newer state of the same cluster is known
	NoTopic    Code = 14 // push: there is no such scalable topic here, or it is not replicated
)

// String returns the code in kebab-case, as the exchange's JSON has it.
func (c Code) String() string {
	names := [...]string{"", "ok", "marked", "not-leader", "busy", "waiting-for-peers", "cap", "not-siblings",
		"no-segment", "bad-state", "not-a-member", "no-ring", "failed", "stale",
		"no-topic"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("code(%d)", uint8(c))
}

// ActionKind says what the driver has to do.
type ActionKind uint8

// Kinds of actions.
const (
	Push    ActionKind = 1 // send State to Peer; then Answered or PushFailed with Token, within twice the anti-entropy
	Answer  ActionKind = 2 // answer the push Token of Peer with Code, Text and State
	Mutate  ActionKind = 3 // change the own record; then Committed or MutationFailed with Token
	Verdict ActionKind = 4 // the wish Token ended with Code and Text
)

// Action is one thing to do, in order.
type Action struct {
	Kind     ActionKind
	Peer     string
	Token    uint64
	State    *State // nil in an Answer where there is none to tell
	Mutation *Mutation
	Code     Code
	Text     string
}
