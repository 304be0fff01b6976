// SPDX-License-Identifier: Apache-2.0

// Package view prints for people what the plugin's admin calls answer in JSON:
// the replication of topics and their parked entries, no line longer than
// [Width] columns. It asks nobody and keeps nothing; every function may be
// called by any goroutine.
package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrJSON marks an answer that is not what the plugin's call gives; it is wrapped.
var ErrJSON = errors.New("view: unexpected answer")

// Status is what the plugin says of one topic's replication, or, where
// Namespace is not empty, of the topics of a namespace.
type Status struct {
	Namespace string
	Topics    []*Topic
}

// Topic is one topic, as the cluster that was asked sees it.
type Topic struct {
	Topic    string
	Cluster  string
	Epoch    Number
	Remotes  map[string]TopicRemote
	Denied   map[string]string // remotes that a pattern of the namespace keeps it from, and which
	Trouble  string
	Segments []*Segment
	Budgets  map[string]*Budget // by broker

	Convergence *Convergence // nil: the layout does not follow others'
}

// TopicRemote is what holds for all segments towards a remote.
type TopicRemote struct {
	Generation Number
	Paused     bool
}

// Segment is one segment of its layout.
type Segment struct {
	ID      Number
	Range   string // "8000-ffff"
	State   string // ACTIVE, SEALED
	Legacy  string
	Error   string // why its owner could not be asked
	Remotes map[string]*Remote
}

// Remote is the replication of a segment to one remote.
type Remote struct {
	RemoteStatus    string
	Backlog         Number
	DelaySeconds    Number
	Stalled         bool
	Trouble         string
	ThrottledMillis Number // for how long it has waited for the budget
	GateOpen        bool
	Window          *Window
	Bootstrap       *Start // where it began, or why it has not yet
}

// Window is georep.v1.WindowStatus, as far as it is printed.
type Window struct {
	State, Reason string
	Parked        []struct {
		Position struct{ Ledger, Entry Number }
		Reason   string
	}
	ParkedTotal Number
	Counters    []struct {
		Name  string
		Value Number
	}
}

// Budget is georep.v1.BudgetStatus, as far as it is printed.
type Budget struct {
	Config                      struct{ BurstBytes, Slots Number }
	Tokens, SlotsInUse, Waiting Number
	InFlightBytes               Number
}

// ParseStatus reads the answer of the status call. Errors wrap [ErrJSON].
func ParseStatus(answer []byte) (*Status, error) {
	var both struct {
		Status
		Topic
	}
	if err := json.Unmarshal(answer, &both.Status); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if both.Namespace != "" {
		return &both.Status, nil
	}
	if err := json.Unmarshal(answer, &both.Topic); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if both.Topic.Topic == "" {
		return nil, fmt.Errorf("%w: neither namespace nor topic", ErrJSON)
	}
	return &Status{Topics: []*Topic{&both.Topic}}, nil
}

// State is what the replication of a segment to a remote comes to, in one word:
// the window's state, with what the segment's own state and its progress say.
func (s *Segment) state(r *Remote) string {
	state := "starting"
	if r.Window != nil {
		state = r.Window.State
	}
	switch {
	case state != "replicating" && state != "starting":
		return state
	case r.Stalled:
		return "stalled"
	case s.State == "ACTIVE" || state == "starting": // behind a closed gate even an empty segment is not drained
		return state
	case r.Backlog > 0:
		return "draining"
	}
	return "drained"
}

// well says whether nobody has to look after a replication in this state.
func well(state string) bool {
	return slices.Contains([]string{"replicating", "starting", "draining", "drained"}, state)
}

func (w *Window) counter(name string) int64 {
	if w != nil {
		for _, c := range w.Counters {
			if c.Name == name {
				return int64(c.Value)
			}
		}
	}
	return 0
}

// totals are what a summary counts.
type totals struct {
	states          map[string]int
	backlog, parked int64
	hidden          int // drained segments that are not printed
	errors          int
}

// Print writes the status as tables. Segments that are sealed and drained are
// only counted unless all is set.
func (s *Status) Print(all bool) string {
	var b strings.Builder
	if len(s.Topics) == 0 {
		fmt.Fprintf(&b, "%s: no scalable topics\n", s.Namespace)
	}
	sum := totals{states: map[string]int{}}
	budgets := map[string]*Budget{}
	for _, t := range s.Topics {
		t.appendTo(&b, all, &sum)
		b.WriteByte('\n')
		maps.Copy(budgets, t.Budgets)
	}
	for _, broker := range slices.Sorted(maps.Keys(budgets)) {
		u := budgets[broker]
		fmt.Fprintf(&b, "budget of %s: %s of %s left, %d of %d slots in use, %d waiting, %s in flight\n", broker,
			Bytes(int64(u.Tokens)), Bytes(int64(u.Config.BurstBytes)), u.SlotsInUse, u.Config.Slots, u.Waiting,
			Bytes(int64(u.InFlightBytes)))
	}
	if sum.hidden > 0 {
		fmt.Fprintf(&b, "not shown: %d sealed and drained (--all)\n", sum.hidden)
	}
	var states []string
	for _, state := range slices.Sorted(maps.Keys(sum.states)) {
		states = append(states, fmt.Sprintf("%d %s", sum.states[state], state))
	}
	if sum.errors > 0 {
		states = append(states, fmt.Sprintf("%d not known", sum.errors))
	}
	if len(states) > 0 {
		fmt.Fprintf(&b, "in all: %s; backlog %d, parked %d\n", strings.Join(states, ", "), sum.backlog, sum.parked)
	}
	return b.String()
}

// Trouble counts what somebody should look at: replications that do not run,
// parked entries, starts that are not known, segments that could not be asked,
// topics whose policies are not in order.
func (s *Status) Trouble() int {
	n := 0
	for _, t := range s.Topics {
		if t.Trouble != "" {
			n++
		}
		n += t.Convergence.troubles()
		for _, seg := range t.Segments {
			if seg.Error != "" {
				n++
			}
			for _, r := range seg.Remotes {
				if !well(seg.state(r)) || r.Window != nil && r.Window.ParkedTotal > 0 ||
					r.Bootstrap != nil && r.Bootstrap.Why != "" {
					n++
				}
			}
		}
	}
	return n
}
