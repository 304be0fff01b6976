// SPDX-License-Identifier: Apache-2.0

package exchange

// Counters of the calls to one cluster, since the sender was made.
type Counters struct {
	Calls    uint64 // that had an answer
	Failures uint64 // that had none
	States   uint64 // that were sent
	Replaced uint64 // pushes that a newer one took the place of
	Moved    uint64 // pushes that were passed on to the topic's leader
}

// PeerStatus is what an operator sees of the calls to one cluster.
type PeerStatus struct {
	Cluster       string
	Waiting       int   // pushes
	UnderWay      int   // calls
	OldestMillis  int64 // how long the oldest push waits, 0: none does
	Count         Counters
	RememberedWay int // topics whose leader's address is known
}

// Status returns what there is to see, by cluster.
func (s *Sender[S]) Status(now int64) []PeerStatus {
	s.at(now)
	out := make([]PeerStatus, 0, len(s.peers))
	for _, p := range s.peers {
		st := PeerStatus{Cluster: p.name, Count: p.count, RememberedWay: len(p.leaders)}
		for _, l := range p.lanes {
			st.Waiting += len(l.queue)
			if l.call != 0 {
				st.UnderWay++
			}
			if len(l.queue) > 0 {
				st.OldestMillis = max(st.OldestMillis, s.now-l.queue[0].since)
			}
		}
		out = append(out, st)
	}
	return out
}
