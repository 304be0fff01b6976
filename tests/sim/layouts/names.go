// SPDX-License-Identifier: Apache-2.0

package layouts

// Fault begins the names of what a run does to the machines; "branch " begins those
// of what the machines decide.
const Fault = "fault "

// What a run counts of the boundaries that were cold everywhere, once all is quiet.
const (
	MergedInCalm = "branch merged-in-calm"
	SplitAgain   = "branch split-again" // has to stay at 0
)

// Names lists the faults and branches that many runs together have to meet.
func Names() []string {
	return []string{
		"fault push-lost", "fault push-repeated", "fault push-delayed", "fault answer-lost", "fault one-way-cut",
		"fault crash", "fault stale-leader", "fault stale-resigns", "fault led-before", "fault to-stale-leader",
		"fault store-conflict", "fault store-failed", "fault store-ambiguous", "fault member-joined",
		"fault member-left", "fault member-back", "fault member-told-late", "fault recreated",
		"fault unsupported", "fault half-upgraded", "fault caps-changed", "fault incompatible",
		"fault broker-crash", "fault replaced-in-place", "fault leader-unknown", "fault wrong-leader", "fault not-forgotten",
		"fault crash-at-action", "fault crash-after-commit", "fault broker-crash-at-action",
		"fault store-slow", "fault outcome-lost", "branch response-busy",
		"branch call-of-many", "branch call-to-leader", "branch call-failed", "branch push-moved", "branch push-replaced",
		"branch commit-fold", "branch commit-merge", "branch commit-policy", "branch commit-mark", "branch commit-unmark",
		"branch op-split-midpoint", "branch op-split-explicit", "branch op-rebucket", "branch op-merge",
		"branch answer-ok", "branch answer-busy", "branch answer-cap", "branch answer-no-ring", "branch answer-not-leader",
		"branch answer-not-a-member", "branch answer-stale",
		"branch verdict-ok", "branch verdict-marked", "branch verdict-not-leader", "branch verdict-busy",
		"branch verdict-waiting-for-peers", "branch verdict-cap", "branch verdict-not-siblings", "branch verdict-no-segment",
		"branch verdict-bad-state", "branch verdict-failed", "branch capped-at-the-end",
		MergedInCalm, "branch deep-cut", "branch clusters-2", "branch clusters-3", "branch clusters-4",
		"branch clusters-5", "branch clusters-6", "branch clusters-7",
	}
}
