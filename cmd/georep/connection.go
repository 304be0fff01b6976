// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
)

// connectionHelp is the part of an online command's help that all have.
const connectionHelp = `
  --admin-url      the cluster's admin address (GEOREP_ADMIN_URL); any broker of it
  --token          bearer token (GEOREP_TOKEN); seen by whoever lists processes
  --token-file     file that holds the token (GEOREP_TOKEN_FILE)
  --tls-ca         file with the PEM certificates to trust (GEOREP_TLS_CA)
  --timeout        longest that one request may take
  --json           the plugin's answer as JSON`

// connection are the flags of a command that asks clusters. Those that may be
// given once for each cluster are lists.
type connection struct {
	admin, token, tokenFile, ca []string
	timeout                     time.Duration
	json                        bool
}

func (f *connection) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.admin, "admin-url", nil, "admin address, http://host:port or https://host:port")
	c.Flags().StringArrayVar(&f.token, "token", nil, "bearer token")
	c.Flags().StringArrayVar(&f.tokenFile, "token-file", nil, "file that holds the bearer token")
	c.Flags().StringArrayVar(&f.ca, "tls-ca", nil, "file with the PEM certificates to trust")
	c.Flags().DurationVar(&f.timeout, "timeout", adminclient.DefaultTimeout, "longest that one request may take")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// client makes the one client of a command that asks one cluster.
func (f *connection) client() (*adminclient.Client, error) {
	all, err := f.clients(1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// clients makes n clients out of flags and environment. Errors carry their exit status.
func (f *connection) clients(n int) ([]*adminclient.Client, error) {
	urls := f.admin
	if len(urls) == 0 {
		urls = split(os.Getenv("GEOREP_ADMIN_URL"))
	}
	switch {
	case n == 1 && len(urls) != 1:
		return nil, badUsage("one cluster is asked: give --admin-url once, or GEOREP_ADMIN_URL")
	case len(urls) != n:
		return nil, badUsage("two clusters are compared: give --admin-url twice, or GEOREP_ADMIN_URL=A,B")
	case len(f.token) > 0 && len(f.tokenFile) > 0:
		return nil, badUsage("--token and --token-file exclude each other")
	case f.timeout <= 0:
		return nil, badUsage("--timeout: must be above 0")
	}
	out := make([]*adminclient.Client, n)
	for i := range out {
		o := adminclient.Options{URL: urls[i], Timeout: f.timeout}
		var err error
		if o.Token, err = f.bearer(i, n); err != nil {
			return nil, err
		}
		if o.TLSCA, err = nth("--tls-ca", f.ca, "GEOREP_TLS_CA", i, n); err != nil {
			return nil, err
		}
		switch out[i], err = adminclient.New(o); {
		case errors.Is(err, adminclient.ErrOptions):
			return nil, badUsage("%w", err)
		case err != nil:
			return nil, badInput("--tls-ca", err)
		}
	}
	return out, nil
}

// of reads a topic's name and makes the client that asks for it.
func (f *connection) of(name string) (adminclient.Topic, *adminclient.Client, error) {
	topic, err := adminclient.ParseTopic(name)
	if err != nil {
		return topic, nil, badUsage("%w", err)
	}
	client, err := f.client()
	return topic, client, err
}

// print writes a table, or with --json what the cluster answered.
func (f *connection) print(out io.Writer, table string, answer []byte) error {
	if f.json {
		table = reprint(answer, true)
	}
	_, err := io.WriteString(out, table)
	return err
}

// bearer returns the token for cluster i. A flag goes before the environment.
func (f *connection) bearer(i, n int) (string, error) {
	if len(f.tokenFile) == 0 {
		t, err := nth("--token", f.token, "GEOREP_TOKEN", i, n)
		if t != "" || err != nil {
			return t, err
		}
	}
	file, err := nth("--token-file", f.tokenFile, "GEOREP_TOKEN_FILE", i, n)
	if file == "" || err != nil {
		return "", err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", badInput("--token-file", err)
	}
	return string(b), nil
}

// nth returns the value of an option for cluster i of n: given once it is for
// all, given n times each has its own, else the environment's.
func nth(flag string, values []string, env string, i, n int) (string, error) {
	switch len(values) {
	case 0:
		return os.Getenv(env), nil
	case 1:
		return values[0], nil
	case n:
		return values[i], nil
	}
	return "", badUsage("%s: given %d times for %d clusters", flag, len(values), n)
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// refused gives an error of a call its exit status: 1 where the cluster says no
// to what was asked, 3 where it can not be asked or does not know it.
func refused(err error) error {
	if errors.Is(err, adminclient.ErrConflict) {
		return &exitError{status: exitNo, err: err}
	}
	return &exitError{status: exitInput, err: err}
}
