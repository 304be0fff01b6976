// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/view"
)

func init() { commands = append(commands, newResetCursor) }

func newResetCursor() *cobra.Command {
	o := operation{call: "reset-cursor"}
	var to string
	var segments []uint
	var dry bool
	c := o.command(&cobra.Command{
		Use:   "reset-cursor TOPIC --remote R --to earliest|latest|earliestNotOffloaded|L:E|TIME",
		Short: "Replicate a topic anew from a position: what arrived before arrives again",
		Long: `Reset-cursor begins a new generation of the replication of TOPIC to one remote:
everything from --to on is sent, and stored there again where it was stored before.
What would have been sent and lies before it is left out, by choice.

It prints for each segment where it begins, how much that reads (entries, bytes, and
bytes that have to come back out of tiered storage), how many of these entries the
cursor was past already, because they were sent or left out, and how much of what it
would have read is left out now. With --dry-run it prints that and changes nothing.

Where the order of messages would break, because children of a segment have sent
already what comes after what would be sent again, it is refused: the answer names
the segments that have to be reset together. Without --segment all of them are.
` + operationHelp + `

  --to             earliest, latest, earliestNotOffloaded (leaves out what tiered storage
                   holds in one piece from the log's start), a position L:E, or a time:
                   RFC 3339, such as 2026-11-30T12:00:00Z, or milliseconds since 1970
  --segment N      this segment only; may be repeated
  --dry-run        say what it would do`,
	}, func() (map[string]any, error) {
		if err := checkStart("--to", to); err != nil {
			return nil, err
		}
		values := map[string]any{"to": to}
		if dry {
			values["dryRun"] = true
		}
		if len(segments) > 0 {
			values["segments"] = segments
		}
		return values, nil
	})
	o.print = func(answer []byte) (string, error) {
		r, err := view.ParseReset(answer)
		if err != nil {
			return "", err
		}
		head := fmt.Sprintf("%s to %s: begins anew at %s\n", o.topic, o.remote, to)
		if dry {
			head = fmt.Sprintf("%s to %s: would begin anew at %s; nothing has changed\n", o.topic, o.remote, to)
		}
		return head + r.Print(), nil
	}
	c.Flags().StringVar(&to, "to", "", "earliest, latest, earliestNotOffloaded, ledger:entry or a time")
	c.Flags().UintSliceVar(&segments, "segment", nil, "number of a segment")
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, say what it would do")
	return c
}
