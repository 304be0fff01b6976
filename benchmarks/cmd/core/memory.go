// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime"

	"georep/benchmarks/corpus"
	"georep/benchmarks/paired"
	"georep/benchmarks/row"
	"georep/core/converge"
	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
	"georep/internal/entrytest"
)

// The topic that memory is measured of.
const (
	memoryTopics   = 1000
	memorySegments = 4
	memoryEntries  = 10_000
)

var memoryRemotes = []string{"b", "c"}

// heap returns the bytes of Go's heap that one of n things takes, the median of some
// times that all are made.
func heap(n int, build func() (any, error)) (float64, error) {
	var samples []float64
	for range paired.MinRounds {
		before := live()
		kept, err := build()
		if err != nil {
			return 0, err
		}
		samples = append(samples, float64(live()-before)/float64(n))
		runtime.KeepAlive(kept)
	}
	return paired.Quantile(samples, 0.5), nil
}

// live returns the bytes that are reachable. The second collection ends what the first
// one found unreachable, pools above all.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// memoryRows measures the core's memory; entries themselves are the host's.
func memoryRows(s *settings) ([]row.Row, error) {
	var rows []row.Row
	topics := func(build func(topic int) (any, error)) func() (any, error) {
		return func() (any, error) {
			var all []any
			for i := range memoryTopics {
				one, err := build(i)
				if err != nil {
					return nil, err
				}
				all = append(all, one)
			}
			return all, nil
		}
	}
	for _, c := range []struct {
		name, note string
		n          int
		build      func() (any, error)
	}{
		{"topic/converge", "4 segments; 2 peers known", memoryTopics, topics(converging)},
		{"topic/windows", "4 segments to 2 remotes, idle", memoryTopics, topics(replicating)},
		{"topic/dedup", "4 segments, each from 4 of 2 origins", memoryTopics, topics(deduplicating)},
		{"topic", "all of these", memoryTopics, topics(wholeTopic)},
		{"in-flight-entry", "without the entry, which is the host's", memoryEntries, inFlight},
	} {
		name := "e/memory/" + c.name
		if !s.wants(name) {
			continue
		}
		bytes, err := heap(c.n, c.build)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, row.Row{Name: name, Unit: "B", Ours: row.Of(bytes), Rounds: paired.MinRounds, Note: c.note})
	}
	return rows, nil
}

func topicName(i int) string { return fmt.Sprintf("topic://public/default/orders-%d", i) }

// topicLayout returns a layout of its own, as every topic has it.
func topicLayout() (*layout.Layout, error) {
	segs := make([]layout.Segment, memorySegments)
	for i := range segs {
		segs[i] = layout.Segment{ID: uint64(i), State: layout.Active, Profile: keyhash.PIP486, BucketsKnown: true,
			Range:   layout.Range{Start: uint16(i << 16 / memorySegments), End: uint16((i+1)<<16/memorySegments - 1)},
			Buckets: layout.EqualWidth(4)}
	}
	return layout.New(1, segs)
}

// converging returns the machine of a topic's leader that has heard its peers.
func converging(i int) (any, error) {
	m, err := converge.New(converge.DefaultConfig("a"))
	if err != nil {
		return nil, err
	}
	l, err := topicLayout()
	if err != nil {
		return nil, err
	}
	m.Store(0, converge.Local{Layout: l, Instance: fmt.Sprintf("%032x", i), Term: 1})
	m.Members(0, append([]string{"a"}, memoryRemotes...))
	m.Lead(0, 1)
	for k, name := range memoryRemotes {
		theirs, err := topicLayout()
		if err != nil {
			return nil, err
		}
		shape, err := layout.ShapeOf(theirs)
		if err != nil {
			return nil, err
		}
		m.Received(0, uint64(k), &converge.State{Cluster: name, Instance: fmt.Sprintf("%s%031x", name, i),
			Version: converge.Version{Epoch: 1, Term: 1}, Shape: shape, Caps: layout.Caps{MaxSegments: 64, MaxBuckets: 64}})
	}
	m.Ready()
	if p := m.Status(0).Peers; len(p) != len(memoryRemotes) || !p[0].Known || !p[1].Known {
		return nil, fmt.Errorf("peers: %+v", p)
	}
	return m, nil
}

// replicating returns a window and a gate for every segment and remote.
func replicating(i int) (any, error) {
	own, err := topicLayout()
	if err != nil {
		return nil, err
	}
	all := []any{own}
	for _, remote := range memoryRemotes {
		theirs, err := topicLayout()
		if err != nil {
			return nil, err
		}
		for _, seg := range own.Active() {
			g := window.NewGate(seg.ID)
			g.Layout(own)
			w, err := newWindow(topicName(i), remote, seg, theirs, 0)
			if err != nil {
				return nil, err
			}
			w.SetGate(g.Open())
			if acts, _, _ := w.Ready(nil, nil); len(acts) > 0 || !g.Open() {
				return nil, fmt.Errorf("gate %v, %d actions", g.Open(), len(acts))
			}
			all = append(all, g, w)
		}
	}
	return all, nil
}

func newWindow(topic, remote string, seg *layout.Segment, theirs *layout.Layout, entries int) (*window.Window, error) {
	w, err := window.New(window.Config{Topic: topic, Instance: "0123456789abcdef0123456789abcdef", Generation: 1,
		Source:             placement.Source{Cluster: "a", Remote: remote, Segment: seg.ID, Range: seg.Range, Profile: seg.Profile},
		MaxInFlightEntries: entries, MaxInFlightBytes: 1 << 40, KeepCodec: true})
	if err != nil {
		return nil, err
	}
	w.RemoteInstance("fedcba9876543210fedcba9876543210")
	return w, w.SetRemote(theirs, 5<<20)
}

// deduplicating returns the watermarks of a topic's segments, of what the same segments
// of both remotes have sent.
func deduplicating(i int) (any, error) {
	var all []any
	for seg := range memorySegments {
		t := dedup.New(fmt.Sprintf("segment://public/default/orders-%d/%d", i, seg), 0)
		for _, remote := range memoryRemotes {
			for from := range memorySegments {
				k := dedup.Key{Cluster: remote, Instance: fmt.Sprintf("%s%031x", remote, i), Segment: uint64(from), Generation: 1}
				if v := t.Check(k, entry.Position{Ledger: 1}, entry.Whole); v != dedup.Fresh {
					return nil, fmt.Errorf("%s", v)
				}
				t.Persisted(k, entry.Position{Ledger: 1}, entry.Whole)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

func wholeTopic(i int) (any, error) {
	var all []any
	for _, build := range []func(int) (any, error){converging, replicating, deduplicating} {
		one, err := build(i)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// inFlight returns a window with entries that are sent and not acknowledged.
func inFlight() (any, error) {
	l, err := topicLayout()
	if err != nil {
		return nil, err
	}
	seg := *l.Active()[0]
	seg.Range = layout.Range{Start: 16, End: 31} // inside one segment
	w, err := newWindow(topicName(0), "b", &seg, l, memoryEntries)
	if err != nil {
		return nil, err
	}
	w.SetGate(true)
	raw := (&entrytest.Batch{Messages: corpus.Messages(1, 100), Stamp: true}).Bytes()
	for i := range memoryEntries {
		if err := w.Offer(entry.Position{Ledger: 1, Entry: int64(i)}, 0, raw); err != nil {
			return nil, err
		}
	}
	arena := make([]byte, 0, 1<<20)
	var acts []window.Action
	for sent := 0; sent < memoryEntries; sent += len(acts) {
		acts, _, _ = w.Ready(make([]window.Action, 0, 64), arena)
		if len(acts) == 0 || acts[0].Kind != window.Send {
			return nil, errors.New("an entry was not sent")
		}
	}
	if n := w.Status().InFlight; n != memoryEntries {
		return nil, fmt.Errorf("%d in flight", n)
	}
	return w, nil
}
