// SPDX-License-Identifier: Apache-2.0

// Command sim plays simulated runs and fails when an invariant breaks.
//
//	sim -seeds 2000 -first 1
//
// It prints a table of the faults hit and of the machines' branches taken, and
// at last one line: seeds n events m faults k violations v (rate). From 500 seeds
// on, a fault or branch that was never met fails the run.
package main

import (
	"flag"
	"fmt"
	"os"

	"georep/tests/sim/runner"
)

func main() {
	seeds := flag.Uint64("seeds", 200, "number of seeds")
	first := flag.Uint64("first", 1, "first seed")
	workers := flag.Int("workers", 0, "runs at a time; 0 = one per core")
	stop := flag.Bool("stop", true, "stop at the first violation")
	trace := flag.Bool("trace", false, "tell the first seed line by line")
	flag.Parse()
	if *trace {
		r := runner.Replay(*first, func(line string) { fmt.Println(line) })
		if r.Violation != nil {
			fmt.Println(r.Violation)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() > 0 || *seeds == 0 {
		flag.Usage()
		os.Exit(2)
	}
	sum := runner.Play(runner.Options{First: *first, Seeds: *seeds, Workers: *workers, Stop: *stop})
	sum.Print(os.Stdout)
	if err := sum.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}
