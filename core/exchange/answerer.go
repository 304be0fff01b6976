// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"slices"

	"georep/core/converge"
	"georep/core/internal/mutant"
)

// ErrBusy marks a call that comes while too many others are being answered; nothing
// was done with it.
var ErrBusy = errors.New("exchange: too many calls at once")

// Request is a call of another cluster.
type Request[S any] struct {
	Version uint32
	Cluster string
	States  []Item[S]
}

// Item is one state of a request.
type Item[S any] struct {
	Topic, Cluster string // as the state names them
	State          S
	Bad            string // why the state is answered "bad-state" and kept from its topic; empty: it is not
}

// Delivery hands a received state to its topic's machine, which answers with Token.
type Delivery[S any] struct {
	Topic string
	Token uint64
	State S
}

// AnswererAction is one thing to do; exactly one of the fields is set.
type AnswererAction[S any] struct {
	Deliver *Delivery[S]
	Respond *Respond[S]
}

// Respond answers the driver's call.
type Respond[S any] struct {
	Call     uint64
	Cluster  string // the caller's
	Response *Response[S]
}

// Answerer hands what other clusters push to the topics, and gathers their answers.
// See the package.
type Answerer[S any] struct {
	cfg     Config
	now     int64
	tokens  uint64              // given away
	open    []*received[S]      // oldest first
	waits   map[uint64]place[S] // by token
	actions []AnswererAction[S]
}

// received is a call that is being answered.
type received[S any] struct {
	call    uint64
	cluster string
	since   int64
	tokens  []uint64 // 0: answered
	left    int      // how many are not
	bytes   int      // of the answers that are there
	answers []Answer[S]
}

type place[S any] struct {
	in *received[S]
	i  int
}

// NewAnswerer returns an answerer without work. Errors wrap [ErrConfig].
func NewAnswerer[S any](cfg Config) (*Answerer[S], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Answerer[S]{cfg: cfg, waits: map[uint64]place[S]{}}, nil
}

// Ready returns what there is to do, in order, and forgets it. The slice is the caller's.
func (a *Answerer[S]) Ready() []AnswererAction[S] {
	out := a.actions
	a.actions = nil
	return out
}

// Offer says what [Answerer.Receive] would refuse, and does nothing: a driver asks
// before it looks up whatever topics the call names.
func (a *Answerer[S]) Offer(now int64, caller string, r *Request[S]) error {
	a.at(now)
	if err := r.Check(a.cfg.Cluster, caller); err != nil {
		return err
	}
	same := 0
	for _, o := range a.open {
		if o.cluster == r.Cluster {
			same++
		}
	}
	if same >= a.cfg.MaxOpen/2 || len(a.open) >= a.cfg.MaxOpen {
		return fmt.Errorf("%w: %d, %d of them from %s", ErrBusy, len(a.open), same, r.Cluster)
	}
	return nil
}

// Receive takes a call; call is the driver's number of it. It ends with a [Respond],
// or [Answerer.Abandon]. Errors wrap [ErrRequest] or [ErrBusy], and nothing is done.
func (a *Answerer[S]) Receive(now int64, call uint64, caller string, r *Request[S]) error {
	if slices.ContainsFunc(a.open, func(o *received[S]) bool { return o.call == call }) {
		return fmt.Errorf("%w: call: %d is being answered", ErrRequest, call)
	}
	if err := a.Offer(now, caller, r); err != nil {
		return err
	}
	o := &received[S]{call: call, cluster: r.Cluster, since: a.now, tokens: make([]uint64, len(r.States)),
		answers: make([]Answer[S], len(r.States))}
	a.open = append(a.open, o)
	for i := range r.States {
		s := &r.States[i]
		o.answers[i].Topic = s.Topic
		if s.Bad != "" {
			o.answers[i].Code, o.answers[i].Text = converge.BadState, s.Bad
			continue
		}
		a.tokens++
		o.tokens[i], o.left = a.tokens, o.left+1
		a.waits[a.tokens] = place[S]{o, i}
		a.actions = append(a.actions, AnswererAction[S]{Deliver: &Delivery[S]{s.Topic, a.tokens, s.State}})
	}
	a.settle()
	return nil
}

// Replied takes a topic's answer to a delivery. One that comes too late is ignored.
func (a *Answerer[S]) Replied(now int64, token uint64, answer Answer[S]) {
	a.at(now)
	if p, waits := a.waits[token]; waits {
		if mutant.On(mutant.ReplyMisplaced) {
			p.i = slices.IndexFunc(p.in.tokens, func(t uint64) bool { return t != 0 })
			token = p.in.tokens[p.i]
		}
		a.put(p, token, answer)
	}
	a.settle()
}

// put keeps an answer. One whose state would make the response too large to be read
// is "busy": its push is repeated, and those that had room are not in the next call.
func (a *Answerer[S]) put(p place[S], token uint64, answer Answer[S]) {
	o := p.in
	answer.Topic = o.answers[p.i].Topic
	if o.bytes > 0 && o.bytes+answer.Bytes > MaxBytes {
		answer = Answer[S]{Topic: answer.Topic, Code: converge.Busy, Text: "the answers are too large for one response"}
	}
	o.answers[p.i] = answer
	o.bytes += answer.Bytes
	o.tokens[p.i] = 0
	o.left--
	delete(a.waits, token)
}

// Abandon drops a call whose caller does not wait any more.
func (a *Answerer[S]) Abandon(now int64, call uint64) {
	a.at(now)
	a.open = slices.DeleteFunc(a.open, func(o *received[S]) bool {
		if o.call == call {
			a.forgetTokens(o)
		}
		return o.call == call
	})
	a.settle()
}

// Forget answers what waits for the topic: it is closed here, or led elsewhere.
func (a *Answerer[S]) Forget(now int64, topic string) {
	a.at(now)
	for _, o := range a.open {
		for i, token := range o.tokens {
			if token != 0 && o.answers[i].Topic == topic {
				a.put(place[S]{o, i}, token, Answer[S]{Code: converge.NotLeader, Text: "the topic's controller moved"})
			}
		}
	}
	a.settle()
}

// Tick lets time pass. Call it at [Answerer.WakeAt] at the latest.
func (a *Answerer[S]) Tick(now int64) {
	a.at(now)
	a.settle()
}

// WakeAt returns when [Answerer.Tick] has something to do, -1 for never.
func (a *Answerer[S]) WakeAt() int64 {
	if len(a.open) == 0 {
		return -1
	}
	return a.open[0].since + a.cfg.AnswerMillis
}

// Open returns how many calls are being answered.
func (a *Answerer[S]) Open() int { return len(a.open) }

func (a *Answerer[S]) at(now int64) { a.now = max(a.now, now) }

// settle responds to calls that are complete, or have waited long enough.
func (a *Answerer[S]) settle() {
	a.open = slices.DeleteFunc(a.open, func(o *received[S]) bool {
		if o.left > 0 && a.now < o.since+a.cfg.AnswerMillis {
			return false
		}
		for i, token := range o.tokens {
			if token != 0 {
				o.answers[i].Code, o.answers[i].Text = converge.Busy, "the topic has not answered in time"
			}
		}
		a.forgetTokens(o)
		a.actions = append(a.actions, AnswererAction[S]{Respond: &Respond[S]{o.call, o.cluster,
			&Response[S]{Version: Version, Cluster: a.cfg.Cluster, Answers: o.answers}}})
		return true
	})
}

func (a *Answerer[S]) forgetTokens(o *received[S]) {
	for _, token := range o.tokens {
		delete(a.waits, token)
	}
}
