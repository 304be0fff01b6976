// SPDX-License-Identifier: Apache-2.0

package verify

import "georep/core/entry"

// Marker types of PulsarApi.proto that end a transaction in a log.
const (
	markerCommit = 21
	markerAbort  = 22
)

type txnState uint8

const (
	open txnState = iota
	committed
	aborted
)

type txn struct{ state txnState }

// txn returns the number of m's transaction, from 1; 0 without one.
func (l *Log) txn(m *entry.Metadata) int32 {
	if !m.HasTxn {
		return 0
	}
	key := [2]uint64{m.TxnMost, m.TxnLeast}
	n, ok := l.txnOf[key]
	if !ok {
		l.txns = append(l.txns, txn{})
		n = int32(len(l.txns))
		l.txnOf[key] = n
	}
	return n
}

// marker notes how a transaction ended; markers hold no message.
func (l *Log) marker(m *entry.Metadata) {
	n := l.txn(m)
	switch {
	case n == 0:
	case m.Marker == markerCommit:
		l.txns[n-1].state = committed
	case m.Marker == markerAbort:
		l.txns[n-1].state = aborted
	}
}

// pending says whether e belongs to a transaction that has not ended.
func (l *Log) pending(e *stored) bool { return e.txn > 0 && l.txns[e.txn-1].state == open }
