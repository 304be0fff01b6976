// SPDX-License-Identifier: Apache-2.0

package starts

// Fault begins the names of what a run does to the machines; "branch " begins those of
// what the machines decide.
const Fault = "fault "

// Names lists the faults and branches that many runs together have to meet.
func Names() []string {
	return []string{
		"fault hold-failed", "fault hold-answer-lost", "fault read-failed", "fault offload-unreadable", "fault copy-unsure",
		"fault search-failed", "fault place-failed", "fault place-answer-lost", "fault crash-while-holding",
		"fault crash-while-placing", "fault owner-changed", "fault evicted", "fault policy-changed", "fault policy-bad",
		"branch rolled", "branch offloaded", "branch deleted", "branch trimmed", "branch split", "branch merge",
		"branch action-start", "branch action-truncate-and-start", "branch action-ordinary-policy",
		"branch start-earliest", "branch start-latest", "branch start-not-offloaded", "branch start-position",
		"branch start-time", "branch unknown", "branch failed", "branch resumed", "branch bounded", "branch younger",
		"branch searched", "branch refused", "branch hole", "branch skipped-deleted", "branch whole",
		"branch child-of-skipped", "branch reset", "branch reset-back", "branch reset-searched", "branch reset-in-place",
		"branch reset-refused", "branch reset-together",
	}
}
