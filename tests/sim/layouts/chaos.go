// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"slices"

	"georep/core/keyhash"
	"georep/core/layout"
)

func (w *World) isMember(name string) bool { return slices.Contains(w.members, name) }

// chaos lets things happen to clusters and links, until the calm.
func (w *World) chaos() {
	if w.calm {
		return
	}
	c := w.clusters[w.rng.IntN(len(w.clusters))]
	switch {
	case w.chance("crash", 0.15):
		if k := c.leader; k != nil {
			w.tracef("%s loses its leader", c)
			k.stop()
			w.replace(c.site)
		}
	case w.chance("broker-crash", 0.1):
		c.site.brokers[w.rng.IntN(len(c.site.brokers))].crash()
		w.replace(c.site)
	case w.chance("stale-leader", 0.15): // it goes on, and does not know
		if k := c.leader; k != nil {
			c.leader = nil
			c.elect()
			w.after(w.rng.Int64N(60_000), func() {
				if k.alive && k != c.leader {
					k.resign()
				}
			})
		}
	case w.chance("one-way-cut", 0.15):
		o := w.sites[w.rng.IntN(len(w.sites))]
		link := [2]string{c.name, o.name}
		w.cut[link] = true
		w.after(w.rng.Int64N(120_000), func() { delete(w.cut, link) })
	case w.isMember(c.name) && len(w.members) > 1 && w.chance("member-left", 0.04):
		w.leave(c.site)
	case w.chance("recreated", 0.02):
		w.tracef("%s deletes its topic and makes it again", c)
		for _, k := range slices.Clone(c.controllers) {
			k.stop()
		}
		c.retired, c.topic.related = nil, false
		c.create(1 + w.rng.IntN(4))
		c.elect()
	case w.chance("caps-changed", 0.03):
		c.caps.MaxSegments = []int{8, 64}[w.rng.IntN(2)]
		if c.leader != nil {
			c.leader.m.SetCaps(w.now, c.caps)
			c.leader.run()
		}
	}
	w.after(w.rng.Int64N(12_000), w.chaos)
}

// replace lets the topics of a site that have no leader elect one, before long.
func (w *World) replace(s *site) {
	for _, t := range w.topics {
		if c := t.find(s.name); c.leader == nil {
			w.after(w.rng.Int64N(15_000), func() {
				if c.leader == nil {
					c.elect()
				}
			})
		}
	}
}

// policy lets a cluster's own policy and operator wish for something.
func (c *cluster) policy() {
	w := c.w
	if w.calm {
		return
	}
	w.after(w.rng.Int64N(40_000), c.policy)
	k := c.leader
	if n := len(c.controllers); n > 0 && w.rng.IntN(4) == 0 {
		k = c.controllers[w.rng.IntN(n)] // a stale one wishes, too
	}
	if k == nil {
		return
	}
	active := c.store.Layout.Active()
	i := w.rng.IntN(len(active))
	s := active[i]
	k.wishes++
	w.events++
	switch w.rng.IntN(8) {
	case 0, 1, 2:
		if len(active) < 24 {
			if mid, ok := layout.Midpoint(s.Range); ok {
				c.hot[mid] = true
				c.tellCold()
			}
			k.m.WishSplit(w.now, k.wishes, s.ID)
		}
	case 3:
		if n := []int{2, 3, 4, 8}[w.rng.IntN(4)]; c.profile != keyhash.M1 {
			k.m.WishRebucket(w.now, k.wishes, s.ID, layout.EqualWidth(n))
		}
	case 4, 5:
		c.reheat(0.4)
		c.tellCold()
	case 6:
		if i+1 < len(active) {
			k.m.WishMerge(w.now, k.wishes, s.ID, active[i+1].ID)
		}
	case 7:
		k.m.CancelMark(w.now, k.wishes, s.Range.Start, s.Range.Start)
	}
	k.run()
}

// tellCold tells every controller, stale ones too, what the policy finds cold.
func (c *cluster) tellCold() {
	for _, k := range slices.Clone(c.controllers) {
		k.m.Cold(c.w.now, c.coldSet())
		k.run()
	}
}

// reheat draws which boundaries are hot.
func (c *cluster) reheat(p float64) {
	c.hot = map[uint16]bool{}
	for _, o := range c.topic.clusters {
		for _, at := range o.shape().Starts {
			if c.w.rng.Float64() < p {
				c.hot[at] = true
			}
		}
	}
}
