// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"strconv"
	"strings"
	"time" // to read a date: no clock

	"georep/core/entry"
)

// Property names where a remote starts; with a dot and the remote's name after it, for
// that remote alone.
const Property = "georep.startAt"

// Policy is what has been said about where a remote starts.
type Policy struct {
	Remote             string
	Topic              map[string]string // properties
	Namespace          map[string]string
	ReplicationStartAt string // the broker's; "" is latest
}

// Choice is what a policy comes to.
type Choice struct {
	Start    Point   // none with a trouble
	Source   string  // who said so
	Ordinary StartAt // Earliest or Latest: where the rule of EarliestNotOffloaded does not apply
	Trouble  string  // the value that cannot be read; nothing is guessed in its place
}

// Choose takes the first that is said of: the topic's for this remote, the topic's,
// the namespace's for this remote, the namespace's, the broker's. A value that cannot be
// read does not give way to the next one: that might leave out what was meant to be kept.
func Choose(p Policy) Choice {
	c := Choice{Ordinary: Latest, Source: "replicationStartAt"}
	switch p.ReplicationStartAt {
	case "", "latest":
	case "earliest":
		c.Ordinary = Earliest
	default:
		c.Trouble = fmt.Sprintf("replicationStartAt: %q is none of earliest, latest", p.ReplicationStartAt)
	}
	c.Start = Point{At: c.Ordinary}
	for _, from := range []struct {
		whose string
		in    map[string]string
		name  string
	}{
		{"topic", p.Topic, Property + "." + p.Remote}, {"topic", p.Topic, Property},
		{"namespace", p.Namespace, Property + "." + p.Remote}, {"namespace", p.Namespace, Property},
	} {
		text, said := from.in[from.name]
		if !said {
			continue
		}
		c.Source, c.Trouble = from.whose+" "+from.name, ""
		var err error
		if c.Start, err = Parse(text); err != nil {
			c.Trouble = fmt.Sprintf("%s: %s", c.Source, strings.TrimPrefix(err.Error(), ErrStart.Error()+": "))
		}
		break
	}
	if c.Trouble != "" {
		c.Start = Point{}
	}
	return c
}

// Parse reads earliest, latest, earliestNotOffloaded, LEDGER:ENTRY, or a time:
// milliseconds since 1970 or RFC 3339. Errors wrap [ErrStart].
func Parse(text string) (Point, error) {
	if s, ok := startNames[text]; ok {
		return Point{At: s}, nil
	}
	if p, err := entry.ParsePosition(text); err == nil {
		return Point{At: AtPosition, Position: p}, nil
	}
	if ms, err := strconv.ParseUint(text, 10, 63); err == nil {
		return Point{At: AtTime, Millis: int64(ms)}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil && t.UnixMilli() >= 0 {
		return Point{At: AtTime, Millis: t.UnixMilli()}, nil
	}
	if len(text) > 100 {
		text = text[:100]
	}
	return Point{}, fmt.Errorf("%w: %q is none of earliest, latest, earliestNotOffloaded, LEDGER:ENTRY, "+
		"milliseconds since 1970, a time as 2006-01-02T15:04:05Z", ErrStart, text)
}
