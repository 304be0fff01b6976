// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

// Defaults of the flags that only end up in the origin record, so that the same
// command line always writes the same bytes.
const (
	defaultTopic      = "topic://public/default/topic"
	defaultInstance   = "00000000000000000000000000000000"
	defaultGeneration = 1
	defaultMaxMessage = 5 << 20 // bytes; maxMessageSize of an unconfigured broker
)

const routeHelp = `
ENTRY is a file with the entry's bytes or with hexadecimal text (white space and
comments from '#', ';' or "//" are skipped); "-" is standard input.

--layout and --source-layout are ScalableTopicMetadata JSON as Pulsar's admin
prints it, optionally with entryBucketSplits (bucket starts) in a segment.
--profile is for segments that record none; without it, it is pip486 if a layout
has entryBucketSplits, else m1.

--topic, --instance and --generation only go into the origin record. They are fixed
by default (` + defaultTopic + `,
` + defaultInstance + `, 1), and so are --from source, --remote
remote and --position 0:0, so equal command lines write equal bytes.`

// routeFlags is what place and rebatch are told.
type routeFlags struct {
	layout, sourceLayout string
	segment              int64
	from, remote         string
	position, profile    string
	keepCodec            bool
	maxMessage           int
	dir                  string
	topic, instance      string
	generation           uint64
	encrypted            string
}

func (r *routeFlags) register(c *cobra.Command, dir string) {
	f := c.Flags()
	f.StringVar(&r.layout, "layout", "", "layout of the destination (required)")
	f.StringVar(&r.sourceLayout, "source-layout", "", "layout of the source (required)")
	f.Int64Var(&r.segment, "source-segment", -1, "id of the segment that the entry was read from (required)")
	f.StringVar(&r.from, "from", "source", "name of the source cluster")
	f.StringVar(&r.remote, "remote", "remote", "name of the destination cluster")
	f.StringVar(&r.position, "position", "0:0", "position of the entry, LEDGER:ENTRY")
	f.StringVar(&r.profile, "profile", "", "routing profile of segments that record none: m1 or pip486")
	f.BoolVar(&r.keepCodec, "keep-codec", true, "compress parts with the entry's codec; false: parts go uncompressed")
	f.IntVar(&r.maxMessage, "max-message-size", defaultMaxMessage, "largest header and payload that the destination takes, bytes; 0: no limit")
	f.StringVarP(&r.dir, "output", "o", dir, "directory to write entries to")
	f.StringVar(&r.topic, "topic", defaultTopic, "scalable topic")
	f.StringVar(&r.instance, "instance", defaultInstance, "instance id of the source topic")
	f.Uint64Var(&r.generation, "generation", defaultGeneration, "replication generation")
	f.StringVar(&r.encrypted, "encrypted-batch-policy", "park", "encrypted batches that do not fit: park or place")
	for _, name := range []string{"layout", "source-layout", "source-segment"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is registered above
		}
	}
}

// route is an entry on its way, with everything that decides about it.
type route struct {
	src    placement.Source
	dst    *layout.Layout
	policy placement.Policy
	origin entry.Origin
	topic  string

	name  string // of the entry's file
	frame entry.Frame
	meta  entry.Metadata
	bad   error // the entry can not be parsed
	batch rebatch.Batch
}

// load reads flags and files. Errors carry an exit status.
func (r *routeFlags) load(c *cobra.Command, name string) (*route, error) {
	pos, err := entry.ParsePosition(r.position)
	if err != nil {
		return nil, badUsage("--position: %w", err)
	}
	var profile keyhash.Profile
	if r.profile != "" {
		if profile, err = keyhash.ParseProfile(r.profile); err != nil {
			return nil, badUsage("--profile: %w", err)
		}
	}
	switch {
	case r.encrypted != "park" && r.encrypted != "place":
		return nil, badUsage("--encrypted-batch-policy: %q is neither park nor place", r.encrypted)
	case !strings.HasPrefix(r.topic, "topic://"):
		return nil, badUsage("--topic: %q does not start with topic://", r.topic)
	case r.from == "" || r.remote == "":
		return nil, badUsage("--from, --remote: a cluster without a name")
	case r.maxMessage < 0:
		return nil, badUsage("--max-message-size: %d is negative", r.maxMessage)
	}
	out := &route{
		name:   name,
		topic:  r.topic,
		policy: placement.Policy{PlaceEncryptedBatch: r.encrypted == "place", MaxMessageBytes: r.maxMessage},
		origin: entry.Origin{Cluster: r.from, Instance: r.instance, Segment: uint64(max(r.segment, 0)),
			Generation: r.generation, Position: pos, Part: entry.Whole},
	}
	if err := out.loadLayouts(c, r, profile); err != nil {
		return nil, err
	}
	raw, err := readEntry(name, c.InOrStdin())
	if err != nil {
		return nil, badInput(name, err)
	}
	if out.frame, out.bad = entry.ParseFrame(raw, 0); out.bad == nil {
		out.bad = shift(out.meta.Parse(out.frame.Metadata), out.frame.MetadataOffset())
	}
	return out, nil
}

func (t *route) loadLayouts(c *cobra.Command, r *routeFlags, profile keyhash.Profile) error {
	var text [2][]byte
	var parsed [2]*layout.Layout
	for i, name := range []string{r.layout, r.sourceLayout} {
		b, err := readFile(name, c.InOrStdin())
		if err != nil {
			return badInput(name, err)
		}
		if parsed[i], err = layout.ParsePulsarAs(b, profile); err != nil {
			return badInput(name, err)
		}
		text[i] = b
	}
	if profile == 0 && parsed[0].Profile() != parsed[1].Profile() {
		// One of the two has bucket lists; the other one's client is no older.
		for i := range text {
			l, err := layout.ParsePulsarAs(text[i], keyhash.PIP486)
			if err != nil {
				return badInput(r.layout, err)
			}
			parsed[i] = l
		}
	}
	t.dst = parsed[0]
	if r.segment < 0 {
		return badUsage("--source-segment: %d is no segment id", r.segment)
	}
	s := parsed[1].Get(uint64(r.segment))
	if s == nil {
		return badInput(r.sourceLayout, fmt.Errorf("no segment %d", r.segment))
	}
	t.src = placement.Source{Cluster: r.from, Remote: r.remote, Segment: s.ID, Range: s.Range,
		Profile: s.Profile, Legacy: s.IsLegacy()}
	return nil
}

// decide says where the entry goes, and opens it where its metadata leaves that
// open. header is the spliced header of an entry that goes whole.
func (t *route) decide() (d placement.Decision, header []byte, err error) {
	if t.bad != nil {
		return placement.Decision{Action: placement.Park, Reason: placement.Malformed}, nil, nil
	}
	d = placement.Place(&t.src, t.dst, &t.frame, &t.meta, 0, &t.policy)
	if d.Action == placement.Rebatch {
		d = t.open(d)
	}
	if d.Segment == nil {
		return d, nil, nil
	}
	t.origin.BoundTopic = d.Segment.Topic(t.topic)
	header, err = entry.AppendHeader(nil, &t.frame, &entry.Splice{Origin: t.origin})
	if err != nil {
		return placement.Decision{Action: placement.Park, Reason: placement.Malformed}, nil, nil
	}
	if n := t.policy.MaxMessageBytes; n > 0 && len(header)+len(t.frame.Payload) > n {
		if d = d.Oversize(&t.meta); d.Action == placement.Rebatch {
			d = t.open(d)
		}
		return d, nil, nil
	}
	return d, header, nil
}

// open settles what only the batch itself can say.
func (t *route) open(d placement.Decision) placement.Decision {
	if err := t.batch.OpenVerified(&t.src, &t.frame, &t.meta, rebatch.Limits{MaxMessageBytes: t.policy.MaxMessageBytes}); err != nil {
		return placement.Decision{Action: placement.Park, Reason: reasonOf(err)}
	}
	switch {
	case t.batch.AllCompactedOut():
		return placement.Decision{Action: placement.Drop, Reason: placement.CompactedOut}
	case t.batch.Unkeyed() && d.Reason != placement.TooLarge:
		s := t.dst.At(t.src.Range.Start)
		return placement.Decision{Action: placement.Unkeyed, Segment: s, Route: t.src.Range.Start}
	}
	return d
}

func reasonOf(err error) placement.Reason {
	if r, ok := errors.AsType[*rebatch.Error](err); ok {
		return r.Reason
	}
	return placement.Malformed
}

// writeEntry writes one file of dir, which is made if it is missing.
func writeEntry(dir, name string, pieces ...[]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return badInput("output", err)
	}
	var b []byte
	for _, p := range pieces {
		b = append(b, p...)
	}
	if err := os.WriteFile(dir+string(os.PathSeparator)+name, b, 0o644); err != nil {
		return badInput("output", err)
	}
	return nil
}
