// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bootstrap is what the plugin says of where replication of a topic's existing
// data begins, and of what is left out by choice.
type Bootstrap struct {
	Topic, Cluster string
	Segments       []*BootstrapSegment
}

// BootstrapSegment is one segment, with its starts by remote.
type BootstrapSegment struct {
	ID      Number
	Range   string // "8000-ffff"
	Error   string // why its owner could not be asked
	Remotes map[string]*Start
}

// Start is georep.v1.BootstrapStatus, as far as it is printed.
type Start struct {
	State string // "placed", "holding", …
	Why   string // what it waits for
	Tries Number
	Plan  *StartPlan // nil: there is none yet
}

// StartPlan is georep.v1.StartPlan, as far as it is printed.
type StartPlan struct {
	Action string
	Asked  StartPoint
	Source string
	Start  *Position // the first entry that replicates

	Entries, Bytes       Number // left out
	OffloadedBytes       Number // of these
	FromMillis, ToMillis Number // of what is left out; 0 = not known
	Whole                bool   // sealed, and all of it is left out: it counts as drained
	Skipped              []SkippedLedger
	Omitted              Number // ledgers that are left out and not listed
}

// StartPoint is georep.v1.StartPoint.
type StartPoint struct {
	At              string
	Position        *Position
	TimestampMillis Number
}

// SkippedLedger is a ledger that is left out, or the first part of one.
type SkippedLedger struct {
	Ledger, Entries, Bytes Number
	Offload                string
	Driver, UUID           string
}

// ParseBootstrap reads the answer of the bootstrap call. Errors wrap [ErrJSON].
func ParseBootstrap(answer []byte) (*Bootstrap, error) {
	var s Bootstrap
	if err := json.Unmarshal(answer, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if s.Topic == "" {
		return nil, fmt.Errorf("%w: no topic", ErrJSON)
	}
	return &s, nil
}

// Print writes a line for each segment and remote, below it the ledgers that are
// left out, and what that comes to for each remote.
func (s *Bootstrap) Print() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  cluster %s\n", s.Topic, s.Cluster)
	t := table{columns: []column{{name: "SEGMENT"}, {name: "REMOTE", max: 24}, {name: "STATE"}, {name: "ASKED"},
		{name: "BEGINS AT"}, {name: "LEFT OUT", number: true}, {name: "BYTES", number: true}, {name: "OFFLOADED", number: true}}}
	sum := leftOut{}
	for _, seg := range s.Segments {
		name := fmt.Sprintf("%s-%d", seg.Range, seg.ID)
		if seg.Error != "" {
			t.add([]string{seg.Error}, name, "?", "?", "", "", "", "", "")
		}
		for _, remote := range slices.Sorted(maps.Keys(seg.Remotes)) {
			r := seg.Remotes[remote]
			p := r.Plan
			if p == nil {
				t.add(r.notes(), name, remote, r.State, "", "", "", "", "")
				continue
			}
			t.add(r.notes(), name, remote, r.State, p.Asked.String(), p.Start.String(), Count(int64(p.Entries)),
				Bytes(int64(p.Bytes)), Bytes(int64(p.OffloadedBytes)))
			sum.add(remote, p)
		}
	}
	if len(t.rows) == 0 {
		b.WriteString("replicates to nobody\n")
		return b.String()
	}
	t.appendTo(&b)
	for _, remote := range slices.Sorted(maps.Keys(sum)) {
		fmt.Fprintln(&b, Cut(remote+": "+sum[remote].LeftOut(), Width))
	}
	return b.String()
}

// leftOut is, by remote, what all segments of a topic leave out.
type leftOut map[string]*StartPlan

// add adds what another segment leaves out; nil is nothing.
func (l leftOut) add(remote string, o *StartPlan) {
	if o == nil {
		return
	}
	p := l[remote]
	if p == nil {
		p = &StartPlan{}
		l[remote] = p
	}
	p.Entries += o.Entries
	p.Bytes += o.Bytes
	if p.FromMillis == 0 || o.FromMillis != 0 && o.FromMillis < p.FromMillis {
		p.FromMillis = o.FromMillis
	}
	p.ToMillis = max(p.ToMillis, o.ToMillis)
}

// LeftOut is one line: how much is not replicated, and of which time.
func (p *StartPlan) LeftOut() string {
	if p.Entries == 0 {
		return "nothing is left out"
	}
	return fmt.Sprintf("not replicated by choice: %d entries, %s, from %s to %s", p.Entries, Bytes(int64(p.Bytes)),
		instant(p.FromMillis), instant(p.ToMillis))
}

// notes say what a row has no room for.
func (r *Start) notes() []string {
	var out []string
	if r.Why != "" {
		out = append(out, fmt.Sprintf("after %d tries: %s", r.Tries, r.Why))
	}
	p := r.Plan
	if p == nil {
		return out
	}
	if p.Source != "" {
		out = append(out, "by "+p.Source)
	}
	if p.Whole {
		out = append(out, "sealed, and all of it is left out: its children do not wait for it")
	}
	if p.Omitted > 0 {
		out = append(out, fmt.Sprintf("%d older ledgers are left out and not listed", p.Omitted))
	}
	for _, g := range p.Skipped {
		line := fmt.Sprintf("ledger %d: %d entries, %s, %s", g.Ledger, g.Entries, Bytes(int64(g.Bytes)),
			offload(g.Offload))
		if id := strings.TrimSpace(g.Driver + " " + g.UUID); id != "" {
			line += ": " + id
		}
		out = append(out, line)
	}
	return out
}

// offload is a ledger's OffloadState for people.
func offload(state string) string {
	switch state {
	case "OFFLOAD_STATE_COMPLETE":
		return "offloaded"
	case "OFFLOAD_STATE_INCOMPLETE":
		return "offloaded in part"
	case "OFFLOAD_STATE_NONE":
		return "not offloaded"
	}
	return "not known whether offloaded"
}

// String is the start as an operator gives it.
func (p StartPoint) String() string {
	switch p.At {
	case "":
		return ""
	case "START_AT_EARLIEST":
		return "earliest"
	case "START_AT_LATEST":
		return "latest"
	case "START_AT_EARLIEST_NOT_OFFLOADED":
		return "earliestNotOffloaded"
	case "START_AT_POSITION":
		return p.Position.String()
	case "START_AT_TIMESTAMP":
		return instant(p.TimestampMillis)
	}
	return strconv.Quote(p.At)
}

func instant(ms Number) string {
	if ms == 0 {
		return "?"
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05Z")
}
