// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"strings"
	"testing"

	"georep/core/pb"
)

func TestFilterTopic(t *testing.T) {
	const any = ""
	for _, c := range []struct {
		name       string
		properties map[string]string
		topic      string
		eu, us     string // the property that denies; any = allowed
		trouble    string
	}{
		{"no properties", nil, "orders", any, any, ""},
		{"other properties", map[string]string{"georep.deny": ".*", "deny.us": ".*", "georep.deny.asia": ".*"}, "orders", any, any, ""},
		{"deny one", map[string]string{"georep.deny.us": "tmp-.*"}, "tmp-1", any, "georep.deny.us", ""},
		{"deny one, another topic", map[string]string{"georep.deny.us": "tmp-.*"}, "orders", any, any, ""},
		{"the whole name", map[string]string{"georep.deny.us": "tmp|emp"}, "tmp-1", any, any, ""},
		{"an alternative is one pattern", map[string]string{"georep.deny.us": "a|b"}, "b", any, "georep.deny.us", ""},
		{"deny all", map[string]string{"georep.deny.*": "tmp-.*"}, "tmp-1", "georep.deny.*", "georep.deny.*", ""},
		{"allow one", map[string]string{"georep.allow.us": "orders"}, "orders", any, any, ""},
		{"allow one, another topic", map[string]string{"georep.allow.us": "orders"}, "tmp-1", any, "georep.allow.us", ""},
		{"two allows", map[string]string{"georep.allow.us": "tmp-.*", "georep.allow.*": "orders"}, "tmp-1", "georep.allow.*", any, ""},
		{"two allows, neither", map[string]string{"georep.allow.us": "a", "georep.allow.*": "b"}, "c", "georep.allow.*", "georep.allow.us", ""},
		{"deny wins", map[string]string{"georep.allow.us": ".*", "georep.deny.*": "tmp-.*"}, "tmp-1", "georep.deny.*", "georep.deny.*", ""},
		{"empty is none", map[string]string{"georep.allow.us": "", "georep.deny.us": ""}, "orders", any, any, ""},
		{"invalid deny", map[string]string{"georep.deny.us": "tmp-(", "georep.deny.*": "tmp-1"}, "tmp-1", "georep.deny.*", "georep.deny.*",
			"georep.deny.us counts for nothing: error parsing regexp: missing closing )"},
		{"invalid deny, another topic", map[string]string{"georep.deny.us": "(.*"}, "orders", any, any, "georep.deny.us counts for nothing"},
		{"invalid allow", map[string]string{"georep.allow.*": "[a-"}, "orders", any, any, "georep.allow.* counts for nothing"},
		{"invalid beside a valid allow", map[string]string{"georep.allow.us": "[", "georep.allow.*": "orders"}, "tmp-1", "georep.allow.*",
			"georep.allow.*", "georep.allow.us counts for nothing"},
		{"not two groups", map[string]string{"georep.deny.us": "a)|(.*"}, "orders", any, any, "unexpected )"},
		{"no look-ahead", map[string]string{"georep.deny.us": "(?!orders).*"}, "tmp", any, any, "invalid or unsupported Perl syntax"},
		{"longest pattern", map[string]string{"georep.deny.us": strings.Repeat(".?", MaxPatternBytes/2)}, "orders", any, "georep.deny.us", ""},
		{"too long", map[string]string{"georep.deny.us": strings.Repeat(".", MaxPatternBytes) + "*"}, "orders", any, any, "1025 bytes, more than 1024"},
		{"lazy and a shorter alternative first", map[string]string{"georep.deny.us": "o|ord.*?"}, "orders", any, "georep.deny.us", ""},
		{"quoted to the end", map[string]string{"georep.deny.us": `\Qa.b`}, "a.b", any, "georep.deny.us", ""},
		{"case and flags", map[string]string{"georep.deny.us": "(?i)ORD.*"}, "orders", any, "georep.deny.us", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := FilterTopic(&pb.TopicFilter{Topic: c.topic, Remotes: []string{"eu", "us"}, Properties: c.properties})
			for i, want := range []string{c.eu, c.us} {
				v := got.GetRemotes()[i]
				if want != any {
					want = "denied by pattern " + want
				}
				if v.GetRemote() != []string{"eu", "us"}[i] || v.GetWhy() != want || v.GetDenied() != (want != any) {
					t.Errorf("%s: %v, want %q", v.GetRemote(), v, want)
				}
			}
			switch {
			case c.trouble == "" && len(got.GetTroubles()) != 0:
				t.Errorf("troubles %q", got.GetTroubles())
			case c.trouble != "" && (len(got.GetTroubles()) != 1 || !strings.Contains(got.GetTroubles()[0], c.trouble)):
				t.Errorf("troubles %q, want one with %q", got.GetTroubles(), c.trouble)
			}
		})
	}
}

// A valid pattern costs time in proportion to the name, whatever it is.
func TestFilterTopicRefusesRepetitionBombs(t *testing.T) {
	for pattern, trouble := range map[string]string{
		"((a{100}){100}){100}":           "invalid repeat count",
		strings.Repeat("(a{1000})?", 11): "instructions, more than 10000",
	} {
		got := FilterTopic(&pb.TopicFilter{Topic: strings.Repeat("a", 10_000), Remotes: []string{"us"},
			Properties: map[string]string{"georep.deny.us": pattern}})
		if len(got.GetTroubles()) != 1 || !strings.Contains(got.GetTroubles()[0], trouble) || got.GetRemotes()[0].GetDenied() {
			t.Errorf("verdicts %v, want trouble %q", got, trouble)
		}
	}
}
