// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"georep/tests/sim/faults"
	"georep/tests/sim/runner"
)

func init() { commands = append(commands, newSimulate) }

// newSimulate makes the command that plays one seed of the simulator again.
func newSimulate() *cobra.Command {
	var seed uint64
	var trace bool
	c := &cobra.Command{
		Use:   "simulate --seed N [--trace]",
		Short: "Play one simulated run of the replication machines again",
		Long: "Plays the run of one seed: the real window, gate, budget, dedup, placement and re-batching between\n" +
			"simulated logs, cursors, connections and brokers. The same seed gives the same run, event for event.\n" +
			"--trace tells it line by line. Exit status 1 where an invariant is violated.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var tell func(string)
			if trace {
				tell = func(line string) { fmt.Fprintln(c.OutOrStdout(), line) }
			}
			r := runner.Replay(seed, tell)
			violations, hit := 0, uint64(0)
			for _, n := range r.Faults {
				hit += n
			}
			if r.Violation != nil {
				violations = 1
				fmt.Fprintf(c.OutOrStdout(), "seed %d step %d: %v\n", seed, r.Events, r.Violation)
			}
			if trace {
				for k, n := range r.Faults {
					if n > 0 {
						fmt.Fprintf(c.OutOrStdout(), "%8d %s\n", n, faults.Kind(k))
					}
				}
			}
			fmt.Fprintf(c.OutOrStdout(), "seed %d events %d faults %d stored %d violations %d\n", seed, r.Events, hit, r.Stats.Stored, violations)
			if violations > 0 {
				return &exitError{status: exitNo, err: fmt.Errorf("seed %d violates %s", seed, r.Violation.Name.Text)}
			}
			return nil
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "number of the run")
	c.Flags().BoolVar(&trace, "trace", false, "tell the run line by line")
	return c
}
