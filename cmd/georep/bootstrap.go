// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/view"
)

func init() { commands = append(commands, newBootstrap) }

func newBootstrap() *cobra.Command {
	c := &cobra.Command{
		Use:   "bootstrap",
		Short: "Where replication of existing data began",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return badUsage("bootstrap: georep bootstrap show TOPIC") },
	}
	c.AddCommand(newBootstrapShow())
	return c
}

func newBootstrapShow() *cobra.Command {
	var f connection
	var remote string
	c := &cobra.Command{
		Use:   "show TOPIC",
		Short: "List where replication of a topic began and what was left out by choice",
		Long: `Show lists for each segment and remote of TOPIC where its replication began, by which
start, and below it the ledgers that were left out: number, entries, bytes, whether
tiered storage has them, by which driver and under which id. What is left out is
absent at the remote, by choice; tiered storage is not shared between clusters.

holding: it is not known yet which ledgers are offloaded, and some are in tiered
storage only. Nothing is guessed: the cursor stands at the log's start, so that
nothing is trimmed beneath it, and the plan is tried again.
` + connectionHelp + `
  --remote         only this remote cluster

Exit status: 0 printed, 2 bad usage, 3 the cluster can not be asked, refuses, or has
no such topic.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runBootstrapShow(c, &f, args[0], remote) },
	}
	f.register(c)
	c.Flags().StringVar(&remote, "remote", "", "only this remote cluster")
	return c
}

func runBootstrapShow(c *cobra.Command, f *connection, name, remote string) error {
	topic, client, err := f.of(name)
	if err != nil {
		return err
	}
	answer, err := client.Bootstrap(c.Context(), topic, remote)
	if err != nil {
		return refused(err)
	}
	s, err := view.ParseBootstrap(answer)
	if err != nil {
		return badInput(client.URL(), err)
	}
	return f.print(c.OutOrStdout(), s.Print(), answer)
}
