// SPDX-License-Identifier: Apache-2.0

// Command report puts together what the parts of `make bench` have measured.
//
//	report               build/reports/bench.d/*.json to build/reports/bench.json, and a table
//	report -check FILE   bench.json against a baseline: fails where a ratio lost more than a fifth
//	report -baseline     bench.json to benchmarks/baseline.json
//
// Exit status 0 done (a target that is missed is told, no failure), 1 no, 2 usage.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const baselineFile = "benchmarks/baseline.json"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(errs)
	dir := f.String("dir", "build/reports", "where the reports are")
	check := f.String("check", "", "compare bench.json with this baseline")
	baseline := f.Bool("baseline", false, "make bench.json the baseline")
	file := f.String("o", baselineFile, "the baseline that -baseline writes")
	if f.Parse(args) != nil || f.NArg() > 0 || *check != "" && *baseline {
		f.Usage()
		return 2
	}
	var err error
	switch {
	case *check != "":
		err = checkAgainst(out, *dir, *check)
	case *baseline:
		err = writeBaseline(out, *dir, *file)
	default:
		err = merge(out, *dir)
	}
	if err != nil {
		fmt.Fprintln(errs, "report:", err)
		return 1
	}
	return 0
}

func reportFile(dir string) string  { return filepath.Join(dir, "bench.json") }
func machineFile(dir string) string { return filepath.Join(dir, "bench-machine.txt") }
