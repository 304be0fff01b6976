// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"

	"georep/core/bootstrap"
	"georep/core/entry"
	"georep/core/pb"
)

// toPosition reads a position; an absent one is [bootstrap.Nowhere].
func toPosition(m *pb.Position, field string) (entry.Position, error) {
	switch {
	case m == nil:
		return bootstrap.Nowhere, nil
	case m.GetLedger() < 0 || m.GetEntry() < 0:
		return entry.Position{}, fmt.Errorf("%w: %s: %d:%d", ErrConfig, field, m.GetLedger(), m.GetEntry())
	}
	return entry.Position{Ledger: m.GetLedger(), Entry: m.GetEntry()}, nil
}

// fromPosition is its reverse.
func fromPosition(p entry.Position) *pb.Position {
	if p == bootstrap.Nowhere {
		return nil
	}
	return &pb.Position{Ledger: p.Ledger, Entry: p.Entry}
}

func toPoint(m *pb.StartPoint) (p bootstrap.Point, err error) {
	p = bootstrap.Point{Millis: m.GetTimestampMillis()}
	switch at := m.GetAt(); {
	case at <= pb.StartAt_START_AT_UNSPECIFIED || at > pb.StartAt_START_AT_TIMESTAMP:
		return p, fmt.Errorf("%w: at: %v", ErrConfig, at)
	case at == pb.StartAt_START_AT_POSITION && m.GetPosition() == nil:
		return p, fmt.Errorf("%w: position: absent", ErrConfig)
	case at == pb.StartAt_START_AT_POSITION:
		p.Position, err = toPosition(m.GetPosition(), "position")
	}
	p.At = bootstrap.StartAt(m.GetAt())
	return p, err
}

func fromPoint(p bootstrap.Point) *pb.StartPoint {
	m := &pb.StartPoint{At: pb.StartAt(p.At), TimestampMillis: p.Millis}
	if p.At == bootstrap.AtPosition {
		m.Position = fromPosition(p.Position)
	}
	return m
}

func toPolicy(m *pb.StartQuery) bootstrap.Policy {
	return bootstrap.Policy{Remote: m.GetRemote(), Topic: m.GetTopicProperties(), Namespace: m.GetNamespaceProperties(),
		ReplicationStartAt: m.GetReplicationStartAt()}
}

// toLog reads what the store says; the planner checks it. What is not said is not known.
func toLog(m *pb.SegmentLog) bootstrap.Log {
	l := bootstrap.Log{Compacted: m.GetCompacted(), Sealed: m.GetSealed(),
		Ledgers: make([]bootstrap.Ledger, 0, len(m.GetLedgers()))}
	for _, g := range m.GetLedgers() {
		l.Ledgers = append(l.Ledgers, bootstrap.Ledger{ID: g.GetId(), Entries: g.GetEntries(), Bytes: g.GetBytes(),
			Offload: toOffload(g.GetOffload()), Bookies: toBookies(g.GetBookies()), Open: g.GetOpen(), Driver: g.GetDriver(),
			UUID: g.GetUuid(), FirstMillis: g.GetFirstMillis(), LastMillis: g.GetLastMillis()})
	}
	return l
}

func toOffload(m pb.OffloadState) bootstrap.Offload {
	if m <= pb.OffloadState_OFFLOAD_STATE_UNSPECIFIED || m > pb.OffloadState_OFFLOAD_STATE_UNREADABLE {
		return bootstrap.Unreadable
	}
	return bootstrap.Offload(m)
}

func toBookies(m pb.BookieCopy) bootstrap.Bookies {
	if m < pb.BookieCopy_BOOKIE_COPY_UNSPECIFIED || m > pb.BookieCopy_BOOKIE_COPY_DELETED {
		return bootstrap.Unsure
	}
	return bootstrap.Bookies(m)
}

func fromSearch(segment uint64, s bootstrap.Search, millis int64) *pb.BootstrapFind {
	return &pb.BootstrapFind{Segment: segment, First: fromPosition(s.First), Last: fromPosition(s.Last), Millis: millis}
}

func fromMove(m *bootstrap.Move) *pb.SegmentReset {
	return &pb.SegmentReset{ReadEntries: m.Read.Entries, ReadBytes: m.Read.Bytes, ReadOffloadedBytes: m.Read.Offloaded,
		AgainEntries: m.Again.Entries, AgainBytes: m.Again.Bytes, AgainOffloadedBytes: m.Again.Offloaded,
		SkipEntries: m.Skip.Entries, SkipBytes: m.Skip.Bytes, SkipOffloadedBytes: m.Skip.Offloaded}
}

// fromStartPlan writes a plan, but for its lineage.
func fromStartPlan(p *bootstrap.Plan) *pb.StartPlan {
	m := &pb.StartPlan{Action: pb.StartAction(p.Action), Asked: fromPoint(p.Asked), Source: p.Source,
		Start: fromPosition(p.Start), Horizon: fromPosition(p.Horizon), Omitted: p.Omitted, Entries: p.Entries,
		Bytes:            p.Bytes,
		OffloadedEntries: p.OffloadedEntries, OffloadedBytes: p.OffloadedBytes, FromMillis: p.From, ToMillis: p.To,
		Whole: p.Whole, PlannedMillis: p.Millis}
	for _, s := range p.Skipped {
		m.Skipped = append(m.Skipped, &pb.SkippedLedger{Ledger: s.Ledger, First: s.First, Entries: s.Entries, Bytes: s.Bytes,
			Offload: pb.OffloadState(s.Offload), Driver: s.Driver, Uuid: s.UUID, FirstMillis: s.FirstMillis,
			LastMillis: s.LastMillis})
	}
	return m
}

// toStartPlan is its reverse.
func toStartPlan(m *pb.StartPlan) (*bootstrap.Plan, error) {
	p := &bootstrap.Plan{Action: bootstrap.Action(m.GetAction()), Source: m.GetSource(), Omitted: m.GetOmitted(),
		Entries: m.GetEntries(), Bytes: m.GetBytes(), OffloadedEntries: m.GetOffloadedEntries(),
		OffloadedBytes: m.GetOffloadedBytes(), From: m.GetFromMillis(), To: m.GetToMillis(), Whole: m.GetWhole(),
		Millis: m.GetPlannedMillis()}
	if a := m.GetAction(); a <= pb.StartAction_START_ACTION_UNSPECIFIED || a > pb.StartAction_START_ACTION_START_ALL_KEPT {
		return nil, fmt.Errorf("%w: action: %v", ErrConfig, a)
	}
	if m.GetStart() == nil {
		return nil, fmt.Errorf("%w: start: absent", ErrConfig)
	}
	var err error
	if p.Asked, err = toPoint(m.GetAsked()); err != nil {
		return nil, fmt.Errorf("asked.%w", err)
	}
	if p.Start, err = toPosition(m.GetStart(), "start"); err != nil {
		return nil, err
	}
	if p.Horizon, err = toPosition(m.GetHorizon(), "horizon"); err != nil {
		return nil, err
	}
	for i, s := range m.GetSkipped() {
		if s.GetEntries() < 1 || s.GetBytes() < 0 || s.GetFirst() < 0 {
			return nil, fmt.Errorf("%w: skipped[%d]: %v", ErrConfig, i, s)
		}
		p.Skipped = append(p.Skipped, bootstrap.Skipped{Ledger: s.GetLedger(), First: s.GetFirst(), Entries: s.GetEntries(),
			Bytes:   s.GetBytes(),
			Offload: toOffload(s.GetOffload()), Driver: s.GetDriver(), UUID: s.GetUuid(), FirstMillis: s.GetFirstMillis(),
			LastMillis: s.GetLastMillis()})
	}
	return p, nil
}
