// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"fmt"
	"slices"

	"georep/core/converge"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/tests/sim/check"
)

// topic is in every cluster.
type topic struct {
	name     string
	related  bool // all of its layouts come from one: by midpoint splits, and merges of siblings
	clusters []*cluster
}

func (t *topic) find(name string) *cluster {
	return t.clusters[slices.IndexFunc(t.clusters, func(c *cluster) bool { return c.name == name })]
}

// cluster is what one cluster has of one topic: a record in its metadata store, and
// controllers of which one leads.
type cluster struct {
	w           *World
	topic       *topic
	site        *site
	name        string // the site's
	profile     keyhash.Profile
	caps        layout.Caps
	store       converge.Local
	version     uint64 // of the record; a compare-and-set names it
	term        uint64
	nextID      uint64
	past        []layout.Shape // every layout that was durable in this instance
	leader      *controller
	controllers []*controller // alive: the leader, and some that believe to be
	retired     []*controller // have resigned and may be elected again
	hot         map[uint16]bool
	merged      map[uint16]int             // how often each boundary was, in the calm
	told        map[string]*converge.State // the latest of every peer that any of its leaders was told while it led
	lives       int
}

func newCluster(t *topic, at *site, p keyhash.Profile, segments int) *cluster {
	w := at.w
	c := &cluster{w: w, topic: t, site: at, name: at.name, profile: p, hot: map[uint16]bool{}, merged: map[uint16]int{},
		told: map[string]*converge.State{}}
	c.caps = layout.Caps{MaxSegments: []int{8, 64, 64, 64, 64, 64}[w.rng.IntN(6)], MaxBuckets: []int{4, 64, 64, 64}[w.rng.IntN(4)]}
	c.create(segments)
	return c
}

// String names the cluster and the topic.
func (c *cluster) String() string { return c.name + "/" + c.topic.name[len("topic://t/n/"):] }

// create makes a new life of the topic.
func (c *cluster) create(segments int) {
	c.lives++
	segs := make([]layout.Segment, segments)
	starts := append([]uint16{0}, layout.EqualWidth(segments)...)
	for i := range segs {
		end := uint16(0xFFFF)
		if i+1 < segments {
			end = starts[i+1] - 1
		}
		segs[i] = layout.Segment{ID: uint64(i), Range: layout.Range{Start: starts[i], End: end}, State: layout.Active,
			Profile: c.profile, BucketsKnown: true}
	}
	l, err := layout.New(1, segs)
	if err != nil {
		panic(err)
	}
	c.store = converge.Local{Layout: l, Instance: fmt.Sprintf("%s-%d", c.name, c.lives)}
	c.term, c.nextID = 0, uint64(segments)
	c.version++
	c.past = []layout.Shape{c.shape()}
}

func (c *cluster) shape() layout.Shape {
	s, err := layout.ShapeOf(c.store.Layout)
	if err != nil {
		panic(err)
	}
	return s
}

func (c *cluster) member() bool { return slices.Contains(c.w.members, c.name) }

// speaks says whether the cluster takes part in the exchange.
func (c *cluster) speaks() bool { return c.member() && c.site.supported }

func (c *cluster) start() {
	for _, at := range c.shape().Starts {
		c.hot[at] = c.w.rng.IntN(3) > 0
	}
	c.elect()
	c.w.after(c.w.rng.Int64N(20_000), c.policy)
}

// elect makes a new leader: mostly a new controller, at times one that has led before.
func (c *cluster) elect() {
	c.term++
	c.store.Term = c.term
	c.version++ // the term is stored with the topic
	var k *controller
	if n := len(c.retired); n > 0 && c.w.rng.IntN(2) == 0 {
		k, c.retired = c.retired[n-1], c.retired[:n-1]
		c.w.count("fault led-before")
	} else {
		m, err := converge.New(machineConfig(c))
		if err != nil {
			panic(err)
		}
		k = &controller{c: c, m: m}
	}
	k.alive, k.ledAt, k.term, k.wake = true, c.w.now, c.term, -1
	k.got, k.heard = map[string]*converge.State{}, map[string]bool{}
	k.learned = nil
	k.without, k.called = map[string]bool{}, map[string]bool{}
	k.open, k.pushed = map[uint64]*converge.State{}, map[pushKey]*converge.State{}
	k.b = c.site.place(c.topic.name)
	k.b.hosts[c.topic.name] = k
	c.leader, c.controllers = k, append(c.controllers, k)
	c.w.tracef("%s elects a leader at %s, term %d", c, k.b.address, c.term)
	k.version = c.version
	k.m.SetCaps(c.w.now, c.caps)
	k.m.Store(c.w.now, c.store)
	k.m.Members(c.w.now, c.site.members)
	k.m.Cold(c.w.now, c.coldSet())
	k.m.Lead(c.w.now, c.term)
	k.run()
}

// coldSet returns the boundaries that the policy calls cold now.
func (c *cluster) coldSet() (out []uint16) {
	for _, o := range c.topic.clusters {
		for _, at := range o.shape().Starts {
			if at != 0 && !c.hot[at] {
				out = append(out, at)
			}
		}
	}
	return out
}

// commit is the store's compare-and-set. It reports whether the change is stored.
func (c *cluster) commit(k *controller, mu *converge.Mutation) bool {
	switch {
	case mu.Expect == 0:
		if k.version != c.version {
			c.w.fail(check.StaleWrite, "cluster %s: a controller of term %d writes over term %d", c.name, k.term, c.term)
			return false
		}
	case mu.Term != c.term || mu.Expect != c.store.Layout.Epoch():
		return false
	}
	before := c.shape()
	if len(mu.Ops) > 0 {
		next, err := layout.Apply(c.store.Layout, mu.Ops, c.nextID, 0)
		if err != nil {
			c.w.fail(check.RingTiles, "cluster %s: %v", c.name, err)
			return false
		}
		if next.Epoch() != c.store.Layout.Epoch()+1 {
			c.w.fail(check.RingTiles, "cluster %s: epoch %d after %d", c.name, next.Epoch(), c.store.Layout.Epoch())
		}
		for _, op := range mu.Ops {
			c.nextID += uint64(len(op.Children))
		}
		c.store.Layout = prune(next, c.w.rng.IntN(4) == 0)
	}
	c.store.Splits, c.store.Marks = mu.Splits, mu.Marks
	c.version++
	k.version = c.version
	c.w.count("branch commit-" + mu.Why.String())
	c.w.tracef("%s commits %s: %v", c, mu.Why, c.shape().Starts)
	c.checkCommit(before, mu)
	c.past = append(c.past, c.shape())
	return true
}

// prune forgets sealed segments, at times.
func prune(l *layout.Layout, now bool) *layout.Layout {
	if !now {
		return l
	}
	var kept []layout.Segment
	for _, s := range l.Active() {
		kept = append(kept, *s)
	}
	out, err := layout.New(l.Epoch(), kept)
	if err != nil {
		panic(err)
	}
	return out
}
