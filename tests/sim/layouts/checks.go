// SPDX-License-Identifier: Apache-2.0

package layouts

import (
	"slices"

	"georep/core/converge"
	"georep/core/layout"
	"georep/tests/sim/check"
)

// checkCommit looks at what the store holds after a mutation.
func (c *cluster) checkCommit(before layout.Shape, mu *converge.Mutation) {
	after := c.shape()
	if mu.Why != converge.WhyMerge && !holdsAll(after, before) {
		c.w.fail(check.NoneVanishes, "cluster %s: a %s took a boundary away: %v, before %v", c.name, mu.Why, after, before)
	}
	if len(mu.Ops) == 0 && !after.Equal(before) {
		c.w.fail(check.NoneVanishes, "cluster %s: a change of properties changed the layout", c.name)
	}
	for _, op := range mu.Ops {
		c.w.count("branch op-" + op.Kind.String())
		if op.Kind != layout.SplitExplicit && op.Kind != layout.SplitMidpoint {
			continue
		}
		if c.topic.related && len(op.Children) > 2 {
			c.w.count("branch deep-cut")
		}
		if c.topic.related && !nests(before.Range(before.Index(op.Children[0].Range.Start)), op.Children[1:]) {
			c.w.fail(check.SiblingsOnly, "cluster %s: a %s cuts at %v, where no midpoint splits do: %v before", c.name, mu.Why,
				op.Children, before.Starts)
		}
		for _, ch := range op.Children[1:] {
			if _, known := c.store.Splits.Find(ch.Range.Start); !known {
				c.w.fail(check.SplitLogged, "cluster %s: the split at %d is not in the log %v", c.name, ch.Range.Start,
					c.store.Splits)
			}
		}
	}
	if c.w.calm {
		c.checkMerged(before, after)
	}
}

// nests says whether the children but the first of a split of r begin where midpoint
// splits of it, of its halves, and so on, would begin them.
func nests(r layout.Range, children []layout.Child) bool {
	if len(children) == 0 {
		return true
	}
	mid, ok := layout.Midpoint(r)
	i := slices.IndexFunc(children, func(c layout.Child) bool { return c.Range.Start == mid })
	return ok && i >= 0 && nests(layout.Range{Start: r.Start, End: mid - 1}, children[:i]) &&
		nests(layout.Range{Start: mid, End: r.End}, children[i+1:])
}

// checkMerged counts what is merged away in the calm, and wants it to stay away. Not in
// the first minute: for so long calls that were made before the calm are on their way, a
// split that was begun then may still be made, and who takes part only since then has not
// been heard. Any of that may undo a merge that all had agreed to, before they are told
// again that nobody needs it. But once: what comes back twice goes round for ever.
func (c *cluster) checkMerged(before, after layout.Shape) {
	for _, at := range before.Starts {
		if !after.HasBoundary(at) {
			c.w.count(MergedInCalm)
			c.merged[at]++
		}
	}
	for _, at := range after.Starts {
		n := c.merged[at]
		if n == 0 || before.HasBoundary(at) || !c.w.coldEverywhere(c, at) {
			continue
		}
		if n == 1 && c.w.now < c.w.calmAt+graceMillis {
			c.w.count("branch merge-undone-early")
			continue
		}
		c.w.count(SplitAgain)
		c.w.fail(check.MergeAgreed, "cluster %s: %d was merged away %d times, and folded back", c.name, at, n)
	}
}

// checkMutation looks at what a controller is about to do, against what it has
// been told since it leads.
func (k *controller) checkMutation(mu *converge.Mutation) {
	c, w := k.c, k.c.w
	if k.version != c.version || mu.Expect != c.store.Layout.Epoch() {
		return // read before the store changed: the compare-and-set will fail
	}
	before := c.shape()
	if len(mu.Ops) == 0 {
		return
	}
	l, err := layout.Apply(c.store.Layout, mu.Ops, c.nextID, 0)
	if err != nil {
		w.fail(check.RingTiles, "cluster %s: %v", c.name, err)
		return
	}
	after, _ := layout.ShapeOf(l) // it was one before
	k.checkCaps(before, after)
	switch mu.Why {
	case converge.WhyPolicy:
		for _, name := range c.site.members {
			if name != c.name && !k.heard[name] && w.now < k.ledAt+60_000 {
				w.fail(check.LeaderWaits, "cluster %s splits %d ms after its election, without a word of %s", c.name,
					w.now-k.ledAt, name)
			}
		}
	case converge.WhyFold:
		for _, name := range c.site.members {
			if name != c.name && !k.called[name] && w.now < k.ledAt+60_000 {
				w.fail(check.LeaderWaits, "cluster %s folds %d ms after its election, and no call to %s has ended", c.name,
					w.now-k.ledAt, name)
			}
		}
		k.checkFold(before, after)
	case converge.WhyMerge:
		k.checkMerge(before, after)
	}
}

func (k *controller) checkCaps(before, after layout.Shape) {
	caps := k.c.caps
	for _, s := range k.got {
		caps.MaxSegments = min(caps.MaxSegments, s.Caps.MaxSegments)
		caps.MaxBuckets = min(caps.MaxBuckets, s.Caps.MaxBuckets)
	}
	if n := after.Len(); n > before.Len() && n > caps.MaxSegments {
		k.c.w.fail(check.WithinCaps, "cluster %s grows to %d segments, %d allowed", k.c.name, n, caps.MaxSegments)
	}
	if n := after.MaxBuckets(); n > before.MaxBuckets() && n > caps.MaxBuckets {
		k.c.w.fail(check.WithinCaps, "cluster %s grows to %d buckets, %d allowed", k.c.name, n, caps.MaxBuckets)
	}
}

// word returns what the leader has been told of a peer; or what one before it was told
// there that is newer, unless it was the peer's answer that was old: a controller there
// did not know yet that it led no more.
func (k *controller) word(name string) *converge.State {
	s, told := k.got[name], k.c.told[name]
	if s != nil && told != nil && told.Instance == s.Instance && told.Version.Compare(s.Version) > 0 && !k.c.w.stale[s] {
		return told
	}
	return s
}

// checkFold wants a peer for every boundary that is added, one that needs it. Where only a
// late push says so, a call to its sender has failed: that happens, and is counted.
func (k *controller) checkFold(before, after layout.Shape) {
	for i, at := range after.Starts {
		r := after.Range(i)
		needs := func(s *converge.State) bool { return s.Shape.HasBoundary(at) && !slices.Contains(s.Cold, at) }
		needed, late := before.HasBoundary(at), !before.HasBoundary(at)
		for name, s := range k.got {
			needed, late = needed || needs(s), late && !needs(k.word(name))
		}
		if !needed {
			k.c.w.fail(check.MergeAgreed, "cluster %s folds in %d, which nobody needs", k.c.name, at)
		}
		if late {
			k.c.w.count("branch late-fold")
		}
		for _, b := range after.Buckets[i] {
			needed := slices.Contains(before.Buckets[before.Index(at)], b)
			for _, s := range k.got {
				needed = needed || needsBucket(s, r, b)
			}
			if !needed {
				k.c.w.fail(check.MergeAgreed, "cluster %s folds in bucket start %d at %s, which nobody needs", k.c.name, b, r)
			}
		}
	}
}

// checkMerge wants everybody's consent for every boundary that goes.
func (k *controller) checkMerge(before, after layout.Shape) {
	c, w := k.c, k.c.w
	log := c.store.Splits.Join(k.learned.Keep(before))
	for _, s := range k.got { // of boundaries, too, that were not here yet when another peer was heard
		if s.Shape.Profile == c.profile {
			log = log.Join(s.Splits)
		}
	}
	consent := func(what string, lets func(s *converge.State) bool) {
		for _, name := range c.site.members {
			s := k.got[name]
			if name == c.name || s == nil && k.without[name] || s != nil && s.Shape.Profile != c.profile {
				continue // takes no part
			}
			if s == nil || !lets(s) || !lets(k.word(name)) {
				w.fail(check.MergeAgreed, "cluster %s takes %s away without the consent of %s (%v)", c.name, what, name, s)
			}
		}
	}
	for _, at := range before.Starts {
		if after.HasBoundary(at) {
			continue
		}
		marked := slices.ContainsFunc(c.store.Marks, func(m converge.Mark) bool { return m.Boundary == at })
		if c.hot[at] && !marked {
			w.fail(check.MergeAgreed, "cluster %s merges at %d, which is hot there", c.name, at)
		}
		if err := log.Siblings(before, at); err != nil {
			w.fail(check.SiblingsOnly, "cluster %s: %v", c.name, err)
		}
		consent("a boundary", func(s *converge.State) bool { return !s.Shape.HasBoundary(at) || slices.Contains(s.Cold, at) })
	}
	for i, at := range before.Starts {
		r := before.Range(i)
		for _, b := range before.Buckets[i] {
			if !slices.Contains(after.Buckets[after.Index(at)], b) {
				consent("a bucket start", func(s *converge.State) bool { return !needsBucket(s, r, b) })
			}
		}
	}
}

// checkAnswer: what is answered as folded in is durable.
func (k *controller) checkAnswer(a *converge.Action, s *converge.State) {
	c := k.c
	if a.Code != converge.OK {
		return
	}
	if now := k.got[s.Cluster]; now != nil && now.Instance == s.Instance {
		s = now // the sender has said something newer since
	}
	for _, p := range slices.Backward(c.past) {
		if followed(p, s) {
			return
		}
		if k == c.leader && k.version == c.version {
			break // it knows the store as it is
		}
	}
	c.w.fail(check.AckDurable, "cluster %s acknowledges %v, its store has %v", c.name, s, c.shape())
}

// checkPeers: what a machine knows of a peer never goes back.
func (k *controller) checkPeers() {
	for _, p := range k.m.Status(k.c.w.now).Peers {
		s := k.got[p.Cluster]
		if s != nil && p.Known && p.Instance == s.Instance && p.Version.Compare(s.Version) < 0 {
			k.c.w.fail(check.PeerForward, "cluster %s believes %s of %s, and has been told %s", k.c.name, p.Version,
				p.Cluster, s.Version)
		}
	}
}

// followed says whether shape has all that the state needs, hash by hash.
func followed(shape layout.Shape, s *converge.State) bool {
	if shape.Profile != s.Shape.Profile {
		return false
	}
	for i, at := range s.Shape.Starts {
		if at != 0 && !slices.Contains(s.Cold, at) && !shape.HasBoundary(at) {
			return false
		}
		r := s.Shape.Range(i)
		for j := shape.Index(r.Start); j < shape.Len() && shape.Starts[j] <= r.End; j++ {
			for _, b := range s.Shape.Buckets[i] {
				if needsBucket(s, r, b) && !slices.Contains(shape.Buckets[j], b) {
					return false
				}
			}
		}
	}
	return true
}

func needsBucket(s *converge.State, r layout.Range, b uint16) bool {
	for i, at := range s.Shape.Starts {
		if !s.Shape.Range(i).Overlaps(r) || !slices.Contains(s.Shape.Buckets[i], b) {
			continue
		}
		cold := slices.ContainsFunc(s.ColdBuckets, func(c converge.ColdBuckets) bool {
			return c.Segment == at && slices.Contains(c.Starts, b)
		})
		if !cold {
			return true
		}
	}
	return false
}

// holdsAll says whether a has every boundary of b, on both rings.
func holdsAll(a, b layout.Shape) bool {
	for i, at := range b.Starts {
		if !a.HasBoundary(at) {
			return false
		}
		r := b.Range(i)
		for j := a.Index(at); j < a.Len() && a.Starts[j] <= r.End; j++ {
			for _, x := range b.Buckets[i] {
				if !slices.Contains(a.Buckets[j], x) {
					return false
				}
			}
		}
	}
	return true
}
