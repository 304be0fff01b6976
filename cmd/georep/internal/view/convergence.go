// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
)

// Convergence is georep.v1.ConvergeStatus, as far as it is printed.
type Convergence struct {
	Error            string // why the leader could not be asked
	Mutating, Awaits string
	NoRing           string
	Dissent          []string
	Cold             []Number
	Peers            []*Peer
}

// Peer is georep.v1.PeerConvergence, as far as it is printed.
type Peer struct {
	Cluster, Support     string
	Known                bool
	AgeMillis, LagMillis Number
	Converged            Number
	Diverged             []struct{ Range struct{ Start, End Number } }
	Cold                 []Number
	Refused, Declined    string
	Trouble              string
}

// appendTo writes a line for each peer: whether the layouts are the same, and what
// keeps them apart.
func (c *Convergence) appendTo(b *strings.Builder) {
	if c == nil {
		return
	}
	switch {
	case c.Error != "":
		fmt.Fprintf(b, "layout: the leader does not answer: %s\n", c.Error)
	case c.NoRing != "":
		fmt.Fprintf(b, "layout: not told to others: %s\n", c.NoRing)
	case c.Mutating != "":
		fmt.Fprintf(b, "layout: being changed (%s)\n", c.Mutating)
	case c.Awaits != "":
		fmt.Fprintf(b, "layout: own splits wait for %s\n", c.Awaits)
	}
	if len(c.Dissent) > 0 {
		fmt.Fprintln(b, Cut("layout: merges wait for "+strings.Join(c.Dissent, ", "), Width))
	}
	for _, p := range c.Peers {
		lines := []string{"layout and " + p.Cluster + "'s: " + p.verdict()}
		if len(p.Cold) > 0 || len(c.Cold) > 0 {
			lines = append(lines, "    cold there"+hashes(p.Cold)+", here"+hashes(c.Cold))
		}
		if p.Refused != "" {
			lines = append(lines, "    not followed: "+p.Refused)
		}
		if p.Declined != "" {
			lines = append(lines, "    does not follow: "+p.Declined)
		}
		if p.Trouble != "" {
			lines = append(lines, "    last trouble: "+p.Trouble)
		}
		for _, l := range lines {
			fmt.Fprintln(b, Cut(l, Width))
		}
	}
}

// troubles counts what keeps layouts apart, and does not end by waiting for a change that is under way.
func (c *Convergence) troubles() int {
	if c == nil {
		return 0
	}
	n := 0
	if c.Error != "" || c.NoRing != "" {
		n++
	}
	for _, p := range c.Peers {
		if p.Refused != "" || p.Declined != "" || p.Trouble != "" {
			n++
		}
	}
	return n
}

func (p *Peer) verdict() string {
	switch {
	case !p.Known:
		return p.Support
	case len(p.Diverged) == 0:
		return fmt.Sprintf("the same in %d ranges, told %s ago", p.Converged, Seconds(int64(p.AgeMillis)/1000))
	}
	out := fmt.Sprintf("differ since %s in", Seconds(int64(p.LagMillis)/1000))
	for i, d := range p.Diverged {
		if i == maxNamed {
			return out + fmt.Sprintf(" and %d ranges more", len(p.Diverged)-i)
		}
		out += fmt.Sprintf(" %04x-%04x", d.Range.Start, d.Range.End)
	}
	return out
}

// hashes names the first few.
func hashes(list []Number) string {
	if len(list) == 0 {
		return " none"
	}
	out := ""
	for i, h := range list {
		if i == maxNamed {
			return out + " …"
		}
		out += fmt.Sprintf(" %04x", h)
	}
	return out
}
