// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"georep/core/codec"
	"georep/core/placement"
	"georep/core/rebatch"
)

func init() { commands = append(commands, newRebatch) }

func newRebatch() *cobra.Command {
	var flags routeFlags
	c := &cobra.Command{
		Use:   "rebatch ENTRY --layout FILE --source-layout FILE --source-segment ID [-o DIR]",
		Short: "Cut a batch that does not fit into parts that do",
		Long: `Rebatch writes the parts of an entry as part-000.bin, part-001.bin, ... in the order
in which they are sent, and prints a JSON array of {file, segment, bucket, part,
messages, hashMin, hashMax, codec, uncompressedSize, indexes}. part is the rank,
from 0, of the part's last message among the entry's messages for that segment;
messages is their number and indexes their places in the entry; hashMin and hashMax
are the smallest and largest bucket hash, which profile pip486 stamps on the part.

An entry that goes whole, is dropped or parked ends with exit status 3.
` + routeHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := flags.load(c, args[0])
			if err != nil {
				return err
			}
			out, err := t.cut(&flags)
			if err != nil {
				return err
			}
			return printJSON(c.OutOrStdout(), out)
		},
	}
	flags.register(c, ".")
	return c
}

// cut re-batches the entry and writes its parts. Nothing is written unless every
// part can be made.
func (t *route) cut(flags *routeFlags) ([]object, error) {
	d, _, err := t.decide()
	if err != nil {
		return nil, err
	}
	if d.Action != placement.Rebatch {
		return nil, t.notCut(d)
	}
	parts, err := t.batch.Plan(t.dst, nil, nil)
	if err != nil {
		return nil, badInput(t.name, err)
	}
	opt := rebatch.Options{KeepCodec: flags.keepCodec, MaxMessageBytes: flags.maxMessage}
	used := codec.None
	if flags.keepCodec {
		used = t.meta.Compression
	}
	files := make([][]byte, len(parts))
	out := make([]object, len(parts))
	for i := range parts {
		p := &parts[i]
		o := t.origin
		o.BoundTopic = p.Segment.Topic(t.topic)
		if files[i], _, err = t.batch.AppendPart(nil, p, &o, &opt); err != nil {
			return nil, badInput(t.name, err)
		}
		out[i] = object{
			{"file", partName(i)}, {"segment", p.Segment.ID}, {"bucket", p.Bucket}, {"part", p.Rank},
			{"messages", len(p.Messages)}, {"hashMin", p.HashMin}, {"hashMax", p.HashMax},
			{"codec", used.String()}, {"uncompressedSize", p.UncompressedBytes}, {"indexes", p.Messages},
		}
	}
	for i, b := range files {
		if err := writeEntry(flags.dir, partName(i), b); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func partName(i int) string { return fmt.Sprintf("part-%03d.bin", i) }

// notCut explains why there are no parts.
func (t *route) notCut(d placement.Decision) error {
	err := t.bad
	if err == nil && d.Action == placement.Park && t.meta.HasBatch && !t.meta.Encrypted {
		err = t.batch.Open(&t.src, &t.frame, &t.meta, rebatch.Limits{})
	}
	switch {
	case err != nil:
		return badInput(t.name, fmt.Errorf("parked (%s): %w", d.Reason, err))
	case d.Action == placement.Park:
		return badInput(t.name, fmt.Errorf("parked (%s), not re-batched", d.Reason))
	case d.Action == placement.Drop:
		return badInput(t.name, fmt.Errorf("dropped (%s), not re-batched", d.Reason))
	}
	return badInput(t.name, fmt.Errorf("goes whole (%s) to segment %d, not re-batched", d.Action, d.Segment.ID))
}
