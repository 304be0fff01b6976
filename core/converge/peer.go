// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"fmt"

	"georep/core/internal/mutant"
)

// Support says whether a peer takes part.
type Support uint8

// Support of a peer.
const (
	Unknown     Support = 0 // has not answered yet
	Supported   Support = 1
	Unsupported Support = 2 // has no plugin, none that exchanges layouts, or does not replicate the topic to us
)

// String returns the support as status shows it.
func (s Support) String() string {
	switch s {
	case Supported:
		return "supported"
	case Unsupported:
		return "unsupported"
	}
	return "unknown"
}

// doubtRounds is for how many rounds of anti-entropy a peer has to contradict what is
// known of it, see [peer.contradict].
const doubtRounds = 3

// peer is another member of the replication set.
type peer struct {
	name     string
	since    int64 // a member; 0: before this leader
	support  Support
	state    *State // the latest, nil: unknown
	tried    bool   // a call of this leader to it has ended, whichever way
	answered bool   // it has answered one with its state: what it only pushes may be late
	at       int64  // when it said so last
	doubted  bool   // its own answers are below that state
	doubtAt  int64  // since when
	refused  string // why its layout is not folded in: caps, or a profile
	declined string // why it does not fold in ours
	folded   bool   // our layout has all that it needs

	pending *pending // its push that waits for the fold

	push     uint64 // token of ours under way; 0: none
	pushedAt int64
	told     Version  // what that push says
	ask      bool     // whether it is to be asked which instance lives
	acked    *Version // the last of ours that it has made durable
	ackAt    int64
	failures int
	nextTry  int64
	trouble  string // the last thing that went wrong

	diverged   bool  // its layout, less what it marks cold, is not in ours, or was not drained
	divergedAt int64 // since when
	lag        int64 // how long the last difference took
}

type pending struct {
	token uint64
	since int64
}

// reset forgets what an earlier leader was told: a new one starts with nothing.
func (p *peer) reset() {
	if mutant.On(mutant.NewLeaderMerges) {
		p.push, p.acked = 0, nil
		return
	}
	*p = peer{name: p.name, lag: p.lag}
}

// Received takes a peer's push. It is answered with token, at once or after the
// fold. The state's slices are the machine's from now on.
func (m *Machine) Received(now int64, token uint64, s *State) {
	m.at(now)
	if !m.leading {
		m.refuse(s.Cluster, token, NotLeader, "")
		return
	}
	if err := s.Check(); err != nil {
		m.refuse(s.Cluster, token, BadState, err.Error())
		return
	}
	p := m.peer(s.Cluster)
	if p == nil {
		m.refuse(s.Cluster, token, NotMember, fmt.Sprintf("%q is not in the replication set", s.Cluster))
		return
	}
	if p.state != nil && p.state.Instance != s.Instance {
		// Another life of its topic, before or after the one that is known: a push may be
		// late, the answer to one of ours is not.
		p.ask, p.nextTry = true, m.now
		m.refuse(s.Cluster, token, Stale, "instance "+p.state.Instance+" is known; asking back")
		m.settle()
		return
	}
	if !p.take(m, s) {
		m.refuse(s.Cluster, token, Stale, "state "+p.state.Version.String()+" is known")
		m.settle()
		return
	}
	if p.failures > 0 { // it is there: what it could not be told it can be told now
		p.nextTry = m.now
	}
	p.answer(m, Busy, "a newer push came")
	p.pending = &pending{token: token, since: m.now}
	m.settle()
}

func (m *Machine) refuse(cluster string, token uint64, c Code, text string) {
	m.actions = append(m.actions, Action{Kind: Answer, Peer: cluster, Token: token, Code: c, Text: text, State: m.own})
}

// take keeps s, unless it is older than what is known of the same instance.
func (p *peer) take(m *Machine, s *State) bool {
	p.support = Supported
	if p.state != nil && p.state.Instance == s.Instance && s.Version.Compare(p.state.Version) < 0 &&
		!mutant.On(mutant.LowerStateTaken) {
		return false
	}
	p.keep(m, s)
	return true
}

// keep takes s for the peer's state now. Mostly it is what is known, said once more:
// then nothing follows that did not follow before.
func (p *peer) keep(m *Machine, s *State) {
	if p.state == nil || p.state.Version != s.Version || !p.state.same(s) {
		m.fresh = false
	}
	p.state, p.at, p.doubted = s, m.now, false
}

// contradict takes the peer's answer s, which is below what it is known to have
// pushed. Once that is a leader of it that does not know it is none any more. Where all
// it answers is below for so long that such a leader must have noticed, and nobody
// repeats what is known, the peer has never said that: somebody else has under its
// name, or its store was set back. Its own word counts then; else one push with a high
// epoch would lock it out for as long as this leader leads.
func (p *peer) contradict(m *Machine, s *State) {
	p.trouble = fmt.Sprintf("answers with state %s, and %s was pushed under its name", s.Version, p.state.Version)
	if !p.doubted {
		p.doubted, p.doubtAt = true, m.now
	} else if m.now >= p.doubtAt+doubtRounds*m.cfg.AntiEntropyMillis {
		p.keep(m, s)
	}
}

// answer ends the peer's push that waits, if there is one.
func (p *peer) answer(m *Machine, c Code, text string) {
	if p.pending == nil {
		return
	}
	m.actions = append(m.actions, Action{Kind: Answer, Peer: p.name, Token: p.pending.token, Code: c, Text: text,
		State: m.own})
	p.pending = nil
}

// answerPending answers once the own layout has what the peer needs, durably.
func (m *Machine) answerPending(p *peer) {
	if p.pending == nil {
		return
	}
	switch {
	case m.ringErr != nil:
		p.answer(m, NoRing, m.ringErr.Error())
	case p.refused != "":
		code := Capped
		if !m.compatible(p) {
			code = NoRing
		}
		p.answer(m, code, p.refused)
	case p.folded || mutant.On(mutant.AckBeforeCommit):
		p.answer(m, OK, "")
	case m.foldAwaits() != "": // at once: the peer's answer to us may wait for just this one
		p.answer(m, Busy, "a new leader asks "+m.foldAwaits()+" first")
	case m.now >= p.pending.since+m.cfg.AnswerMillis:
		p.answer(m, Busy, "the layout is still being changed")
	}
}

// compatible says whether the peer's state can be compared with ours.
func (m *Machine) compatible(p *peer) bool {
	return p.state != nil && p.state.Shape.Profile == m.shape.Profile
}

// dueAt returns when the peer is to be told next, or when a push is given up that
// nobody has ended: a driver may lose that, and the peer must not be silent for ever.
func (p *peer) dueAt(m *Machine) int64 {
	if p.push != 0 {
		return p.pushedAt + 2*m.cfg.AntiEntropyMillis
	}
	if p.acked != nil && *p.acked == m.own.Version && !p.ask {
		return max(p.nextTry, p.ackAt+m.cfg.AntiEntropyMillis)
	}
	return p.nextTry
}

func (m *Machine) pushTo(p *peer) {
	if m.own == nil || m.now < p.dueAt(m) {
		return
	}
	if p.push != 0 {
		p.push = 0
		p.failed(m, "nobody told how the last push ended", 0)
		return
	}
	p.push, p.pushedAt, p.told, p.ask = m.token(), m.now, m.own.Version, false
	m.actions = append(m.actions, Action{Kind: Push, Peer: p.name, Token: p.push, State: m.own})
}

// Answered takes the peer's answer to a push: how it took ours, and its own state
// (nil where it told none).
func (m *Machine) Answered(now int64, name string, token uint64, c Code, text string, s *State) {
	m.at(now)
	p := m.peer(name)
	if p == nil || p.push != token {
		return // of an earlier leader, or of a peer that left
	}
	p.push, p.tried = 0, true
	var err error
	if s != nil {
		if err = s.Check(); err == nil && s.Cluster != name {
			err = fmt.Errorf("%w: cluster: %q answers for %q", ErrState, s.Cluster, name)
		}
	}
	switch {
	case err != nil:
		p.failed(m, err.Error(), 0)
	case c == OK || c == Capped || c == NoRing: // told; what it refuses is refused until something changes
		p.failures, p.nextTry, p.trouble, p.declined = 0, m.now, "", text
		told := p.told
		p.acked, p.ackAt = &told, m.now
	case c == NotMember || c == NoTopic: // it replicates nothing to us and never tells: nobody waits for it until it does
		p.failed(m, c.String()+": "+text, 0)
		p.support, p.nextTry = Unsupported, m.now+m.cfg.AntiEntropyMillis
		p.answered = p.state != nil // what it pushed before holds
	default:
		p.failed(m, c.String()+": "+text, 0)
	}
	if err == nil && s != nil {
		if p.state != nil && p.state.Instance != s.Instance {
			p.answer(m, Stale, "instance "+s.Instance+" is known")
		}
		if !p.take(m, s) && p.pushedAt > p.at { // else it may have crossed the push that is known
			p.contradict(m, s)
		}
		p.answered = true // what is known of it is that, or newer
	}
	m.settle()
}

// PushFailed takes a push without an answer. unsupported: the remote has no such
// call. jitter, 0..1000, is the driver's random number.
func (m *Machine) PushFailed(now int64, name string, token uint64, unsupported bool, text string, jitter int) {
	m.at(now)
	p := m.peer(name)
	if p == nil || p.push != token {
		return
	}
	p.push, p.tried = 0, true
	p.failed(m, text, jitter)
	if unsupported {
		p.support = Unsupported // what it said before holds: one broker of it may lack the plugin
		p.nextTry = m.now + m.cfg.AntiEntropyMillis
	}
	m.settle()
}

func (p *peer) failed(m *Machine, text string, jitter int) {
	p.failures++
	p.trouble = text
	p.nextTry = m.now + backoff(m.cfg.RetryFirstMillis, m.cfg.RetryMaxMillis, p.failures, jitter)
}
