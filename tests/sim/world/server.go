// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/window"
	"georep/tests/sim/check"
	"georep/tests/sim/faults"
)

// server is one destination segment on its broker: log, dedup table, producers.
type server struct {
	w      *World
	r      *remote
	dest   *check.Dest
	table  *dedup.Table // nil while unloaded
	log    []stored
	sealed bool

	snapshot   []byte
	snapshotAt int // entries of the log that it covers
	writing    []write
	producers  map[uint64]*pipe // by source segment
	blocked    map[uint64]bool  // source segments with an entry that was refused and passed by
}

type stored struct {
	meta []byte
	key  dedup.Key
}

// write is an entry that is being written to the ledger.
type write struct {
	o    *outgoing
	p    *pipe
	key  dedup.Key
	pos  entry.Position
	part int64
	meta []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// load opens the segment: snapshot first, then the log behind it.
func (s *server) load() {
	if s.table != nil {
		return
	}
	s.table = dedup.New(s.dest.Topic, 0)
	if s.snapshot != nil {
		if err := s.table.LoadSnapshot(s.snapshot); err != nil {
			s.w.chk.Fail(check.Contract, 0, "snapshot of segment %d: %v", s.dest.Seg.ID, err)
		}
	}
	for _, e := range s.log[s.snapshotAt:] {
		if err := s.table.Replay(e.meta); err != nil {
			s.w.chk.Fail(check.Contract, 0, "replay in segment %d: %v", s.dest.Seg.ID, err)
		}
	}
	s.w.events += uint64(1 + len(s.log) - s.snapshotAt)
}

func (s *server) takeSnapshot() {
	if s.table == nil {
		return
	}
	s.snapshot, s.snapshotAt = s.table.AppendSnapshot(nil), len(s.log)
	s.w.plan.Hit(faults.Snapshot)
}

// unload closes the segment. In order, what is being written is written first;
// after a crash a prefix of it is, and nobody learns about it.
func (s *server) unload(crash bool) {
	if s.table == nil {
		return
	}
	n := len(s.writing)
	if crash && s.w.rng.IntN(3) == 0 {
		s.takeSnapshot()
	}
	if crash {
		n = s.w.rng.IntN(n + 1)
	}
	for range n {
		s.persist(false)
	}
	s.writing = s.writing[:0]
	if !crash && s.w.rng.IntN(2) == 0 {
		s.takeSnapshot()
	}
	s.table = nil
	s.disconnect()
	s.w.tracef("%s segment %d unloaded, crash %v", s.r.name, s.dest.Seg.ID, crash)
}

// disconnect closes all producers; clients notice.
func (s *server) disconnect() {
	for _, p := range s.pipes() {
		p.close()
		p.clientNotices()
	}
}

func (s *server) pipes() (out []*pipe) {
	var segs []uint64
	for id := range s.producers {
		segs = append(segs, id)
	}
	slices.Sort(segs)
	for _, id := range segs {
		out = append(out, s.producers[id])
	}
	return out
}

// seal terminates the segment: a prefix of what is being written is stored.
func (s *server) seal() {
	s.load()
	for range s.w.rng.IntN(len(s.writing) + 1) {
		s.persist(true)
	}
	s.failWrites()
	s.sealed = true
	s.w.tracef("%s segment %d sealed with %d entries", s.r.name, s.dest.Seg.ID, len(s.log))
}

// failWrites loses what is being written; producers are told something went wrong.
func (s *server) failWrites() {
	if len(s.writing) == 0 {
		return
	}
	lost := slices.Clone(s.writing)
	s.writing = s.writing[:0]
	s.table.Failed()
	for _, wr := range lost {
		if wr.p.open {
			o := window.Refused
			if s.w.rng.IntN(2) == 0 {
				o = window.Unknown
			}
			wr.p.receipt(wr.o, o)
		}
	}
	for _, wr := range lost {
		wr.p.close()
	}
}

// take handles one publish.
func (s *server) take(p *pipe, o *outgoing) {
	w := s.w
	switch {
	case s.table == nil:
		p.close()
		p.clientNotices()
		return
	case s.sealed:
		p.receipt(o, sealedReceipt)
		p.close()
		return
	case w.chance(faults.Refused, 0.01):
		p.receipt(o, window.Refused)
		p.close()
		return
	case len(o.wire) > s.r.maxMessage:
		w.plan.Hit(faults.TooLarge)
		p.receipt(o, window.TooLarge)
		p.close()
		return
	}
	if !checksumOK(o.wire) {
		w.plan.Hit(faults.Checksum)
		p.receipt(o, window.ChecksumError)
		if w.rng.IntN(2) == 0 {
			p.close()
		}
		return
	}
	if w.chance(faults.Checksum, 0.004) { // damaged on its way
		p.receipt(o, window.ChecksumError)
		p.close()
		return
	}
	if s.goesOn(p, o) {
		return
	}
	s.publish(p, o)
}

// goesOn refuses an entry and stores what follows it, which a destination must
// not do. The sender can tell only if nobody else can have sent the entry and it
// learns what was stored, so both receipts arrive at once, and the sender stays
// until the operator has decided.
func (s *server) goesOn(p *pipe, o *outgoing) bool {
	w := s.w
	if p.lost || p.c.closed || p.c.pipe != p || o.r.stopped || s.blocked[o.src.info.ID] || len(p.queue) == 0 || p.c.pending[0] != o ||
		len(s.writing) > 0 || o.r.doubts[o.pos] || o.pos.Compare(o.r.since) <= 0 || !w.chance(faults.RefusedGoesOn, 0.01) {
		return false
	}
	next := p.queue[0]
	if s.known(o) || s.known(next) || len(next.wire) > s.r.maxMessage || !checksumOK(next.wire) {
		return false
	}
	p.queue = p.queue[1:]
	s.blocked[o.src.info.ID] = true
	o.r.hazard = true
	if e := o.r.entryAt(o.pos); e != nil {
		w.chk.Passed(o.r.life, e)
	}
	c := p.c
	c.receipt(o, window.Refused)
	s.publish(p, next)
	s.persist(false)
	c.receipt(next, window.Acked)
	c.fail(window.Refused)
	p.close()
	return true
}

// known says whether the dedup table would not take o as new.
func (s *server) known(o *outgoing) bool {
	k := s.w.dedupKey(o.src, o.r.life.Generation)
	pos, part, ok := s.table.Watermark(k)
	if !ok {
		return false
	}
	c := o.pos.Compare(pos)
	return c < 0 || c == 0 && o.part <= part
}

func checksumOK(b []byte) bool {
	return len(b) > 6 && b[0] == 0x0e && b[1] == 0x01 && crc32.Checksum(b[6:], castagnoli) == binary.BigEndian.Uint32(b[2:])
}

// publish asks the dedup table and starts the write.
func (s *server) publish(p *pipe, o *outgoing) {
	w := s.w
	f, err := entry.ParseFrame(o.wire, 0)
	if err != nil {
		w.chk.Fail(check.SpliceOnly, o.src.info.ID, "sent what is no entry: %v", err)
		return
	}
	org, found, err := entry.FindOrigin(f.Metadata)
	if err != nil || !found || org.BoundTopic != s.dest.Topic {
		w.chk.Fail(check.SpliceOnly, o.src.info.ID, "sent without its origin record: %v %+v", err, org)
		return
	}
	k := dedup.Key{Cluster: org.Cluster, Instance: org.Instance, Segment: org.Segment, Generation: org.Generation}
	w.events++
	v := s.table.Check(k, org.Position, org.Part)
	if w.tracing {
		w.trace("%s segment %d: %d/%v/%d of owner %d is %v", s.r.name, s.dest.Seg.ID, org.Segment, org.Position, org.Part, o.sender.ID, v)
	}
	switch v {
	case dedup.Fresh:
		s.writing = append(s.writing, write{o: o, p: p, key: k, pos: org.Position, part: org.Part, meta: f.Metadata})
		w.after(1+w.delay(6), func() { s.written(o) })
	case dedup.Duplicate:
		w.plan.Hit(faults.ReceiptDuplicate)
		p.receipt(o, window.Duplicate)
	default:
		w.plan.Hit(faults.StillWriting)
		p.receipt(o, window.Unknown)
		p.close()
	}
}

// written ends writes up to o: the ledger keeps their order.
func (s *server) written(o *outgoing) {
	if !slices.ContainsFunc(s.writing, func(wr write) bool { return wr.o == o }) {
		return
	}
	if s.w.chance(faults.WriteFails, 0.006) {
		s.failWrites()
		return
	}
	for {
		last := s.writing[0].o == o
		s.persist(true)
		if last {
			return
		}
	}
}

// persist stores the oldest entry that is being written.
func (s *server) persist(answer bool) {
	wr := s.writing[0]
	s.writing = append(s.writing[:0], s.writing[1:]...)
	s.w.events++
	s.log = append(s.log, stored{meta: wr.meta, key: wr.key})
	s.table.Persisted(wr.key, wr.pos, wr.part)
	s.w.chk.Stored(s.dest, wr.o.wire, wr.o.sender, wr.o.sent)
	if answer && wr.p.open {
		wr.p.receipt(wr.o, window.Acked)
	}
}
