// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"georep/core/converge"
	"georep/tests/sim/check"
)

// controller drives a machine as the broker plugin does.
type controller struct {
	c       *cluster
	m       *converge.Machine
	alive   bool
	term    uint64
	ledAt   int64
	version uint64 // of the record as it was read
	wake    int64
	ticks   int   // at the same time
	tickAt  int64 //
	wishes  uint64
	calls   uint64
	open    map[uint64]*call           // pushes of others that wait for our answer
	got     map[string]*converge.State // the latest of every peer since it leads, kept apart from the machine
	heard   map[string]bool
	without map[string]bool // peers that have no plugin
	mutates bool
}

// busy says whether something is under way.
func (k *controller) busy() bool { return k.mutates || len(k.open) > 0 }

func (k *controller) members() {
	if k.alive {
		k.m.Members(k.c.w.now, k.c.w.members)
		k.run()
	}
}

// run does what the machine asks for.
func (k *controller) run() {
	w := k.c.w
	for k.alive {
		actions := k.m.Ready()
		if len(actions) == 0 {
			break
		}
		for i := range actions {
			w.events++
			k.do(&actions[i])
		}
	}
	if !k.alive {
		return
	}
	if at := k.m.WakeAt(); at >= 0 && (k.wake < 0 || at < k.wake) {
		k.wake = at
		w.after(at-w.now, func() {
			if k.alive && k.wake == at {
				k.tick()
			}
		})
	}
}

func (k *controller) tick() {
	w := k.c.w
	if k.wake = -1; k.tickAt == w.now {
		if k.ticks++; k.ticks > 100 {
			w.fail(check.Crashed, "cluster %s: the machine wants to be woken for ever", k.c.name)
			return
		}
	} else {
		k.tickAt, k.ticks = w.now, 0
	}
	w.events++
	k.m.Tick(w.now)
	k.run()
}

func (k *controller) do(a *converge.Action) {
	w := k.c.w
	switch a.Kind {
	case converge.Push:
		k.push(a)
	case converge.Answer:
		k.answer(a)
	case converge.Mutate:
		k.checkMutation(a.Mutation)
		k.mutates = true
		w.after(w.rng.Int64N(400), func() { k.mutate(a.Token, a.Mutation) })
	case converge.Verdict:
		w.count("branch verdict-" + a.Code.String())
		w.tracef("%s verdict %s %s", k.c.name, a.Code, a.Text)
	}
}

func (k *controller) mutate(token uint64, mu *converge.Mutation) {
	w, c := k.c.w, k.c
	if !k.alive {
		return // crashed between making the children and publishing them
	}
	k.mutates = false
	if w.chance("store-failed", 0.03) {
		k.m.MutationFailed(w.now, token, "time-out")
		k.run()
		return
	}
	if !c.commit(k, mu) {
		w.count("fault store-conflict")
		k.reload()
		if k.alive {
			k.m.MutationFailed(w.now, token, "conflict")
			k.run()
		}
		return
	}
	if w.chance("store-ambiguous", 0.03) { // stored, and the answer was lost
		k.m.Store(w.now, c.store)
		k.m.MutationFailed(w.now, token, "connection lost")
	} else {
		k.m.Committed(w.now, token, c.store)
	}
	k.run()
}

// reload reads the store again; who finds another leader there resigns.
func (k *controller) reload() {
	c := k.c
	if k.term != c.term {
		c.w.count("fault stale-resigns")
		k.resign()
		return
	}
	k.version = c.version
	k.m.Store(c.w.now, c.store)
	k.run()
}

func (k *controller) resign() {
	c := k.c
	k.m.Resign(c.w.now)
	k.run()
	k.stop()
	c.retired = append(c.retired, k)
}

// stop takes the controller out, without a word to its machine.
func (k *controller) stop() {
	c := k.c
	k.alive, k.mutates, k.open = false, false, nil
	for i, o := range c.controllers {
		if o == k {
			c.controllers = append(c.controllers[:i:i], c.controllers[i+1:]...)
			break
		}
	}
	if c.leader == k {
		c.leader = nil
	}
}

// call is a push on its way.
type call struct {
	from  *controller
	term  uint64 // of the sender when it made the call
	to    string
	token uint64 // the sender's
	state *converge.State
	done  bool // answered, failed or given up
	quiet bool // a repeated delivery: nobody waits for its answer
}

const callMillis = 30_000

func (k *controller) push(a *converge.Action) {
	w := k.c.w
	p := &call{from: k, term: k.term, to: a.Peer, token: a.Token, state: a.State}
	w.after(callMillis, func() { p.fail(false, "time-out") })
	if !k.c.supported && !k.c.half {
		return // a cluster without the plugin says nothing
	}
	if w.cut[[2]string{k.c.name, a.Peer}] || w.chance("push-lost", 0.05) {
		return
	}
	limit := int64(200)
	if w.chance("push-delayed", 0.05) {
		limit = 60_000
	}
	w.after(w.rng.Int64N(limit), p.arrive)
	if w.chance("push-repeated", 0.05) {
		again := &call{from: k, to: a.Peer, state: a.State, quiet: true}
		w.after(w.rng.Int64N(60_000), again.arrive)
	}
}

// fail ends a call without an answer.
func (p *call) fail(unsupported bool, text string) {
	if p.done || p.quiet {
		return
	}
	p.done = true
	if k := p.from; k.alive && k.term == p.term {
		if unsupported {
			k.heard[p.to], k.without[p.to] = true, true // it need not be waited for, nor asked
		}
		w := k.c.w
		w.events++
		k.m.PushFailed(w.now, p.to, p.token, unsupported, text, w.rng.IntN(1000))
		k.run()
	}
}

func (p *call) arrive() {
	w := p.from.c.w
	c := w.find(p.to)
	k := c.leader
	if n := len(c.controllers); n > 1 && w.chance("to-stale-leader", 0.2) {
		k = c.controllers[w.rng.IntN(n)]
	}
	switch {
	case !c.supported:
		p.fail(true, "404")
	case k == nil:
		w.after(1000, func() { p.fail(false, "503") })
	default:
		k.calls++
		if k.open == nil {
			k.open = map[uint64]*call{}
		}
		k.open[k.calls] = p
		w.events++
		k.hear(p.state, false)
		k.m.Received(w.now, k.calls, p.state)
		k.checkPeers()
		k.run()
	}
}

// answer sends the answer to a push back.
func (k *controller) answer(a *converge.Action) {
	w := k.c.w
	p := k.open[a.Token]
	delete(k.open, a.Token)
	w.count("branch answer-" + a.Code.String())
	if a.Code != converge.OK {
		w.tracef("%s answers %s: %s", k.c.name, a.Code, a.Text)
	}
	if p == nil {
		w.fail(check.Crashed, "cluster %s answers call %d, which nobody made", k.c.name, a.Token)
		return
	}
	k.checkAnswer(a, p.state)
	if p.quiet || w.cut[[2]string{k.c.name, p.from.c.name}] || w.chance("answer-lost", 0.05) {
		return
	}
	w.after(w.rng.Int64N(200), func() {
		f := p.from
		if p.done || !f.alive || f.term != p.term {
			return
		}
		p.done = true
		if a.Code == converge.NotLeader {
			p.done = false
			p.fail(false, "not the leader")
			return
		}
		w.events++
		if a.State != nil {
			f.hear(a.State, true)
		}
		f.m.Answered(w.now, p.to, p.token, a.Code, a.Text, a.State)
		f.checkPeers()
		f.run()
	})
}

// hear keeps the latest state of a peer, as the rule says, for the checkers. Only an
// answer tells of another life of its topic.
func (k *controller) hear(s *converge.State, answer bool) {
	if !k.c.w.isMember(s.Cluster) {
		return
	}
	k.heard[s.Cluster] = true
	if old := k.got[s.Cluster]; old == nil || old.Instance != s.Instance && answer ||
		old.Instance == s.Instance && s.Version.Compare(old.Version) >= 0 {
		k.got[s.Cluster] = s
	}
}
