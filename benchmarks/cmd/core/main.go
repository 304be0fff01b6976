// SPDX-License-Identifier: Apache-2.0

// Command core measures what needs no JVM, tables c, e and f of `make bench`, and
// writes the rows to a file:
//
//	c  re-batching against its codec's floor
//	e  layouts: join and plan, pushes of a change; memory
//	f  the library in a native host, where -native names it (benchmarks/native)
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"time"

	"georep/benchmarks/paired"
	"georep/benchmarks/row"
)

// settings are what the command line says.
type settings struct {
	paired.Runner
	only   *regexp.Regexp
	native string
}

// tables are the measurements in the order of their names.
var tables = []func(*settings) ([]row.Row, error){rebatchRows, changeRows, layoutRows, memoryRows, nativeRows}

func main() {
	var s settings
	out := flag.String("o", "build/reports/bench.d/core.json", "the file of rows")
	only := flag.String("run", ".", "rows to measure")
	profile := flag.String("cpuprofile", "", "write a profile of the whole run to this file")
	flag.StringVar(&s.native, "native", "", "the native host")
	flag.IntVar(&s.Rounds, "rounds", 21, "rounds of each comparison")
	flag.DurationVar(&s.Span, "span", 25*time.Millisecond, "CPU time of each side in a round")
	flag.Parse()
	s.Clock = paired.CPU
	s.only = regexp.MustCompile(*only)
	if err := run(&s, *out, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "core:", err)
		os.Exit(1)
	}
}

func run(s *settings, out, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var rows []row.Row
	for _, table := range tables {
		more, err := table(s)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	if len(rows) == 0 {
		return fmt.Errorf("no row matches %s", s.only)
	}
	return row.Write(out, rows)
}

// wants says whether the row is to be measured, and tells that it is.
func (s *settings) wants(name string) bool {
	ok := s.only.MatchString(name)
	if ok {
		fmt.Println(name)
	}
	return ok
}
