// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"fmt"
	"slices"

	"georep/core/keyhash"
	"georep/core/layout"
	"georep/tests/sim/check"
)

const (
	quietMillis = 25 * 60_000 // how long it may take at most to agree once all is calm
	graceMillis = 60_000      // how long what was said before the calm may still be on its way
	stayMillis  = 10 * 60_000 // how long what is agreed has to stay so
)

// settle stops all faults; policies make up their minds, and everything heals.
func (w *World) settle() {
	w.calm, w.calmAt = true, w.now
	w.tracef("calm")
	w.cut = map[[2]string]bool{}
	for _, s := range w.sites {
		w.join(s, "back")
		s.supported = s.supported || s.half
	}
	for _, c := range w.clusters {
		for _, k := range slices.Clone(c.controllers) {
			if k != c.leader {
				k.resign()
			}
		}
		if c.leader == nil {
			c.elect()
		}
	}
	for _, c := range w.clusters {
		c.reheat(0.25)
	}
	w.rederive()
}

// rederive lets the policies say again what is cold, as they do once a minute.
func (w *World) rederive() {
	for _, c := range w.clusters {
		c.tellCold()
	}
	w.after(60_000, w.rederive)
}

// stay plays on once all have agreed: nothing may come of it any more. Were a run over
// with the first moment at which all is well, nobody would see what a merge comes to.
func (w *World) stay() {
	at := w.now
	w.tracef("agreed %d ms after the calm", at-w.calmAt)
	for until := max(at, w.calmAt+graceMillis) + stayMillis; w.first == nil && w.now < until && w.next(); {
	}
	for late := w.now + 1000; w.first == nil && !w.agreed(); { // a mark may just be expiring
		if w.now > late || !w.next() {
			w.stuck(fmt.Sprintf("agreed %d ms after the calm, and not any more", at-w.calmAt))
		}
	}
}

// agreed says whether all is as it has to be once everybody is quiet.
func (w *World) agreed() bool {
	return !slices.ContainsFunc(w.topics, func(t *topic) bool { return !t.agreed(w) })
}

func (t *topic) agreed(w *World) bool {
	alike := map[keyhash.Profile]*cluster{} // one of each that route alike: others do not follow
	for _, c := range t.clusters {
		if !c.speaks() {
			continue
		}
		if c.leader == nil || c.leader.busy() {
			return false
		}
		if first := alike[c.profile]; first == nil {
			alike[c.profile] = c
		} else if !c.shape().Equal(first.shape()) && !t.capped(w) {
			return false
		}
	}
	return t.nothingToMerge(w)
}

// capped says whether some fold is refused for its size: then layouts may differ. Those
// that are refused for the other's way to route are no reason.
func (t *topic) capped(w *World) bool {
	for _, c := range t.clusters {
		if c.leader == nil || !c.speaks() {
			continue
		}
		for _, p := range c.leader.m.Status(w.now).Peers {
			if p.Refused != "" && t.find(p.Cluster).profile == c.profile {
				w.counts["branch capped-at-the-end"] = 1
				return true
			}
		}
	}
	return false
}

// nothingToMerge says whether every boundary that is left is needed somewhere.
func (t *topic) nothingToMerge(w *World) bool {
	for _, c := range t.clusters {
		if !c.speaks() {
			continue
		}
		var log layout.SplitLog
		for _, o := range t.clusters {
			if o.speaks() && o.profile == c.profile {
				log = log.Join(o.leader.m.State().Splits)
			}
		}
		s := c.shape()
		for _, at := range s.Starts {
			if at != 0 && w.coldEverywhere(c, at) && t.siblings(log, c.profile, at) && t.mayHold(s, at) {
				return false
			}
		}
	}
	return true
}

// siblings says whether the boundary may go by the log wherever it is.
func (t *topic) siblings(log layout.SplitLog, p keyhash.Profile, at uint16) bool {
	return !slices.ContainsFunc(t.clusters, func(c *cluster) bool {
		return c.speaks() && c.profile == p && c.shape().HasBoundary(at) && log.Siblings(c.shape(), at) != nil
	})
}

// mayHold says whether one segment may have the buckets of both that meet at the
// boundary.
func (t *topic) mayHold(s layout.Shape, at uint16) bool {
	i := s.Index(at)
	all := slices.Concat(s.Buckets[i-1], s.Buckets[i])
	slices.Sort(all)
	n := len(slices.Compact(all)) + 1
	for _, c := range t.clusters {
		if c.speaks() && n > c.caps.MaxBuckets && n > s.MaxBuckets() {
			return false
		}
	}
	return true
}

// coldEverywhere asks those that c exchanges layouts with.
func (w *World) coldEverywhere(c *cluster, at uint16) bool {
	for _, o := range c.topic.clusters {
		if o.speaks() && o.profile == c.profile && o.hot[at] {
			return false
		}
	}
	return true
}

func (w *World) stuck(text string) {
	text += ":"
	for _, c := range w.clusters {
		if c.member() {
			text += fmt.Sprintf("\n    %s %v", c, c.shape().Starts)
			if c.leader != nil {
				text += fmt.Sprintf(" %+v", c.leader.m.Status(w.now))
			}
		}
	}
	w.fail(check.LayoutsAgree, "%s", text)
}
