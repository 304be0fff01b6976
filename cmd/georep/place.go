// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func init() { commands = append(commands, newPlace) }

func newPlace() *cobra.Command {
	var flags routeFlags
	c := &cobra.Command{
		Use:   "place ENTRY --layout FILE --source-layout FILE --source-segment ID",
		Short: "Say where an entry goes on another cluster, and by which path",
		Long: `Place prints one JSON object {action, reason, segment, bucket}: action is verbatim,
single, unkeyed, rebatch, park or drop; reason is one of the names in georep.h;
segment and bucket are null where the entry does not go to one place as a whole.
Park and drop are answers: the exit status is 0. An entry that can not be parsed is
parked, and "error" says at which byte.

With -o, an entry that goes whole is written to DIR/entry.bin as the destination
would store it: its metadata spliced, its payload untouched.
` + routeHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := flags.load(c, args[0])
			if err != nil {
				return err
			}
			d, header, err := t.decide()
			if err != nil {
				return err
			}
			out := object{{"action", d.Action.String()}, {"reason", d.Reason.String()}, {"segment", nil}, {"bucket", nil}}
			if d.Segment != nil {
				out.set("segment", d.Segment.ID)
				out.set("bucket", d.Bucket)
				if flags.dir != "" {
					if err := writeEntry(flags.dir, "entry.bin", header, t.frame.Payload); err != nil {
						return err
					}
				}
			}
			if t.bad != nil {
				out.put("error", t.bad.Error())
			}
			return printJSON(c.OutOrStdout(), out)
		},
	}
	flags.register(c, "")
	return c
}
