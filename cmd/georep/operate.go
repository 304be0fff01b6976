// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
	"georep/core/entry"
	"georep/core/layout"
)

func init() { commands = append(commands, newSkip, newPause, newResume, newResetCursor) }

// operation is a command that changes the replication of a topic to a remote.
type operation struct {
	connection
	call, remote string
	segment      uint64 // counts where the flag was given
	toOwner      bool   // with a segment, the call is one of that segment
	done         string
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
		topic, err := adminclient.ParseTopic(args[0])
		switch {
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
		call := o.call
		values["remote"] = o.remote
		switch one := c.Flags().Changed("segment"); {
		case one && o.toOwner:
			if call, err = segmentCall(c.Context(), client, topic, o.segment, o.call); err != nil {
				return err
			}
		case one:
			values["segment"] = o.segment
		}
		answer, err := client.Operate(c.Context(), topic, call, values)
		if err != nil {
			return refused(err)
		}
		text := fmt.Sprintf("%s to %s: %s\n", topic, o.remote, o.done)
		if o.json {
			text = reprint(answer, true)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), text)
		return err
	}
	o.register(c)
	c.Flags().StringVar(&o.remote, "remote", "", "the remote cluster")
	return c
}

// segmentCall is the path of a call of one segment, which is known by range and number.
func segmentCall(ctx context.Context, client *adminclient.Client, t adminclient.Topic, id uint64, call string) (string, error) {
	b, err := client.Layout(ctx, t)
	if err != nil {
		return "", refused(err)
	}
	l, err := layout.ParsePulsar(b)
	if err != nil {
		return "", badInput(client.URL(), err)
	}
	s := l.Get(id)
	if s == nil || s.IsLegacy() {
		return "", refused(fmt.Errorf("%s has no segment %d that replicates by itself", t, id))
	}
	return fmt.Sprintf("segment/%s-%d/%s", s.Range, s.ID, call), nil
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
	c := o.command(&cobra.Command{
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
		return map[string]any{"position": at.String()}, nil
	})
	c.Flags().StringVar(&position, "position", "", "ledger:entry")
	c.Flags().Uint64Var(&o.segment, "segment", 0, "number of a segment")
	return c
}

func newResetCursor() *cobra.Command {
	o := operation{call: "reset-cursor", toOwner: true}
	var to string
	var c *cobra.Command
	c = o.command(&cobra.Command{
		Use:   "reset-cursor TOPIC --remote R --to earliest|latest|L:E",
		Short: "Replicate a topic anew from a position: what arrived before arrives again",
		Long: `Reset-cursor begins a new generation of the replication of TOPIC to one remote:
everything from --to on is sent, and stored there again where it was stored before.
latest leaves out what is stored here and has not been sent.
` + operationHelp + `

  --to             earliest, latest, or with --segment a position L:E of its log
  --segment N      this segment only`,
	}, func() (map[string]any, error) {
		if to != "earliest" && to != "latest" {
			if _, err := entry.ParsePosition(to); err != nil {
				return nil, badUsage("--to: neither earliest nor latest nor ledger:entry: %q", to)
			}
			if !c.Flags().Changed("segment") {
				return nil, badUsage("--to: a ledger belongs to one segment; name it with --segment")
			}
		}
		o.done = "begins anew at " + to
		return map[string]any{"to": to}, nil
	})
	c.Flags().StringVar(&to, "to", "", "earliest, latest or ledger:entry")
	c.Flags().Uint64Var(&o.segment, "segment", 0, "number of a segment")
	return c
}
