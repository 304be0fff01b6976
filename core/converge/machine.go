// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"slices"
	"strings"

	"georep/core/internal/mutant"
	"georep/core/layout"
)

// Machine is the convergence of one topic. See the package.
type Machine struct {
	cfg      Config
	now      int64
	leading  bool
	term     uint64
	gainedAt int64

	local   Local
	shape   layout.Shape
	ringErr error // why there is no shape
	drained bool  // no segment that this layout has sealed has a backlog left

	peers  []*peer         // the other members of the replication set, by name
	fresh  bool            // what is derived from layout, caps and peers' states is up to date:
	log    layout.SplitLog // the own splits and the peers', see [Machine.derive]
	target layout.Shape    // what the own layout is to become, at least

	cold []uint16
	own  *State // what peers are told; nil while there is nothing to tell

	lastToken uint64
	mut       *running // the one mutation under way
	failures  int      // mutations failed in a row
	holdUntil int64    // no mutation before

	actions []Action
}

// running is a mutation that the driver has been given.
type running struct {
	token uint64
	wish  uint64
	m     *Mutation
}

// New returns a machine that leads nothing and knows nothing.
func New(cfg Config) (*Machine, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Machine{cfg: cfg}, nil
}

// Ready returns what there is to do, in order, and forgets it. The slice is the caller's.
func (m *Machine) Ready() []Action {
	out := m.actions
	m.actions = nil
	return out
}

// Lead tells that this controller became the leader. The term is larger than that
// of every leader before it; the driver stores it with the topic first.
func (m *Machine) Lead(now int64, term uint64) {
	m.at(now)
	m.leading, m.term, m.gainedAt, m.own, m.log = true, term, m.now, nil, nil
	m.mut, m.failures, m.holdUntil = nil, 0, 0
	for _, p := range m.peers {
		p.reset()
	}
	m.fresh = false
	m.settle()
}

// Resign tells that this controller does not lead any more. What was under way is
// somebody else's; wishes and pushes are answered "not-leader".
func (m *Machine) Resign(now int64) {
	m.at(now)
	m.resign()
}

func (m *Machine) resign() {
	m.leading, m.own = false, nil
	if m.mut != nil && m.mut.wish != 0 {
		m.verdict(m.mut.wish, NotLeader, "the controller moved while it was at work")
	}
	m.mut = nil
	for _, p := range m.peers {
		p.answer(m, NotLeader, "")
		p.reset()
	}
	m.fresh = false
}

// Store tells what the own metadata store holds: at the start, and whenever it was
// read again. Who finds the term of a later leader there leads no more.
func (m *Machine) Store(now int64, l Local) {
	m.at(now)
	m.load(l)
	m.settle()
}

func (m *Machine) load(l Local) {
	if m.local.Layout != nil && m.local.Instance != l.Instance { // another life of the topic: nobody knows it
		m.own, m.log = nil, nil
		for _, p := range m.peers {
			p.acked = nil
		}
	}
	if m.local.Layout == nil || m.local.Instance != l.Instance || m.local.Layout.Epoch() != l.Layout.Epoch() {
		m.drained = false // what was true of the segments sealed before says nothing of these
	}
	m.local, m.fresh = l, false
	m.shape, m.ringErr = layout.ShapeOf(l.Layout)
	if m.leading && l.Term > m.term && !mutant.On(mutant.LaterTermIgnored) {
		m.resign()
	}
}

// SetCaps changes the own caps.
func (m *Machine) SetCaps(now int64, c layout.Caps) {
	m.at(now)
	m.cfg.Caps, m.fresh = c, false
	m.settle()
}

// Members tells the replication set, with or without the own cluster. A peer that
// is not in it any more is forgotten.
func (m *Machine) Members(now int64, clusters []string) {
	m.at(now)
	names := slices.Compact(slices.Sorted(slices.Values(clusters)))
	next := make([]*peer, 0, len(names))
	for _, name := range names {
		if name == m.cfg.Cluster {
			continue
		}
		if p := m.peer(name); p != nil {
			next = append(next, p)
		} else {
			next = append(next, &peer{name: name, since: m.now})
		}
	}
	for _, p := range m.peers {
		if !slices.Contains(next, p) {
			p.answer(m, NotMember, p.name)
		}
	}
	m.peers, m.fresh = next, false
	m.settle()
}

// Cold tells which boundaries the local policy would remove now; it replaces what
// it said before.
func (m *Machine) Cold(now int64, boundaries []uint16) {
	m.at(now)
	m.cold = slices.Compact(slices.Sorted(slices.Values(boundaries)))
	m.settle()
}

// Tick lets time pass. Call it at [Machine.WakeAt] at the latest.
func (m *Machine) Tick(now int64) {
	m.at(now)
	m.settle()
}

// Committed tells that a mutation is durable, and what the store holds now.
func (m *Machine) Committed(now int64, token uint64, l Local) {
	m.at(now)
	m.load(l)
	if r := m.mut; r != nil && r.token == token {
		m.mut, m.failures = nil, 0
		if r.m.Why == WhyPolicy {
			m.neededNow(r.m.Ops)
		}
		if r.wish != 0 {
			code := OK
			if r.m.Why == WhyMark {
				code = Marked
			}
			m.verdict(r.wish, code, "")
		}
	}
	m.settle()
}

// neededNow takes boundaries that the policy has just made out of what it called cold
// when they were there before: it has to say so anew.
func (m *Machine) neededNow(ops []layout.Op) {
	for _, op := range ops {
		for _, c := range op.Children[1:] {
			m.cold = without(m.cold, []uint16{c.Range.Start})
		}
	}
}

// MutationFailed tells that nothing of a mutation is stored. After a conflict the
// driver reads the store again and calls [Machine.Store] first.
func (m *Machine) MutationFailed(now int64, token uint64, why string) {
	m.at(now)
	if r := m.mut; r != nil && r.token == token {
		m.mut = nil
		m.failures++
		m.holdUntil = m.now + backoff(m.cfg.RetryFirstMillis, m.cfg.RetryMaxMillis, m.failures, 0)
		if r.wish != 0 {
			m.verdict(r.wish, Failed, why)
		}
	}
	m.settle()
}

// WakeAt returns when [Machine.Tick] has something to do, -1 for never.
func (m *Machine) WakeAt() int64 {
	next := int64(-1)
	soonest := func(at int64) {
		if next < 0 || at < next {
			next = max(at, m.now)
		}
	}
	if !m.leading {
		return next
	}
	if m.mut == nil && m.ringErr == nil {
		if m.holdUntil > m.now {
			soonest(m.holdUntil)
		}
		for _, k := range m.local.Marks {
			soonest(max(k.UntilMillis, m.holdUntil))
		}
	}
	if m.foldAwaits() != "" {
		soonest(m.gainedAt + m.cfg.GrowWaitMillis)
	}
	for _, p := range m.peers {
		if p.pending != nil {
			soonest(p.pending.since + m.cfg.AnswerMillis)
		}
		if m.own != nil {
			soonest(p.dueAt(m))
		}
	}
	return next
}

// at moves the clock, which never goes back.
func (m *Machine) at(now int64) { m.now = max(m.now, now) }

// settle brings everything that follows from what is known.
func (m *Machine) settle() {
	if !m.leading || m.local.Layout == nil {
		return
	}
	m.derive()
	m.tellOwn()
	m.decide()
	for _, p := range m.peers {
		m.clock(p)
		m.answerPending(p)
		m.pushTo(p)
	}
}

// tellOwn makes the state that peers are told, with the next counter where it says
// something new.
func (m *Machine) tellOwn() {
	if m.ringErr != nil {
		m.own = nil
		return
	}
	next := &State{
		Cluster: m.cfg.Cluster, Instance: m.local.Instance, Shape: m.shape, Caps: m.cfg.Caps,
		Version: Version{Epoch: m.local.Layout.Epoch(), Term: m.term},
		Splits:  m.log.Keep(m.shape),
	}
	next.Cold, next.ColdBuckets = m.coldHere()
	if o := m.own; o != nil && o.Version.Epoch == next.Version.Epoch {
		if o.same(next) {
			return
		}
		next.Version.Counter = o.Version.Counter + 1
	}
	m.own = next
}

// derive brings what follows from the layout, the caps and the peers' states up to
// date, where one of these has changed.
//
// What a peer has told of a split is kept for as long as the boundary is here, also when
// the peer has it no more. By that record the boundary may have been called cold; were it
// forgotten with the peer's merge, which everybody agreed to, this cluster would need the
// boundary again, and the peer would fold it back in, and merge it, for ever.
func (m *Machine) derive() {
	if m.fresh {
		return
	}
	m.fresh = true
	m.log = m.local.Splits.Join(m.log.Keep(m.shape))
	if mutant.On(mutant.ConsentForgotten) {
		m.log = m.local.Splits
	}
	for _, p := range m.peers {
		if m.compatible(p) {
			m.log = m.log.Join(p.state.Splits)
		}
	}
	m.target = m.foldTarget()
	for _, p := range m.peers {
		p.folded = m.follows(p)
	}
}

// mutate gives the driver a change; wish 0 is nobody's.
func (m *Machine) mutate(wish uint64, mu *Mutation) {
	m.mut = &running{token: m.token(), wish: wish, m: mu}
	m.actions = append(m.actions, Action{Kind: Mutate, Token: m.mut.token, Mutation: mu})
}

func (m *Machine) verdict(wish uint64, c Code, text string) {
	m.actions = append(m.actions, Action{Kind: Verdict, Token: wish, Code: c, Text: text})
}

func (m *Machine) token() uint64 {
	m.lastToken++
	return m.lastToken
}

func (m *Machine) peer(name string) *peer {
	i, found := slices.BinarySearchFunc(m.peers, name, func(p *peer, n string) int { return strings.Compare(p.name, n) })
	if !found {
		return nil
	}
	return m.peers[i]
}

// backoff doubles first with every failure, up to most, and takes off up to a
// quarter by the driver's jitter in thousandths.
func backoff(first, most int64, failures, jitter int) int64 {
	wait := first
	for i := 1; i < failures && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	return wait - wait/4*int64(min(max(jitter, 0), 1000))/1000
}
