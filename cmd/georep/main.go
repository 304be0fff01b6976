// SPDX-License-Identifier: Apache-2.0

// Command georep is the operator's and debugger's view on Georep: it asks
// clusters how topics replicate and steers them, and it takes entries apart, says
// where they would go and cuts them, with the code that the broker plugin runs.
//
// Each subcommand is one file that registers itself in [commands]. Standard
// output carries the answer, standard error one line on what went wrong. Exit
// status: 0 done, 1 the answer is no (the logs differ, --check found something, a
// cluster refuses because it does not fit), 2 bad usage, 3 bad input, or a cluster
// that can not be asked.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
