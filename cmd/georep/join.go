// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"georep/core/keyhash"
	"georep/core/layout"
)

func init() { commands = append(commands, newJoin, newPlan) }

const layoutHelp = `
A FILE is what "pulsar-admin scalable-topics get-metadata" prints of one cluster's topic, "-" is standard input.
Segments that record no routing profile have the one of --profile.`

// layoutFlags are common to join and plan.
type layoutFlags struct {
	profile string
	json    bool
}

func (f *layoutFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.profile, "profile", "", "m1 or pip486; as the file suggests where it is not said")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of a drawing")
}

// load reads the layout in a file and its shape, under a name for the drawing.
func (f *layoutFlags) load(c *cobra.Command, file string) (*layout.Layout, ring, error) {
	var profile keyhash.Profile
	if f.profile != "" {
		var err error
		if profile, err = keyhash.ParseProfile(f.profile); err != nil {
			return nil, ring{}, badUsage("--profile: %v", err)
		}
	}
	b, err := readFile(file, c.InOrStdin())
	if err != nil {
		return nil, ring{}, badInput(file, err)
	}
	l, err := layout.ParsePulsarAs(b, profile)
	if err != nil {
		return nil, ring{}, badInput(file, err)
	}
	s, err := layout.ShapeOf(l)
	if err != nil {
		return nil, ring{}, badInput(file, err)
	}
	return l, ring{strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), s}, nil
}

func newJoin() *cobra.Command {
	var flags layoutFlags
	c := &cobra.Command{
		Use:   "join FILE...",
		Short: "Draw the layout that clusters converge to: the finer wins",
		Long: `Join prints the layout that has every boundary of all the layouts given, on both rings: the one that these
clusters end on when nobody marks anything cold.
` + layoutHelp,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			var rings []ring
			for i, file := range files {
				_, r, err := flags.load(c, file)
				if err != nil {
					return err
				}
				if rings = append(rings, r); i == 0 {
					continue
				}
				if _, err := layout.Join(rings[0].shape, r.shape); err != nil {
					return badInput(file, err)
				}
			}
			joined := rings[0].shape
			for _, r := range rings[1:] {
				joined, _ = layout.Join(joined, r.shape) // profiles are equal
			}
			if flags.json {
				return printJSON(c.OutOrStdout(), shapeObject(joined))
			}
			_, err := fmt.Fprint(c.OutOrStdout(), drawRings(append(rings, ring{"join", joined})))
			return err
		},
	}
	flags.register(c)
	return c
}

func newPlan() *cobra.Command {
	var flags layoutFlags
	var local string
	var peers []string
	var caps layout.Caps
	c := &cobra.Command{
		Use:   "plan --local FILE --peer FILE...",
		Short: "Say what one cluster has to split and rebucket to follow its peers",
		Long: `Plan prints the operations that bring the local layout to the join of all: at most one for each local segment,
split-midpoint where Pulsar's own split does, else split-explicit, or rebucket. No operation: nothing to do.
A join beyond --max-segments or --max-buckets is refused whole, exit status 1.
` + layoutHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if local == "" || len(peers) == 0 {
				return badUsage("--local and at least one --peer are needed")
			}
			l, first, err := flags.load(c, local)
			if err != nil {
				return err
			}
			rings, target := []ring{first}, first.shape
			for _, file := range peers {
				_, r, err := flags.load(c, file)
				if err != nil {
					return err
				}
				if target, err = layout.Join(target, r.shape); err != nil {
					return badInput(file, err)
				}
				rings = append(rings, r)
			}
			if err := caps.Allow(first.shape, target); err != nil {
				return &exitError{status: exitNo, err: err}
			}
			ops, err := layout.Plan(l, target)
			if err != nil {
				return badInput(local, err)
			}
			return printPlan(c, flags.json, append(rings, ring{"join", target}), ops)
		},
	}
	flags.register(c)
	c.Flags().StringVar(&local, "local", "", "the layout to change")
	c.Flags().StringArrayVar(&peers, "peer", nil, "the layout of a peer; may be repeated")
	c.Flags().IntVar(&caps.MaxSegments, "max-segments", 0, "effective cap on active segments; 0: none")
	c.Flags().IntVar(&caps.MaxBuckets, "max-buckets", 0, "effective cap on the buckets of a segment; 0: none")
	return c
}

func printPlan(c *cobra.Command, asJSON bool, rings []ring, ops []layout.Op) error {
	target := rings[len(rings)-1].shape
	diverged, converged, err := layout.Diff(rings[0].shape, target)
	if err != nil {
		return err
	}
	if asJSON {
		list, apart := []any{}, []any{}
		for _, op := range ops {
			children := []any{}
			for _, ch := range op.Children {
				children = append(children, segmentObject(ch.Range, ch.Buckets))
			}
			list = append(list, object{{"operation", op.Kind.String()}, {"parents", op.Parents}, {"children", children}})
		}
		for _, d := range diverged {
			apart = append(apart, object{{"start", d.Range.Start}, {"end", d.Range.End}})
		}
		return printJSON(c.OutOrStdout(), object{{"operations", list}, {"target", shapeObject(target)},
			{"divergedRanges", apart}, {"convergedRanges", converged}})
	}
	var text strings.Builder
	text.WriteString(drawRings(rings))
	for _, op := range ops {
		fmt.Fprintf(&text, "%s of segment %d into", op.Kind, op.Parents[0])
		for _, ch := range op.Children {
			fmt.Fprintf(&text, " %s", ch.Range)
			if n := len(ch.Buckets); n > 0 {
				fmt.Fprintf(&text, " (%d buckets)", n+1)
			}
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "%d %s, %d of %d ranges diverge\n", len(ops), plural(len(ops), "operation"), len(diverged),
		len(diverged)+converged)
	_, err = fmt.Fprint(c.OutOrStdout(), text.String())
	return err
}
