// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
	"georep/cmd/georep/internal/view"
)

func init() { commands = append(commands, newStatus) }

// statusFlags are those that only status has.
type statusFlags struct {
	connection
	all, check, watch bool
	interval          time.Duration
}

func newStatus() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status TOPIC|NAMESPACE",
		Short: "Show how the segments of a topic, or of a namespace's topics, replicate to each remote",
		Long: `Status asks a cluster how TOPIC (topic://tenant/namespace/name or
tenant/namespace/name), or every scalable topic of NAMESPACE (tenant/namespace),
replicates from there.

One line for each segment and remote:

STATE      replicating; starting: waits for the handshake or for its parents;
           draining, drained: sealed, with and without backlog;
           stalled: stands still; paused: by an operator; unsupported: the remote
           does not run the plugin; incompatible: the remote may not be written to;
           denied: the remote refuses this cluster's credentials
WAITS FOR  what the next entry waits for: handshake, credentials, parent-drain (the
           gate is closed), paused, parked, budget, watermark, schema, destination,
           layout, chunks
BACKLOG    entries that are not deleted from the replication cursor
DELAY      age of the oldest entry that is not replicated; "?" is not known
PARKED     entries that wait for an operator, see georep parked
VERBATIM … what became of entries since the segment was loaded: sent as they are,
           unbatched, without keys, cut into parts, not to be sent

Above it, remotes that a pattern of the namespace keeps the topic from, and what is not
replicated by choice (georep bootstrap show). Below it, where
there is a backlog, what went wrong last, and for how long in all the segment has waited
for the slow path's budget. Then that budget of each broker.
` + connectionHelp + `
  --watch          again every --interval, until interrupted; with --json a line each
  --all            sealed segments that are drained, too
  --check          exit status 1 where anything stands still, is blocked, parked or
                   without a known start, or layouts are kept apart

Exit status: 0 printed, 1 --check found something, 2 bad usage, 3 the cluster can
not be asked, refuses, or has no such topic.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runStatus(c, &f, args[0]) },
	}
	f.register(c)
	c.Flags().BoolVar(&f.all, "all", false, "sealed and drained segments, too")
	c.Flags().BoolVar(&f.check, "check", false, "exit status 1 where something needs a look")
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "print again and again")
	c.Flags().DurationVar(&f.interval, "interval", 2*time.Second, "pause between two prints of --watch")
	return c
}

func runStatus(c *cobra.Command, f *statusFlags, name string) error {
	target, err := adminclient.ParseTarget(name)
	switch {
	case err != nil:
		return badUsage("%w", err)
	case f.watch && f.check:
		return badUsage("--watch and --check exclude each other")
	case f.interval <= 0:
		return badUsage("--interval: must be above 0")
	}
	client, err := f.client()
	if err != nil {
		return err
	}
	if !f.watch {
		return f.once(c.Context(), c.OutOrStdout(), client, target)
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
	defer stop()
	return f.again(ctx, c, client, target)
}

// once prints the status and says what --check finds.
func (f *statusFlags) once(ctx context.Context, out io.Writer, client *adminclient.Client, t adminclient.Topic) error {
	answer, err := client.Status(ctx, t)
	if err != nil {
		return refused(err)
	}
	s, err := view.ParseStatus(answer)
	if err != nil {
		return badInput(client.URL(), err)
	}
	text := s.Print(f.all)
	if f.json {
		text = reprint(answer, !f.watch)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if n := s.Trouble(); f.check && n > 0 {
		return &exitError{status: exitNo, err: fmt.Errorf("%d replications, segments or peers need a look", n)}
	}
	return nil
}

// again prints the status until ctx ends. On a terminal each takes the place of
// the one before. What fails after the first time is told and tried again.
func (f *statusFlags) again(ctx context.Context, c *cobra.Command, client *adminclient.Client, t adminclient.Topic) error {
	out := c.OutOrStdout()
	for i := 0; ; i++ {
		var b bytes.Buffer
		err := f.once(ctx, &b, client, t)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && i == 0:
			return err
		case err != nil:
			fmt.Fprintf(c.ErrOrStderr(), "georep: %v\n", err)
		case isTerminal(out) && !f.json:
			fmt.Fprintf(out, "\x1b[H\x1b[2J%s\n", time.Now().Format(time.TimeOnly))
		case !f.json:
			fmt.Fprintln(out, time.Now().Format(time.TimeOnly))
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.interval):
		}
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// reprint writes JSON anew, with every field that came: indented or in one line.
func reprint(answer []byte, indent bool) string {
	var b bytes.Buffer
	var err error
	if indent {
		err = json.Indent(&b, answer, "", "  ")
	} else {
		err = json.Compact(&b, answer)
	}
	if err != nil {
		return string(answer)
	}
	return b.String() + "\n"
}
