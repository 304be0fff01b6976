// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"georep/cmd/georep/internal/adminclient"
	"georep/cmd/georep/internal/verify"
)

func init() { commands = append(commands, newVerify) }

func newVerify() *cobra.Command {
	var f connection
	var service []string
	c := &cobra.Command{
		Use:   "verify --admin-url A --admin-url B TOPIC",
		Short: "Compare a topic's logs in two clusters: lost, duplicate, reordered, changed messages",
		Long: `Verify reads every segment of TOPIC in two clusters, sealed ones too, and compares
what is stored: each message that was published in one must be in the other, once,
unchanged, and per key in the order of its origin. Different keys may be mixed in
any way.

It reads stored entries through the plugin's raw reader, so it needs a super-user's
token where the clusters ask for one, and it sees what is there now: on a topic that
is being written to, what is not replicated yet counts as lost; what was trimmed
from one cluster only can not be compared.

  --admin-url      address of a cluster's admin endpoint; twice
                   (GEOREP_ADMIN_URL: both, separated by a comma)
  --token, --token-file, --tls-ca
                   once for both clusters, or twice, in the order of --admin-url
                   (GEOREP_TOKEN, GEOREP_TOKEN_FILE, GEOREP_TLS_CA)
  --service-url    accepted and not used: entries are read over HTTP

Exit status: 0 equal, 1 different (up to ` + fmt.Sprint(verify.MaxDifferences) + ` differences are listed), 2 bad usage,
3 a cluster or topic that can not be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runVerify(c, &f, args[0]) },
	}
	f.register(c)
	c.Flags().StringArrayVar(&service, "service-url", nil, "broker address; accepted and not used")
	return c
}

// verifySide is what is printed of a cluster.
type verifySide struct {
	Cluster  string `json:"cluster"`
	AdminURL string `json:"adminUrl"`
	Epoch    uint64 `json:"epoch"`
	Segments int    `json:"segments"`
	Entries  int    `json:"entries"`
	Messages int    `json:"messages"`
}

type verifyReport struct {
	Topic    string       `json:"topic"`
	Clusters []verifySide `json:"clusters"`
	verify.Report
}

func runVerify(c *cobra.Command, f *connection, name string) error {
	topic, err := adminclient.ParseTopic(name)
	if err != nil {
		return badUsage("%w", err)
	}
	clients, err := f.clients(2)
	if err != nil {
		return err
	}
	keys := verify.NewKeys()
	var logs [2]*verify.Log
	report := verifyReport{Topic: topic.String()}
	for i, client := range clients {
		if logs[i], err = verify.Read(c.Context(), client, topic, keys); err != nil {
			return badInput(client.URL(), err)
		}
		report.Clusters = append(report.Clusters, verifySide{
			Cluster: logs[i].Cluster, AdminURL: client.URL(), Epoch: logs[i].Layout().Epoch(),
			Segments: len(logs[i].Layout().Segments()), Entries: logs[i].Entries(), Messages: logs[i].Messages(),
		})
	}
	if logs[0].Cluster == logs[1].Cluster {
		return badUsage("both addresses are of cluster %s", logs[0].Cluster)
	}
	report.Report = verify.Compare(logs[0], logs[1])
	if f.json {
		err = printJSON(c.OutOrStdout(), report)
	} else {
		err = report.print(c)
	}
	if err == nil && !report.Equal {
		err = &exitError{status: exitNo, err: fmt.Errorf("the clusters differ: %s", report.Total.Summary())}
	}
	return err
}

// print writes the report for people.
func (r *verifyReport) print(c *cobra.Command) error {
	var b strings.Builder
	for _, s := range r.Clusters {
		fmt.Fprintf(&b, "%s: %d segments, %d entries, %d messages\n", s.Cluster, s.Segments, s.Entries, s.Messages)
	}
	for _, p := range r.Pairs {
		fmt.Fprintf(&b, "%s -> %s: %s\n", p.Origin, p.Copy, p.Summary())
		if p.Newer+p.Trimmed+p.Pending > 0 {
			fmt.Fprintf(&b, "  not compared: %d newer, %d trimmed in the origin, %d in open transactions\n",
				p.Newer, p.Trimmed, p.Pending)
		}
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s\n", d)
	}
	if n := r.Total.Differences(); n > len(r.Differences) {
		fmt.Fprintf(&b, "and %d more\n", n-len(r.Differences))
	}
	if r.Equal {
		fmt.Fprintln(&b, "equal")
	}
	_, err := fmt.Fprint(c.OutOrStdout(), b.String())
	return err
}
