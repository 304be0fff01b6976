// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"slices"

	"georep/core/layout"
)

// PeerStatus is what the machine knows of one member of the replication set.
type PeerStatus struct {
	Cluster   string
	Support   Support
	Known     bool    // it has told its state since this leader leads
	Instance  string  // of its latest state, "" where there is none
	Version   Version // of that state
	AgeMillis int64   // of that state; -1: none
	// SilentMillis is for how long nothing has been heard: the age of its state, else since this leader leads and it
	// is a member. 0 where it takes no part and never did.
	SilentMillis int64
	Acked        Version // our state that it has made durable, zero for none
	Diverged     []layout.Diverged
	Converged    int      // ranges that agree
	LagMillis    int64    // since its layout differs; else how long the last difference lasted
	Cold         []uint16 // boundaries that it marks cold
	Caps         layout.Caps
	Refused      string // why its layout is not folded in: the caps, its profile
	Declined     string // why it does not fold in ours, "" where it does
	Trouble      string // the last failure of the exchange; "" after a success
	Failures     int    // in a row
}

// Status is the machine's view on the topic.
type Status struct {
	Leading   bool
	Version   Version // of our own state
	Caps      layout.Caps
	Effective layout.Caps
	Cold      []uint16
	Marks     []Mark
	Why       Why      // of the mutation under way, 0 for none
	Awaits    string   // the peer that our own splits wait for, "" for none
	Dissent   []string // the peers that what is cold here waits for: they need some of it, or have not answered
	NoRing    string   // why the layout cannot be exchanged, "" where it can
	Peers     []PeerStatus
}

// Status returns what status calls and metrics show.
func (m *Machine) Status(now int64) Status {
	m.at(now)
	s := Status{Leading: m.leading, Caps: m.cfg.Caps, Effective: m.EffectiveCaps(), Marks: m.local.Marks}
	if m.ringErr != nil {
		s.NoRing = m.ringErr.Error()
	}
	if m.own != nil {
		s.Version, s.Cold = m.own.Version, m.own.Cold
	}
	if m.mut != nil {
		s.Why = m.mut.m.Why
	}
	if m.leading {
		s.Awaits, s.Dissent = m.awaited(), m.dissent()
	}
	for _, p := range m.peers {
		s.Peers = append(s.Peers, m.peerStatus(p))
	}
	return s
}

// dissent returns who keeps alive what this cluster would let go.
func (m *Machine) dissent() (names []string) {
	cold, coldBuckets := m.coldHere()
	for _, p := range m.peers {
		keeps := slices.ContainsFunc(cold, func(at uint16) bool { return !m.lets(p, lacks(at)) }) ||
			slices.ContainsFunc(coldBuckets, func(c ColdBuckets) bool {
				r := m.shape.Range(m.shape.Index(c.Segment))
				return slices.ContainsFunc(c.Starts, func(b uint16) bool { return !m.lets(p, spares(r, b)) })
			})
		if keeps {
			names = append(names, p.name)
		}
	}
	return names
}

func (m *Machine) peerStatus(p *peer) PeerStatus {
	out := PeerStatus{Cluster: p.name, Support: p.support, Known: p.state != nil, AgeMillis: -1,
		Refused: p.refused, Declined: p.declined, Trouble: p.trouble, Failures: p.failures, LagMillis: p.lag}
	if p.diverged {
		out.LagMillis = m.now - p.divergedAt
	}
	if p.acked != nil {
		out.Acked = *p.acked
	}
	if p.state == nil {
		if m.leading && p.support != Unsupported {
			out.SilentMillis = m.now - max(m.gainedAt, p.since)
		}
		return out
	}
	out.SilentMillis = m.now - p.at
	out.Instance = p.state.Instance
	out.Version, out.AgeMillis, out.Cold, out.Caps = p.state.Version, m.now-p.at, p.state.Cold, p.state.Caps
	if m.ringErr == nil && m.compatible(p) {
		out.Diverged, out.Converged, _ = layout.Diff(m.shape, p.state.Shape) // profiles are equal
	}
	return out
}

// Drained tells whether every segment that the layout stored last has sealed is drained
// towards all remotes; the convergence lag ends only then. It holds until the layout
// changes.
func (m *Machine) Drained(now int64, drained bool) {
	m.at(now)
	m.drained = drained
	m.settle()
}

// clock measures the convergence lag: from a peer's layout being seen to its being
// folded in and drained.
func (m *Machine) clock(p *peer) {
	if p.state == nil || m.ringErr != nil || !m.compatible(p) {
		return
	}
	switch {
	case !p.diverged && !p.folded:
		p.diverged, p.divergedAt = true, m.now
	case p.diverged && p.folded && m.drained:
		p.diverged, p.lag = false, m.now-p.divergedAt
	}
}

// State returns what peers are told now, nil while there is nothing to tell.
func (m *Machine) State() *State { return m.own }
