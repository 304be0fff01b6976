// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"maps"
	"slices"

	"georep/core/converge"
	"georep/core/exchange"
	"georep/core/layout"
	"georep/tests/sim/check"
)

// controller drives a machine as the broker plugin does.
type controller struct {
	c       *cluster
	b       *broker // where it runs
	m       *converge.Machine
	alive   bool
	term    uint64
	ledAt   int64
	version uint64 // of the record as it was read
	wake    int64
	ticks   int   // at the same time
	tickAt  int64 //
	wishes  uint64
	open    map[uint64]*converge.State // pushes of others that wait for our answer
	pushed  map[pushKey]*converge.State
	got     map[string]*converge.State // the latest of every peer since it leads, kept apart from the machine
	heard   map[string]bool
	without map[string]bool // peers that have no plugin
	called  map[string]bool // peers to which a call of it has ended
	learned layout.SplitLog // all that peers have told of splits of boundaries that are still here
	mutates bool
}

// busy says whether something is under way.
func (k *controller) busy() bool { return k.mutates || len(k.open) > 0 }

// members tells the machine the replication set as the site knows it. What it has heard
// of those that left counts no more, should they come back.
func (k *controller) members() {
	if !k.alive {
		return
	}
	left := func(name string) bool { return !slices.Contains(k.c.site.members, name) }
	maps.DeleteFunc(k.got, func(name string, _ *converge.State) bool { return left(name) })
	for _, of := range []map[string]bool{k.heard, k.without, k.called} {
		maps.DeleteFunc(of, func(name string, _ bool) bool { return left(name) })
	}
	maps.DeleteFunc(k.pushed, func(p pushKey, _ *converge.State) bool { return left(p.peer) })
	k.m.Members(k.c.w.now, k.c.site.members)
	k.run()
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
			if k.dies("crash-at-action", 0.001) {
				break // what it would have done next is never done
			}
			w.events++
			k.do(&actions[i])
		}
	}
	if k.b.run(); !k.alive {
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
		limit := int64(400)
		if w.chance("store-slow", 0.02) {
			limit = 30_000
		}
		w.after(w.rng.Int64N(limit), func() { k.mutate(a.Token, a.Mutation) })
	case converge.Verdict:
		w.count("branch verdict-" + a.Code.String())
		w.tracef("%s verdict %s %s", k.c, a.Code, a.Text)
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
	if k.dies("crash-after-commit", 0.01) {
		return // the store has it, and nobody has been told
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
	k.version = c.version
	k.m.Store(c.w.now, c.store)
	k.run()
	if !k.alive || k.term == c.term {
		return
	}
	if k.m.Status(c.w.now).Leading {
		c.w.fail(check.StaleWrite, "cluster %s: a controller of term %d has read term %d, and leads on", c.name, k.term, c.term)
	}
	c.w.count("fault stale-resigns")
	k.resign()
}

func (k *controller) resign() {
	c := k.c
	k.m.Resign(c.w.now)
	if k.run(); !k.alive {
		return
	}
	if !c.w.chance("not-forgotten", 0.5) {
		k.b.out.Forget(c.w.now, c.topic.name)
		k.b.in.Forget(c.w.now, c.topic.name)
		k.b.run()
	}
	k.stop()
	c.retired = append(c.retired, k)
}

// dies lets the controller crash where it is, at times with its broker and all that
// runs there. It says whether it did.
func (k *controller) dies(name string, p float64) bool {
	w := k.c.w
	if !w.chance(name, p) {
		return false
	}
	w.tracef("%s of term %d: %s", k.c, k.term, name)
	if w.rng.IntN(3) == 0 {
		k.b.crash()
	} else {
		k.stop()
	}
	w.replace(k.c.site)
	return true
}

// stop takes the controller out, without a word to its machine.
func (k *controller) stop() {
	c := k.c
	k.alive, k.mutates = false, false
	delete(k.b.hosts, c.topic.name)
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

// push asks the broker for a call with the state.
func (k *controller) push(a *converge.Action) {
	w := k.c.w
	k.says(a.State)
	k.pushed[pushKey{a.Peer, a.Token}] = a.State
	k.b.out.Push(w.now, exchange.Push[*converge.State]{Cluster: a.Peer, Topic: k.c.topic.name, Token: a.Token,
		State: a.State, Bytes: a.State.Shape.Len()})
}

// pushKey names a push of one controller.
type pushKey struct {
	peer  string
	token uint64
}

// ended takes the outcome of a push.
func (k *controller) ended(o *exchange.Outcome[*converge.State]) {
	w := k.c.w
	w.events++
	s := k.pushed[pushKey{o.Cluster, o.Token}]
	delete(k.pushed, pushKey{o.Cluster, o.Token})
	a := o.Answer
	k.called[o.Cluster] = k.called[o.Cluster] || s != nil
	if a == nil {
		if o.Failure.Unsupported && s != nil {
			k.heard[o.Cluster], k.without[o.Cluster] = true, true // it need not be waited for, nor asked
		}
		k.m.PushFailed(w.now, o.Cluster, o.Token, o.Failure.Unsupported, o.Failure.Text, o.Failure.Jitter)
		k.run()
		return
	}
	if s != nil && a.Code == converge.OK && !w.acked[ack{o.Cluster, s}] {
		w.fail(check.AckDurable, "cluster %s believes that %s has acknowledged %v", k.c, o.Cluster, s)
	}
	if a.State != nil && w.of[a.State] != k.c.topic.name {
		w.fail(check.PeerForward, "cluster %s is answered with a state of %s", k.c, w.of[a.State])
	}
	if a.State != nil && s != nil {
		k.hear(a.State, true)
	}
	k.m.Answered(w.now, o.Cluster, o.Token, a.Code, a.Text, a.State)
	k.checkPeers()
	k.run()
}

// receive takes a push of a peer.
func (k *controller) receive(d *exchange.Delivery[*converge.State]) {
	w := k.c.w
	if of := w.of[d.State]; of != k.c.topic.name {
		w.fail(check.Crashed, "a state of %s comes to %s", of, k.c)
	}
	k.open[d.Token] = d.State
	w.events++
	k.hear(d.State, false)
	k.m.Received(w.now, d.Token, d.State)
	k.checkPeers()
	k.run()
}

// answer gives the broker the answer to a push.
func (k *controller) answer(a *converge.Action) {
	w := k.c.w
	s := k.open[a.Token]
	delete(k.open, a.Token)
	w.count("branch answer-" + a.Code.String())
	if a.Code != converge.OK {
		w.tracef("%s answers %s: %s", k.c, a.Code, a.Text)
	}
	if s == nil {
		w.fail(check.Crashed, "cluster %s answers push %d, which nobody made", k.c, a.Token)
		return
	}
	k.checkAnswer(a, s)
	if a.Code == converge.OK {
		w.acked[ack{k.c.name, s}] = true
	}
	if a.State != nil {
		k.says(a.State)
	}
	k.b.in.Replied(w.now, a.Token, exchange.Answer[*converge.State]{Code: a.Code, Text: a.Text, State: a.State})
}

// says notes whose word a state is.
func (k *controller) says(s *converge.State) {
	w := k.c.w
	w.of[s] = k.c.topic.name
	if k != k.c.leader {
		w.stale[s] = true
	}
}

// hear keeps the latest state of a peer, as the rule says, for the checkers. Only an
// answer tells of another life of its topic.
func (k *controller) hear(s *converge.State, answer bool) {
	if !slices.Contains(k.c.site.members, s.Cluster) {
		return
	}
	k.heard[s.Cluster] = true
	newer := func(old *converge.State) bool {
		return old == nil || old.Instance != s.Instance && answer ||
			old.Instance == s.Instance && s.Version.Compare(old.Version) >= 0
	}
	if newer(k.got[s.Cluster]) {
		k.got[s.Cluster] = s
		if s.Shape.Profile == k.c.profile {
			k.learned = k.learned.Keep(k.c.shape()).Join(s.Splits)
		}
	}
	if k == k.c.leader && newer(k.c.told[s.Cluster]) {
		k.c.told[s.Cluster] = s
	}
}
