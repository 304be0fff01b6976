// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"slices"
	"testing"

	"georep/core/bootstrap"
	"georep/core/entry"
)

// starting is a planner whose cursor is held, and a topic whose first ledger is in tiered
// storage alone.
func starting(t *testing.T) (p *bootstrap.Planner, log func(of bootstrap.Offload) bootstrap.Log) {
	t.Helper()
	end := entry.Position{Ledger: 12}
	p = bootstrap.NewPlanner(0, bootstrap.Config{End: end})
	if task, ok := p.Ready(); !ok || task.State != bootstrap.Holding || task.Hold.End != end {
		t.Fatalf("%+v", task)
	}
	if err := p.Held(); err != nil {
		t.Fatal(err)
	}
	return p, func(second bootstrap.Offload) bootstrap.Log {
		return bootstrap.Log{Ledgers: []bootstrap.Ledger{
			{ID: 10, Entries: 100, Bytes: 1000, Offload: bootstrap.Complete, Bookies: bootstrap.Deleted},
			{ID: 11, Entries: 50, Bytes: 500, Offload: second, Bookies: bootstrap.Present},
			{ID: 12, Offload: bootstrap.None, Bookies: bootstrap.Present, Open: true}}}
	}
}

func read(t *testing.T, p *bootstrap.Planner, now int64, l bootstrap.Log) {
	t.Helper()
	if task, ok := p.Ready(); !ok || task.State != bootstrap.Planning {
		t.Fatalf("%+v", task)
	}
	c := bootstrap.Choose(bootstrap.Policy{Remote: "us", Namespace: map[string]string{bootstrap.Property: "earliestNotOffloaded"}})
	if err := p.Read(now, c, l); err != nil {
		t.Fatal(err)
	}
}

// TestFault50UnknownIsNoOffset: what could not be read is neither the first entry nor the
// last, however often it is asked.
func TestFault50UnknownIsNoOffset(t *testing.T) {
	p, log := starting(t)
	now := int64(0)
	for try := range 100 {
		read(t, p, now, log(bootstrap.Unreadable))
		if task, ok := p.Ready(); ok {
			t.Fatalf("try %d: %+v", try, task)
		}
		now = p.WakeAt()
		p.Tick(now)
	}
	read(t, p, now, log(bootstrap.None))
	task, ok := p.Ready()
	if !ok || task.State != bootstrap.Placing || task.Plan.Start != (entry.Position{Ledger: 11}) || task.Plan.Entries != 100 {
		t.Fatalf("%+v", task)
	}
}

// TestFault51WhatWasPutOffIsTriedAgain: a hold keeps retention from the log start. It is
// looked at again for as long as it stands, by every owner, and gives way to the plan.
func TestFault51WhatWasPutOffIsTriedAgain(t *testing.T) {
	p, log := starting(t)
	now, pauses := int64(0), []int64{}
	for range 12 {
		read(t, p, now, log(bootstrap.Unreadable))
		pauses = append(pauses, p.WakeAt()-now)
		now = p.WakeAt()
		p.Tick(now)
	}
	want := []int64{1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	next := bootstrap.NewPlanner(now, bootstrap.Config{End: entry.Position{Ledger: 12, Entry: 9},
		Held: &bootstrap.Hold{End: entry.Position{Ledger: 12}}})
	read(t, next, now, log(bootstrap.Complete)) // at once, and not when the first one would have
	task, ok := next.Ready()
	if !ok || task.State != bootstrap.Placing || task.Plan.Start != (entry.Position{Ledger: 12}) || task.Plan.Entries != 150 {
		t.Fatalf("%+v", task)
	}
	if err := next.Placed(); err != nil || next.Status().State != bootstrap.Begun {
		t.Errorf("%v %+v", err, next.Status())
	}
}

// TestFault54StartPerTopicAndRemote: a start of its own for a topic, and for one remote of it.
func TestFault54StartPerTopicAndRemote(t *testing.T) {
	p := bootstrap.Policy{ReplicationStartAt: "latest",
		Topic:     map[string]string{"georep.startAt.us": "12:3"},
		Namespace: map[string]string{"georep.startAt": "earliest", "georep.startAt.ap": "1700000000000"}}
	for remote, want := range map[string]string{"us": "12:3", "eu": "earliest", "ap": "1700000000000"} {
		p.Remote = remote
		if c := bootstrap.Choose(p); c.Start.String() != want || c.Trouble != "" {
			t.Errorf("%s: %+v", remote, c)
		}
	}
}
