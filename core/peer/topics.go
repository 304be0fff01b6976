// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"georep/core/pb"
)

// Namespace properties that say which topics go to a remote; [allRemotes] in
// place of a remote's name stands for every remote.
const (
	AllowPrefix = "georep.allow."
	DenyPrefix  = "georep.deny."
	allRemotes  = "*"
)

// Bounds of one pattern. A name is matched in time proportional to its length
// and to the instructions that the pattern compiles to; a repetition of few
// bytes makes many of them. Only the patterns of the remotes asked for are
// compiled, so there are at most two for each and two for all.
const (
	MaxPatternBytes        = 1024
	MaxPatternInstructions = 10_000
)

// FilterTopic says to which remotes the patterns of a namespace let a topic go.
//
// A pattern is a regular expression (RE2) that has to match the topic's whole
// local name. Those of the remote and those of "*" count alike:
//
//	a deny matches                     denied
//	else, there are no allows          allowed
//	else, an allow matches             allowed
//	else                               denied
//
// An empty pattern is none. One that does not compile, or is beyond a bound,
// counts as none too, and is told: a slip of the pen must not end the
// replication of what it does not name. So a broken allow alone lets everything
// pass.
func FilterTopic(f *pb.TopicFilter) *pb.TopicVerdicts {
	p := patterns{properties: f.GetProperties(), compiled: map[string]*regexp.Regexp{}}
	out := new(pb.TopicVerdicts)
	for _, remote := range f.GetRemotes() {
		v := &pb.TopicVerdict{Remote: remote}
		if v.Why = p.why(f.GetTopic(), remote); v.Why != "" {
			v.Denied = true
		}
		out.Remotes = append(out.Remotes, v)
	}
	out.Troubles = p.troubles
	return out
}

// patterns are the properties, each compiled once.
type patterns struct {
	properties map[string]string
	compiled   map[string]*regexp.Regexp // nil: empty, or not valid
	troubles   []string
}

// why returns what denies the topic; "" where nothing does.
func (p *patterns) why(topic, remote string) string {
	denies := []string{DenyPrefix + remote, DenyPrefix + allRemotes}
	allows := []string{AllowPrefix + remote, AllowPrefix + allRemotes}
	for _, name := range append(denies, allows...) {
		p.compile(name) // all of them: what is not valid is told whatever the topic's name is
	}
	for _, name := range denies {
		if re := p.compiled[name]; re != nil && whole(re, topic) {
			return "denied by pattern " + name
		}
	}
	missed := ""
	for _, name := range allows {
		re := p.compiled[name]
		switch {
		case re == nil:
		case whole(re, topic):
			return ""
		case missed == "":
			missed = name
		}
	}
	if missed == "" {
		return ""
	}
	return "denied by pattern " + missed
}

func (p *patterns) compile(name string) {
	if _, ok := p.compiled[name]; ok {
		return
	}
	re, err := compile(p.properties[name])
	if err != nil {
		p.troubles = append(p.troubles, fmt.Sprintf("%s counts for nothing: %v", name, err))
	}
	p.compiled[name] = re
}

func compile(pattern string) (*regexp.Regexp, error) {
	switch {
	case pattern == "":
		return nil, nil
	case len(pattern) > MaxPatternBytes:
		return nil, fmt.Errorf("%d bytes, more than %d", len(pattern), MaxPatternBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > MaxPatternInstructions {
		return nil, fmt.Errorf("%d instructions, more than %d", len(prog.Inst), MaxPatternInstructions)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	re.Longest()
	return re, nil
}

// whole says whether re matches all of s. The match that begins first and is
// longest is s if any is; a pattern put between ^ and $ would have to be parsed
// for what it does to them.
func whole(re *regexp.Regexp, s string) bool {
	at := re.FindStringIndex(s)
	return at != nil && at[0] == 0 && at[1] == len(s)
}
