// SPDX-License-Identifier: Apache-2.0

// Package fleet lets clusters follow a change of one topic's layout and counts what
// they say to each other meanwhile: the machines of core/converge and core/exchange,
// with a clock, a store and a network that are always the same.
//
//	a: split --commit--> push to b, c --call--> b, c fold it in --commit--> answer, and push in turn
package fleet

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"georep/core/control"
	"georep/core/converge"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
	"georep/tests/sim/agenda"
)

// Times of the simulated world, in ms.
const (
	wayMillis    = 10        // of a call, and of its answer
	commitMillis = 30        // of a change of the topic's record
	quietMillis  = 60_000    // nothing for so long: all is said
	repeatMillis = 3_600_000 // anti-entropy, so long that it does not count
)

const topic = "topic://public/default/orders"

// Traffic is what was said, by all to all.
type Traffic struct {
	Calls    int // from cluster to cluster, each with its answer
	States   int // of the topic, in calls and answers
	JSON     int // bytes of the bodies of calls and answers, as they go over HTTP
	Protobuf int // bytes of the same as protobuf
}

// site is a cluster's broker: it leads the topic.
type site struct {
	w      *world
	name   string
	m      *converge.Machine
	x      *control.Exchange
	store  converge.Local
	nextID uint64
	wake   int64
}

type world struct {
	agenda  agenda.Agenda
	now     int64
	sites   []*site
	calls   uint64
	pending map[uint64]func(*pb.ExchangeResponse) // calls that wait for their response
	said    Traffic
	err     error
}

// Change returns what it takes for a split of one of the segments, in one of the
// clusters, to be followed and acknowledged by all. Before it they have told each
// other everything.
func Change(clusters, segments int) (Traffic, error) {
	w := &world{pending: map[uint64]func(*pb.ExchangeResponse){}}
	var names []string
	for i := range clusters {
		names = append(names, fmt.Sprintf("cluster-%c", 'a'+i))
	}
	for _, n := range names {
		if err := w.add(n, names, segments); err != nil {
			return Traffic{}, err
		}
	}
	for _, s := range w.sites {
		s.m.Lead(w.now, 1)
		s.run()
	}
	if err := w.settle(segments); err != nil {
		return Traffic{}, err
	}
	w.said = Traffic{}
	first := w.sites[0]
	first.m.WishSplit(w.now, 1, first.store.Layout.Active()[0].ID)
	first.run()
	if err := w.settle(segments + 1); err != nil {
		return Traffic{}, err
	}
	return w.said, nil
}

func (w *world) add(name string, members []string, segments int) error {
	c := converge.DefaultConfig(name)
	c.AntiEntropyMillis = repeatMillis
	m, err := converge.New(c)
	if err != nil {
		return err
	}
	x, err := control.NewExchange(&pb.ExchangeConfig{Cluster: name})
	if err != nil {
		return err
	}
	segs := make([]layout.Segment, segments)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range:   layout.Range{Start: uint16(i << 16 / segments), End: uint16((i+1)<<16/segments - 1)},
			Buckets: layout.EqualWidth(4)}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		return err
	}
	s := &site{w: w, name: name, m: m, x: x, nextID: uint64(segments), wake: -1,
		store: converge.Local{Layout: l, Instance: fmt.Sprintf("%032x", name), Term: 1}}
	m.Store(w.now, s.store)
	m.Members(w.now, members)
	w.sites = append(w.sites, s)
	return nil
}

// settle lets everything happen that is due, and checks that then all have so many
// segments and know it of each other.
func (w *world) settle(segments int) error {
	for w.err == nil {
		at, do, ok := w.agenda.Next()
		if !ok || at > w.now+quietMillis {
			if ok {
				w.agenda.Add(at, do)
			}
			break
		}
		w.now = max(w.now, at)
		do()
	}
	if w.err != nil {
		return w.err
	}
	for _, s := range w.sites {
		status := s.m.Status(w.now)
		if n := len(s.store.Layout.Active()); n != segments || len(status.Peers) != len(w.sites)-1 {
			return fmt.Errorf("fleet: %s has %d segments, not %d, and %d peers", s.name, n, segments, len(status.Peers))
		}
		for _, p := range status.Peers {
			if !p.Known || len(p.Diverged) > 0 || p.Acked != status.Version {
				return fmt.Errorf("fleet: %s of its peer %+v", s.name, p)
			}
		}
	}
	if len(w.pending) > 0 {
		return fmt.Errorf("fleet: %d calls were not answered", len(w.pending))
	}
	return nil
}

// run does what both machines of the site ask for.
func (s *site) run() {
	w := s.w
	for w.err == nil {
		own := s.m.Ready()
		out, err := s.x.Ready()
		if err != nil {
			w.fail(err)
			return
		}
		for i := range own {
			s.do(&own[i])
		}
		for _, a := range out.GetActions() {
			s.exchange(a)
		}
		if len(own)+len(out.GetActions()) > 0 {
			continue
		}
		for _, at := range []int64{s.m.WakeAt(), out.GetWakeAtMillis()} {
			s.wakeAt(at)
		}
		return
	}
}

func (s *site) wakeAt(at int64) {
	if at < 0 || s.wake >= 0 && s.wake <= at {
		return
	}
	s.wake = at
	s.w.agenda.Add(at, func() {
		if s.wake == at {
			s.wake = -1
			s.m.Tick(s.w.now)
			s.step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Tick{Tick: &pb.ConvergeNothing{}}})
			s.run()
		}
	})
}

// do does what the topic's machine asks for.
func (s *site) do(a *converge.Action) {
	switch a.Kind {
	case converge.Push:
		s.step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Push{Push: &pb.ConvergeSend{Cluster: a.Peer, Token: a.Token,
			State: control.TopicState(a.State, topic)}}})
	case converge.Answer:
		s.step(&pb.ExchangeEvent{Event: &pb.ExchangeEvent_Replied{Replied: &pb.ConvergeReply{Token: a.Token,
			Answer: &pb.ExchangeAnswer{Topic: topic, Code: pb.ConvergeCode(a.Code), Text: a.Text,
				State: control.TopicState(a.State, topic)}}}})
	case converge.Mutate:
		s.w.agenda.Add(s.w.now+commitMillis, func() { s.commit(a) })
	case converge.Verdict:
		if a.Code != converge.OK {
			s.w.fail(fmt.Errorf("fleet: the split: %s %s", a.Code, a.Text))
		}
	}
}

func (s *site) commit(a *converge.Action) {
	mu := a.Mutation
	if mu.Expect != s.store.Layout.Epoch() {
		s.w.fail(errors.New("fleet: a change of an older layout"))
		return
	}
	l, err := layout.Apply(s.store.Layout, mu.Ops, s.nextID, 0)
	if err != nil {
		s.w.fail(err)
		return
	}
	for _, op := range mu.Ops {
		s.nextID += uint64(len(op.Children))
	}
	s.store.Layout, s.store.Splits, s.store.Marks = l, mu.Splits, mu.Marks
	s.m.Committed(s.w.now, a.Token, s.store)
	s.run()
}

func (s *site) step(e *pb.ExchangeEvent) {
	e.NowMillis = s.w.now
	s.w.fail(s.x.Step(e))
}

// fail keeps the first error.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *world) find(name string) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })]
}

// carried counts a body that goes over HTTP.
func (w *world) carried(name string, m proto.Message) {
	wire, err := proto.Marshal(m)
	if err != nil {
		w.fail(err)
		return
	}
	text, err := control.ToJSON(name, wire)
	w.fail(err)
	w.said.Protobuf += len(wire)
	w.said.JSON += len(text)
}
