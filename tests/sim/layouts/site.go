// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"fmt"
	"slices"

	"georep/core/converge"
	"georep/core/exchange"
	"georep/tests/sim/check"
)

// site is one Pulsar cluster: the brokers that the controllers of all topics run on.
type site struct {
	w         *World
	name      string
	supported bool     // answers calls
	half      bool     // does not, and makes some: one of its brokers lacks the plugin
	members   []string // the replication set, as it has been told there
	brokers   []*broker
}

// broker drives a sender and an answerer as the plugin does.
type broker struct {
	site    *site
	address string
	lives   int // times that it was started
	out     *exchange.Sender[*converge.State]
	in      *exchange.Answerer[*converge.State]
	hosts   map[string]*controller // by topic
	calls   map[[2]string]*wire    // the last one by cluster and address
	open    map[uint64]*wire       // calls of others that wait for our response
	wake    int64
}

func newSite(w *World, name string) *site {
	s := &site{w: w, name: name, supported: true}
	if w.rng.IntN(8) == 0 {
		s.supported = false
		w.count("fault unsupported")
		if s.half = w.rng.IntN(3) == 0; s.half {
			w.count("fault half-upgraded") // until the calm
		} else if w.rng.IntN(2) == 0 {
			w.after(w.rng.Int64N(activeMillis), func() { s.supported = true })
		}
	}
	for i := range 1 + w.rng.IntN(3) {
		b := &broker{site: s, address: fmt.Sprint(name, i+1)}
		b.start()
		s.brokers = append(s.brokers, b)
	}
	return s
}

const callMillis = 30_000

// start begins a life of the broker, which knows nothing of those before.
func (b *broker) start() {
	cfg := exchange.DefaultConfig(b.site.name)
	cfg.MaxStates, cfg.MaxBytes, cfg.GatherMillis = b.site.w.callStates, b.site.w.callBytes, b.site.w.gather
	cfg.CallMillis = callMillis
	var err error
	if b.out, err = exchange.NewSender[*converge.State](cfg); err != nil {
		panic(err)
	}
	if b.in, err = exchange.NewAnswerer[*converge.State](cfg); err != nil {
		panic(err)
	}
	b.lives++
	b.hosts, b.calls, b.open, b.wake = map[string]*controller{}, map[[2]string]*wire{}, map[uint64]*wire{}, -1
}

// crash stops the broker and what runs there; it is started again at once.
func (b *broker) crash() {
	b.site.w.tracef("broker %s crashes", b.address)
	b.tally()
	for _, t := range b.site.w.topics {
		if k := b.hosts[t.name]; k != nil {
			k.stop()
		}
	}
	b.start()
}

// dies lets the broker crash before what it would do next, and says whether this life
// of it is over.
func (b *broker) dies(life int) bool {
	if b.lives == life && b.site.w.chance("broker-crash-at-action", 0.0005) {
		b.crash()
		b.site.w.replace(b.site)
	}
	return b.lives != life
}

// tally counts what the sender did in this life.
func (b *broker) tally() {
	for _, p := range b.out.Status(b.site.w.now) {
		b.site.w.counts["branch push-moved"] += p.Count.Moved
		b.site.w.counts["branch push-replaced"] += p.Count.Replaced
		b.site.w.counts["branch call-failed"] += p.Count.Failures
	}
}

// place returns a broker for a new controller of the topic: one without another, or
// one where that ends.
func (s *site) place(topic string) *broker {
	first := s.w.rng.IntN(len(s.brokers))
	for i := range s.brokers {
		if b := s.brokers[(first+i)%len(s.brokers)]; b.hosts[topic] == nil {
			return b
		}
	}
	b := s.brokers[first]
	s.w.count("fault replaced-in-place")
	b.hosts[topic].stop()
	return b
}

// run does what the machines ask for.
func (b *broker) run() {
	w, life := b.site.w, b.lives
	for b.lives == life {
		out, in := b.out.Ready(), b.in.Ready()
		if len(out)+len(in) == 0 {
			break
		}
		for i := range out {
			if b.dies(life) {
				return
			}
			w.events++
			if out[i].Call != nil {
				b.call(out[i].Call)
			} else {
				b.outcome(out[i].Outcome)
			}
		}
		for i := range in {
			if b.dies(life) {
				return
			}
			w.events++
			if d := in[i].Deliver; d != nil {
				b.deliver(d)
			} else {
				b.respond(in[i].Respond)
			}
		}
	}
	if b.lives != life {
		return
	}
	for _, at := range []int64{b.out.WakeAt(), b.in.WakeAt()} {
		if at >= 0 && (b.wake < 0 || at < b.wake) {
			b.wake = at
			w.after(at-w.now, func() {
				if b.lives == life && b.wake == at {
					b.wake = -1
					b.out.Tick(w.now)
					b.in.Tick(w.now)
					b.run()
				}
			})
		}
	}
}

// outcome tells a topic's controller how its push ended.
func (b *broker) outcome(o *exchange.Outcome[*converge.State]) {
	if k := b.hosts[o.Topic]; k != nil && !b.site.w.chance("outcome-lost", 0.01) {
		k.ended(o)
	}
}

// deliver hands a push to its topic's controller, or says who leads the topic.
func (b *broker) deliver(d *exchange.Delivery[*converge.State]) {
	w := b.site.w
	if k := b.hosts[d.Topic]; k != nil {
		if k != k.c.leader {
			w.count("fault to-stale-leader")
		}
		k.receive(d)
		return
	}
	c := w.topic(d.Topic).find(b.site.name)
	answer := exchange.Answer[*converge.State]{Code: converge.NotLeader}
	switch {
	case w.chance("leader-unknown", 0.05):
	case w.chance("wrong-leader", 0.05):
		answer.Leader = b.site.brokers[w.rng.IntN(len(b.site.brokers))].address
	case c.leader != nil:
		answer.Leader = c.leader.b.address
	}
	w.count("branch answer-not-leader")
	b.in.Replied(w.now, d.Token, answer)
}

// call makes a call, if there is a way.
func (b *broker) call(c *exchange.Call[*converge.State]) {
	w := b.site.w
	lane := [2]string{c.Cluster, c.Address}
	p := &wire{from: b, life: b.lives, lane: lane, id: c.ID, states: c.States, since: w.now}
	if last := b.calls[lane]; last != nil && !last.done && w.now < last.since+callMillis {
		w.fail(check.Crashed, "broker %s calls %s while it does", b.address, lane)
	}
	b.calls[lane] = p
	for _, s := range b.out.Status(w.now) {
		if most := w.gather + int64(len(w.topics)+1)*callMillis; s.OldestMillis > most {
			w.fail(check.Crashed, "broker %s lets a push wait %d ms, %d at most", b.address, s.OldestMillis, most)
		}
	}
	if n := len(c.States); n > w.callStates {
		w.fail(check.Crashed, "broker %s sends %d states", b.address, n)
	} else if n > 1 {
		w.count("branch call-of-many")
	}
	w.after(w.rng.Int64N(2*callMillis), func() { p.fail(false, "time-out") })
	if !b.site.supported && !b.site.half {
		return // a cluster without the plugin says nothing
	}
	if w.cut[[2]string{b.site.name, c.Cluster}] || w.chance("push-lost", 0.05) {
		return
	}
	limit := int64(200)
	if w.chance("push-delayed", 0.05) {
		limit = 60_000
	}
	w.after(w.rng.Int64N(limit), p.arrive)
	if w.chance("push-repeated", 0.05) {
		again := &wire{from: b, lane: lane, states: c.States, quiet: true}
		w.after(w.rng.Int64N(60_000), again.arrive)
	}
}

// respond sends the answers to a call back.
func (b *broker) respond(r *exchange.Respond[*converge.State]) {
	w := b.site.w
	p := b.open[r.Call]
	delete(b.open, r.Call)
	if p == nil {
		w.fail(check.Crashed, "broker %s responds to call %d, which nobody made", b.address, r.Call)
		return
	}
	for i := range r.Response.Answers {
		if r.Response.Answers[i].Code == converge.Busy {
			w.count("branch response-busy")
		}
	}
	if p.quiet || w.cut[[2]string{b.site.name, p.from.site.name}] || w.chance("answer-lost", 0.05) {
		return
	}
	w.after(w.rng.Int64N(200), func() { p.returned(r.Response) })
}

// wire is a call on its way.
type wire struct {
	from   *broker
	life   int // of the sender when it made the call
	lane   [2]string
	id     uint64
	states []*converge.State
	since  int64
	done   bool // returned, or failed
	quiet  bool // a repeated delivery: nobody waits for its response
}

// over ends the call for its driver; it says whether anybody waits for that.
func (p *wire) over() bool {
	if p.done || p.quiet || p.from.lives != p.life {
		return false
	}
	p.done = true
	p.from.site.w.events++
	return true
}

// fail ends a call without a response.
func (p *wire) fail(unsupported bool, text string) {
	if w := p.from.site.w; p.over() {
		p.from.out.Failed(w.now, p.id, exchange.Failure{Unsupported: unsupported, Text: text, Jitter: w.rng.IntN(1000)})
		p.from.run()
	}
}

func (p *wire) returned(r *exchange.Response[*converge.State]) {
	if p.over() {
		p.from.out.Returned(p.from.site.w.now, p.id, r)
		p.from.run()
	}
}

// arrive comes to the broker that was named, or to any.
func (p *wire) arrive() {
	w := p.from.site.w
	to := w.site(p.lane[0])
	b := to.brokers[w.rng.IntN(len(to.brokers))]
	if i := slices.IndexFunc(to.brokers, func(o *broker) bool { return o.address == p.lane[1] }); i >= 0 {
		w.count("branch call-to-leader")
		b = to.brokers[i]
	}
	if !to.supported {
		p.fail(true, "404")
		return
	}
	w.wires++
	r := &exchange.Request[*converge.State]{Version: exchange.Version, Cluster: p.from.site.name}
	for _, s := range p.states {
		r.States = append(r.States, exchange.Item[*converge.State]{Topic: w.of[s], Cluster: s.Cluster, State: s})
	}
	b.open[w.wires] = p
	if err := b.in.Receive(w.now, w.wires, p.from.site.name, r); err != nil {
		delete(b.open, w.wires)
		w.fail(check.Crashed, "broker %s refuses a call of %s: %v", b.address, p.from.address, err)
		return
	}
	b.run()
}
