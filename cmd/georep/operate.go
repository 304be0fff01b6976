// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
	"georep/core/entry"
)

func init() { commands = append(commands, newSkip, newPause, newResume) }

// operation is a command that changes the replication of a topic to a remote.
type operation struct {
	connection
	call, remote string
	wide         bool // it may be one of a namespace
	topic        adminclient.Topic
	done         string
	print        func(answer []byte) (string, error) // nil: one line with done
}

const operationHelp = connectionHelp + `
  --remote         the remote cluster

It is a super-user's call, and audited by the broker (logger georep.audit).

Exit status: 0 done, 1 the cluster refuses because it does not fit (it says why),
2 bad usage, 3 the cluster can not be asked, refuses the caller, or has no such topic
or remote.`

func (o *operation) command(c *cobra.Command, arguments func() (map[string]any, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		parse := adminclient.ParseTopic
		if o.wide {
			parse = adminclient.ParseTarget
		}
		var err error
		switch o.topic, err = parse(args[0]); {
		case err != nil:
			return badUsage("%w", err)
		case o.remote == "":
			return badUsage("--remote: name the remote cluster")
		}
		values, err := arguments()
		if err != nil {
			return err
		}
		client, err := o.client()
		if err != nil {
			return err
		}
		values["remote"] = o.remote
		answer, err := client.Operate(c.Context(), o.topic, o.call, values)
		if err != nil {
			return refused(err)
		}
		text, err := o.text(client, answer)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	o.register(c)
	c.Flags().StringVar(&o.remote, "remote", "", "the remote cluster")
	return c
}

// text is what a command prints of its answer.
func (o *operation) text(client *adminclient.Client, answer []byte) (string, error) {
	switch {
	case o.json:
		return reprint(answer, true), nil
	case o.print == nil:
		return fmt.Sprintf("%s to %s: %s\n", o.topic, o.remote, o.done), nil
	}
	text, err := o.print(answer)
	if err != nil {
		return "", badInput(client.URL(), err)
	}
	return text, nil
}

func nothing() (map[string]any, error) { return map[string]any{}, nil }

func newPause() *cobra.Command {
	o := operation{call: "pause", done: "paused"}
	return o.command(&cobra.Command{
		Use:   "pause TOPIC --remote R",
		Short: "Stop replicating a topic to a remote, until it is resumed",
		Long: `Pause stops the replication of TOPIC to one remote. It outlives restarts; the backlog
grows and keeps sealed segments until it is resumed.
` + operationHelp,
	}, nothing)
}

func newResume() *cobra.Command {
	o := operation{call: "resume", done: "resumed"}
	return o.command(&cobra.Command{
		Use:   "resume TOPIC --remote R",
		Short: "Go on replicating a topic to a remote after a pause",
		Long: `Resume lets the replication of TOPIC to one remote go on where it was paused.
` + operationHelp,
	}, nothing)
}

func newSkip() *cobra.Command {
	o := operation{call: "skip"}
	var position string
	var segment uint64
	var c *cobra.Command
	c = o.command(&cobra.Command{
		Use:   "skip TOPIC --remote R --position L:E",
		Short: "Let one parked entry go: it will never arrive at the remote",
		Long: `Skip releases exactly the parked entry at --position, and nothing else: it is deleted
from the replication cursor and will never arrive at that remote. What waits behind
it goes on. A position that is not parked is refused.
` + operationHelp + `

  --position L:E   as georep parked prints it
  --segment N      look in this segment only`,
	}, func() (map[string]any, error) {
		at, err := entry.ParsePosition(position)
		if err != nil {
			return nil, badUsage("--position: %w", err)
		}
		o.done = at.String() + " skipped"
		values := map[string]any{"position": at.String()}
		if c.Flags().Changed("segment") {
			values["segment"] = segment
		}
		return values, nil
	})
	c.Flags().StringVar(&position, "position", "", "ledger:entry")
	c.Flags().Uint64Var(&segment, "segment", 0, "number of a segment")
	return c
}
