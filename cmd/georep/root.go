// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitNo    = 1 // the answer is no
	exitUsage = 2 // flags or arguments
	exitInput = 3 // a file, hex text, layout or entry; a cluster that can not be asked
)

// commands makes the subcommands. A command's file appends its constructor in an
// init function; nothing else has to be touched.
var commands []func() *cobra.Command

// exitError is an error that asks for an exit status.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// badInput makes err end the command with exit status 3, what naming its file.
func badInput(what string, err error) error {
	if what == "-" {
		what = "standard input"
	}
	return &exitError{status: exitInput, err: fmt.Errorf("%s: %w", what, err)}
}

// badUsage makes a message end the command with exit status 2.
func badUsage(format string, args ...any) error {
	return &exitError{status: exitUsage, err: fmt.Errorf(format, args...)}
}

// run executes one command line and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "georep",
		Short:         "Geo-replication of Pulsar's scalable topics: status, parked entries, inspection",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	for _, make := range commands {
		root.AddCommand(make())
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	// Whatever a command does not mark itself comes from the flag parser.
	status := exitUsage
	if e, ok := errors.AsType[*exitError](err); ok {
		status = e.status
	}
	line := strings.Join(strings.Fields(err.Error()), " ")
	fmt.Fprintf(stderr, "georep: %s\n", line)
	return status
}

// printJSON writes v to w, indented, with a newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
