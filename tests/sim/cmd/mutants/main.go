// SPDX-License-Identifier: Apache-2.0

// Command mutants plants one mistake after the other in the production packages
// and plays seeds until a checker sees it. It must be built with the tag mutant:
//
//	go run -tags mutant ./tests/sim/cmd/mutants
//
// GEOREP_MUTANT=name (or -only name) plants that one alone. The last line says
// mutants n caught n; one that survives all seeds fails the run.
package main

import (
	"flag"
	"fmt"
	"os"

	"georep/core/planted"
	"georep/tests/sim/runner"
)

func main() {
	seeds := flag.Uint64("seeds", 1500, "seeds to play before a mistake counts as missed")
	first := flag.Uint64("first", 1, "first seed")
	only := flag.String("only", os.Getenv("GEOREP_MUTANT"), "name of one mistake")
	flag.Parse()
	if !planted.Enabled {
		fmt.Fprintln(os.Stderr, "mutants: built without -tags mutant")
		os.Exit(2)
	}
	list := planted.Names()
	if *only != "" {
		list = []string{*only}
	}
	caught := 0
	for _, name := range list {
		if !planted.Select(name) {
			fmt.Fprintf(os.Stderr, "mutants: no mistake is called %q\n", name)
			os.Exit(2)
		}
		sum := runner.Play(runner.Options{First: *first, Seeds: *seeds, Stop: true})
		if len(sum.Violations) == 0 {
			fmt.Printf("%-22s NOT CAUGHT in %d seeds\n", name, sum.Seeds)
			continue
		}
		caught++
		v := sum.Violations[0]
		fmt.Printf("%-22s caught by %s (invariant %d), seed %d step %d\n", name, v.Violation.Name.Text, v.Violation.Name.Invariant, v.Seed, v.Events)
	}
	fmt.Printf("mutants %d caught %d\n", len(list), caught)
	if caught < len(list) {
		os.Exit(1)
	}
}
