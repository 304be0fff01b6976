// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
	"georep/cmd/georep/internal/view"
	"georep/core/entry"
)

func init() { commands = append(commands, newParked) }

func newParked() *cobra.Command {
	var f connection
	var remote, save string
	c := &cobra.Command{
		Use:   "parked TOPIC",
		Short: "List the entries of a topic that wait for an operator",
		Long: `Parked lists the entries of TOPIC that no rule places at a remote: position, reason,
since when (the broker that owns the segment has known it), size, the first 64 bytes
in hexadecimal, and what helps. They are kept in the log and behind the replication
cursor until they are skipped.

At most 100 of each segment and remote are listed, by position; the rest is counted.

georep inspect takes the hexadecimal of an entry of 64 bytes or less as it is printed,
with the comments. With --save it can have any entry: each listed one is written to
DIR, whole, as SEGMENT-LEDGER-ENTRY.bin.
` + connectionHelp + `
  --remote         only those of this remote cluster
  --save DIR       write the entries to DIR, which must exist

Exit status: 0 printed, none parked or many; 2 bad usage, 3 the cluster can not be
asked, refuses, or has no such topic.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runParked(c, &f, args[0], remote, save) },
	}
	f.register(c)
	c.Flags().StringVar(&remote, "remote", "", "only this remote cluster")
	c.Flags().StringVar(&save, "save", "", "folder to write the entries to")
	return c
}

func runParked(c *cobra.Command, f *connection, name, remote, save string) error {
	topic, client, err := f.of(name)
	if err != nil {
		return err
	}
	answer, err := client.Parked(c.Context(), topic, remote)
	if err != nil {
		return refused(err)
	}
	p, err := view.ParseParked(answer)
	if err != nil {
		return badInput(client.URL(), err)
	}
	if save != "" {
		if err := saveParked(c.Context(), client, topic, p, save); err != nil {
			return err
		}
	}
	return f.print(c.OutOrStdout(), p.Print(), answer)
}

// saveParked reads the listed entries from their logs and writes each to dir.
func saveParked(ctx context.Context, client *adminclient.Client, t adminclient.Topic, p *view.Parked, dir string) error {
	done := map[string]bool{}
	for _, e := range p.Parked {
		name := fmt.Sprintf("%d-%s.bin", e.Segment, strings.ReplaceAll(e.Position, ":", "-"))
		if done[name] || e.Error != "" { // one entry may be parked for several remotes
			continue
		}
		done[name] = true
		at, err := entry.ParsePosition(e.Position)
		if err != nil {
			return badInput(client.URL(), err)
		}
		raw, err := client.Entry(ctx, t, uint64(e.Segment), at)
		if err != nil {
			return refused(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			return badInput("--save", err)
		}
	}
	return nil
}
