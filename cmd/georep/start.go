// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"georep/core/bootstrap"
)

func init() { commands = append(commands, newStartAt) }

func newStartAt() *cobra.Command {
	o := operation{call: "start-at", wide: true}
	var at string
	var unset bool
	c := o.command(&cobra.Command{
		Use:   "start-at TOPIC|NAMESPACE --remote R --at earliest|latest|earliestNotOffloaded|L:E|TIME",
		Short: "Set where replication of existing data to a new remote begins",
		Long: `Start-at sets, for a topic or for all topics of a namespace, where a remote begins that
has no position yet. A topic's setting goes before its namespace's, and that one
before the broker's replicationStartAt. What replicates already stays where it is:
see georep reset-cursor.

earliestNotOffloaded leaves out what tiered storage holds in one piece from the log's
start: it is not read back through the brokers, and will be absent at the remote, by
choice. georep bootstrap show says what was left out.
` + operationHelp + `

  --at             earliest, latest, earliestNotOffloaded, a position L:E, or a time:
                   RFC 3339, such as 2026-11-30T12:00:00Z, or milliseconds since 1970
  --unset          take the setting away`,
	}, func() (map[string]any, error) {
		switch {
		case unset && at != "":
			return nil, badUsage("--at and --unset exclude each other")
		case unset:
			o.done = "begins where the broker says"
			if o.topic.Name != "" {
				o.done = "begins where the namespace says, or the broker"
			}
			return map[string]any{"unset": true}, nil
		}
		o.done = "begins at " + at
		return map[string]any{"at": at}, checkStart("--at", at)
	})
	c.Flags().StringVar(&at, "at", "", "earliest, latest, earliestNotOffloaded, ledger:entry or a time")
	c.Flags().BoolVar(&unset, "unset", false, "take the setting away")
	return c
}

// checkStart refuses what no cluster understands.
func checkStart(flag, s string) error {
	if _, err := bootstrap.Parse(s); err != nil {
		return badUsage("%s: %w", flag, err)
	}
	return nil
}
