// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"slices"

	"georep/core/internal/mutant"
)

// A new leader knows nothing of its peers, and what is pushed to it may be late: said
// before something that the leader before it has acted on. So it calls them all, and
// waits; for different things, because waiting costs differently:
//
//	folds                  until its first call to each peer has ended, whichever way
//	own splits, rebuckets  until each peer has told its state, or takes no part
//	merges                 until each peer has answered with its state, or takes no part
//
// The first two grow the layout. Beyond the caps of a peer that was not heard that would
// not be undone, and what everybody let go would be cut again; neither is worth more than
// a minute. A fold waits for no peer that cannot be reached: the leader before may have
// died in the middle of one, with segments sealed that take nothing until it is done. The
// last takes away what somebody may need by now, and can wait.

// awaited returns a peer that a new leader's own splits still wait for, "" for none.
func (m *Machine) awaited() string {
	return m.waits(func(p *peer) bool { return p.support == Unknown })
}

// foldAwaits returns a peer that a new leader's folds still wait for, "" for none.
func (m *Machine) foldAwaits() string {
	if mutant.On(mutant.NewLeaderFolds) {
		return ""
	}
	return m.waits(func(p *peer) bool { return !p.tried })
}

func (m *Machine) waits(forIt func(*peer) bool) string {
	if m.now >= m.gainedAt+m.cfg.GrowWaitMillis {
		return ""
	}
	if i := slices.IndexFunc(m.peers, forIt); i >= 0 {
		return m.peers[i].name
	}
	return ""
}

// everybodyLets says whether every member lets go.
func (m *Machine) everybodyLets(goes func(*State) bool) bool {
	return !slices.ContainsFunc(m.peers, func(p *peer) bool { return !m.lets(p, goes) })
}

// lets says whether the peer's latest state is known, since this leader leads, and
// lets go. Who takes no part (no plugin, another routing profile) is not asked: nothing
// is replicated to it, and what it needs is folded in when it joins. Were it asked, two
// clusters that agree could stay apart for its sake.
func (m *Machine) lets(p *peer, goes func(*State) bool) bool {
	switch {
	case p.state == nil:
		return p.support == Unsupported || mutant.On(mutant.UnknownIsCold)
	case !p.answered && !mutant.On(mutant.PushIsLatest):
		return false
	}
	return !m.compatible(p) || goes(p.state)
}
