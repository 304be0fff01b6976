// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"slices"
	"strings"

	"georep/core/converge"
	"georep/core/internal/mutant"
)

// Push is one topic's state on its way to one peer cluster.
type Push[S any] struct {
	Cluster, Topic string
	Token          uint64 // the topic's machine's
	State          S
	Bytes          int // size of the state
}

// Call is to be made to a broker of the cluster: to Address, or to any of them where
// that is empty. Address was said by the cluster; the driver calls it only if it is
// a broker of that cluster. Then [Sender.Returned] or [Sender.Failed].
type Call[S any] struct {
	ID               uint64
	Cluster, Address string
	States           []S
}

// Answer is what a topic's controller leader says to one state. Leader, with
// NotLeader, is the address of the broker that leads the topic, empty if unknown.
type Answer[S any] struct {
	Topic        string
	Code         converge.Code
	Text, Leader string
	State        S // the answering cluster's own; the zero value where it tells none
	Bytes        int
}

// Response answers a call: one answer for each state, in their order.
type Response[S any] struct {
	Version uint32
	Cluster string
	Answers []Answer[S]
}

// Outcome is how a push ended, for the topic's machine. Answer nil: it failed.
type Outcome[S any] struct {
	Cluster, Topic string
	Token          uint64
	Answer         *Answer[S]
	Failure        Failure
}

// Failure says why a call has no answer. Unsupported: the remote has no such call.
// Jitter, 0..1000, is the driver's random number.
type Failure struct {
	Unsupported bool
	Text        string
	Jitter      int
}

// SenderAction is one thing to do; exactly one of the fields is set.
type SenderAction[S any] struct {
	Call    *Call[S]
	Outcome *Outcome[S]
}

// Sender makes calls of pushes. See the package.
type Sender[S any] struct {
	cfg     Config
	now     int64
	calls   uint64 // ids given away
	peers   []*peer[S]
	actions []SenderAction[S]
}

// peer is a cluster that pushes go to.
type peer[S any] struct {
	name    string
	newest  map[string]*push[S] // by topic: waiting or under way, never one that was replaced
	leaders map[string]string   // by topic: the broker that leads it
	lanes   []*lane[S]          // by address
	count   Counters
}

// lane is a broker of a peer cluster; address "" is any of them.
type lane[S any] struct {
	address string
	queue   []*push[S]
	call    uint64 // under way; 0: none
	sent    []*push[S]
	since   int64 // when the call began
}

type push[S any] struct {
	Push[S]
	since    int64 // when it was asked for, or the one whose place it took
	underWay bool
	moved    bool // was passed on to the leader
	replaced bool // nobody waits for its outcome
}

// NewSender returns a sender without work. Errors wrap [ErrConfig].
func NewSender[S any](cfg Config) (*Sender[S], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Sender[S]{cfg: cfg}, nil
}

// Ready returns what there is to do, in order, and forgets it. The slice is the caller's.
func (s *Sender[S]) Ready() []SenderAction[S] {
	out := s.actions
	s.actions = nil
	return out
}

// Push asks for a call with this state. It ends with an [Outcome], unless a newer
// push of the same cluster and topic comes first, or [Sender.Forget].
func (s *Sender[S]) Push(now int64, p Push[S]) {
	s.at(now)
	to := s.peer(p.Cluster)
	if old := to.newest[p.Topic]; old != nil && !old.underWay {
		old.Push = p
		to.count.Replaced++
	} else {
		if old != nil {
			old.replaced = true
			to.count.Replaced++
		}
		next := &push[S]{Push: p, since: s.now}
		to.newest[p.Topic] = next
		to.lane(to.leaders[p.Topic]).add(next)
	}
	s.settle()
}

// Returned takes the response to a call. One that does not fit the call is a failure
// of all its pushes: whose answer is whose would be a guess.
func (s *Sender[S]) Returned(now int64, call uint64, r *Response[S]) {
	s.at(now)
	to, from := s.find(call)
	if from == nil {
		return // given up
	}
	if err := r.check(to.name, from.sent); err != nil {
		s.fail(to, from, Failure{Text: err.Error()})
		s.settle()
		return
	}
	to.count.Calls++
	sent := from.end()
	for i, p := range sent {
		a := &r.Answers[i]
		if mutant.On(mutant.AnswerMisrouted) {
			a = &r.Answers[(i+1)%len(sent)]
		}
		if p.replaced && !mutant.On(mutant.ReplacedAnswered) {
			continue
		}
		if a.Code == converge.NotLeader && to.lead(p.Topic, a.Leader, from.address) && !p.moved {
			p.moved, p.underWay = true, false
			to.lane(a.Leader).add(p)
			to.count.Moved++
			continue
		}
		s.end(to, p, Outcome[S]{Answer: a})
	}
	s.settle()
}

// Failed takes a call that has no answer.
func (s *Sender[S]) Failed(now int64, call uint64, f Failure) {
	s.at(now)
	if to, from := s.find(call); from != nil {
		s.fail(to, from, f)
	}
	s.settle()
}

// Forget drops what the topic has pushed: it is closed here, or led elsewhere.
func (s *Sender[S]) Forget(now int64, topic string) {
	s.at(now)
	for _, to := range s.peers {
		delete(to.leaders, topic)
		p := to.newest[topic]
		if p == nil {
			continue
		}
		delete(to.newest, topic)
		p.replaced = true
		if !p.underWay {
			for _, l := range to.lanes {
				l.queue = slices.DeleteFunc(l.queue, func(o *push[S]) bool { return o == p })
			}
		}
	}
	s.settle()
}

// Tick lets time pass. Call it at [Sender.WakeAt] at the latest.
func (s *Sender[S]) Tick(now int64) {
	s.at(now)
	s.settle()
}

// WakeAt returns when [Sender.Tick] has something to do, -1 for never.
func (s *Sender[S]) WakeAt() int64 {
	next := int64(-1)
	for _, to := range s.peers {
		for _, l := range to.lanes {
			if at := s.due(l); at >= 0 && (next < 0 || at < next) {
				next = at
			}
		}
	}
	return next
}

// due returns when something happens in the lane by itself: its call is given up, or
// the next one begins.
func (s *Sender[S]) due(l *lane[S]) int64 {
	switch {
	case l.call != 0:
		return l.since + s.cfg.CallMillis
	case len(l.queue) > 0:
		return l.queue[0].since + s.cfg.GatherMillis
	}
	return -1
}

func (s *Sender[S]) at(now int64) { s.now = max(s.now, now) }

// settle gives up calls, begins those that are due and drops lanes without work.
func (s *Sender[S]) settle() {
	for _, to := range s.peers {
		for _, l := range to.lanes {
			if l.call != 0 && s.now >= s.due(l) {
				s.fail(to, l, Failure{Text: "no answer in time"})
			}
		}
		for _, l := range to.lanes {
			if l.call == 0 && len(l.queue) > 0 && (s.now >= s.due(l) || l.take(&s.cfg) < len(l.queue) ||
				len(l.queue) == s.cfg.MaxStates) {
				s.begin(to, l)
			}
		}
		to.lanes = slices.DeleteFunc(to.lanes, func(l *lane[S]) bool { return l.call == 0 && len(l.queue) == 0 })
	}
}

// begin makes a call of what has waited longest.
func (s *Sender[S]) begin(to *peer[S], l *lane[S]) {
	n := l.take(&s.cfg)
	s.calls++
	l.call, l.since = s.calls, s.now
	l.sent, l.queue = slices.Clone(l.queue[:n]), slices.Delete(l.queue, 0, n)
	states := make([]S, n)
	for i, p := range l.sent {
		p.underWay = true
		states[i] = p.State
	}
	to.count.States += uint64(n)
	s.actions = append(s.actions, SenderAction[S]{Call: &Call[S]{ID: l.call, Cluster: to.name, Address: l.address,
		States: states}})
}

// fail ends a call without an answer. A broker that does not answer is not the way
// to any leader until one is named again.
func (s *Sender[S]) fail(to *peer[S], l *lane[S], f Failure) {
	to.count.Failures++
	for _, p := range l.end() {
		if l.address != "" && to.leaders[p.Topic] == l.address {
			delete(to.leaders, p.Topic)
		}
		if !p.replaced {
			s.end(to, p, Outcome[S]{Failure: f})
		}
	}
}

// end tells the topic how its push ended.
func (s *Sender[S]) end(to *peer[S], p *push[S], o Outcome[S]) {
	if to.newest[p.Topic] == p {
		delete(to.newest, p.Topic)
	}
	o.Cluster, o.Topic, o.Token = p.Cluster, p.Topic, p.Token
	s.actions = append(s.actions, SenderAction[S]{Outcome: &o})
}

// find returns the lane of a call under way.
func (s *Sender[S]) find(call uint64) (*peer[S], *lane[S]) {
	for _, to := range s.peers {
		for _, l := range to.lanes {
			if call != 0 && l.call == call {
				return to, l
			}
		}
	}
	return nil, nil
}

func (s *Sender[S]) peer(name string) *peer[S] {
	i, found := slices.BinarySearchFunc(s.peers, name, func(p *peer[S], n string) int { return strings.Compare(p.name, n) })
	if !found {
		s.peers = slices.Insert(s.peers, i, &peer[S]{name: name, newest: map[string]*push[S]{}, leaders: map[string]string{}})
	}
	return s.peers[i]
}

func (p *peer[S]) lane(address string) *lane[S] {
	i, found := slices.BinarySearchFunc(p.lanes, address, func(l *lane[S], a string) int { return strings.Compare(l.address, a) })
	if !found {
		p.lanes = slices.Insert(p.lanes, i, &lane[S]{address: address})
	}
	return p.lanes[i]
}

// lead notes who leads the topic, as the broker at from says. It reports whether
// that is another one that may be called.
func (p *peer[S]) lead(topic, leader, from string) bool {
	if leader == from || checkName("leader", leader) != nil || len(p.lanes) >= maxLanes {
		delete(p.leaders, topic)
		return false
	}
	p.leaders[topic] = leader
	return true
}

// add queues a push behind those that have waited longer.
func (l *lane[S]) add(p *push[S]) {
	i := len(l.queue)
	for i > 0 && l.queue[i-1].since > p.since {
		i--
	}
	l.queue = slices.Insert(l.queue, i, p)
}

// take returns how many of the queue go into the next call: at least one.
func (l *lane[S]) take(cfg *Config) int {
	bytes := 0
	for i, p := range l.queue {
		if bytes += p.Bytes; i == cfg.MaxStates || i > 0 && bytes > cfg.MaxBytes {
			return i
		}
	}
	return len(l.queue)
}

// end takes the call out of the lane and returns what it carried.
func (l *lane[S]) end() []*push[S] {
	sent := l.sent
	l.call, l.sent = 0, nil
	return sent
}
