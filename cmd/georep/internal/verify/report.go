// SPDX-License-Identifier: Apache-2.0

package verify

import "fmt"

// MaxDifferences is how many differences a report lists.
const MaxDifferences = 20

// Kind names a difference.
type Kind string

// Kinds of differences.
const (
	Lost       Kind = "lost"       // not in the copy
	Duplicate  Kind = "duplicate"  // in the copy once more
	Order      Kind = "order"      // in the copy behind a later message of its key
	Content    Kind = "content"    // in the copy with other contents
	Unexpected Kind = "unexpected" // in the copy, but not in the origin
	Misplaced  Kind = "misplaced"  // in a segment whose range does not hold its key
)

// Difference is one message that is not as it should be.
type Difference struct {
	Kind   Kind   `json:"kind"`
	Origin string `json:"origin"` // the cluster that it was published in
	Copy   string `json:"copy"`   // the cluster whose copy differs
	Key    string `json:"key,omitempty"`
	// Where it is in the origin; in Lost, Order and Content.
	Segment  *uint64 `json:"segment,omitempty"`
	Position string  `json:"position,omitempty"`
	Index    int     `json:"index"` // in its entry, from 0
	// Where it is in the copy; not in Lost.
	CopySegment  *uint64 `json:"copySegment,omitempty"`
	CopyPosition string  `json:"copyPosition,omitempty"`
}

// String returns one line.
func (d Difference) String() string {
	s := fmt.Sprintf("%s: %s -> %s", d.Kind, d.Origin, d.Copy)
	if d.Key != "" {
		s += fmt.Sprintf(", key %q", d.Key)
	}
	if d.Segment != nil {
		s += fmt.Sprintf(", published in segment %d at %s", *d.Segment, d.Position)
	}
	if d.CopySegment != nil {
		s += fmt.Sprintf(", stored in segment %d at %s", *d.CopySegment, d.CopyPosition)
	}
	return s + fmt.Sprintf(", message %d", d.Index)
}

// Counts are the numbers of messages that one cluster published, or has of a
// third one, as the other cluster's copy shows them.
type Counts struct {
	Messages           int `json:"messages"` // that the copy should have
	Lost               int `json:"lost"`
	Duplicates         int `json:"duplicates"`
	OrderViolations    int `json:"orderViolations"`
	ContentDifferences int `json:"contentDifferences"`
	Unexpected         int `json:"unexpected"`
	Misplaced          int `json:"misplaced"`
	// No differences: published after the origin was read; trimmed or pruned
	// there; in a transaction that is still open.
	Newer   int `json:"newer"`
	Trimmed int `json:"trimmed"`
	Pending int `json:"pending"`
}

func (c *Counts) add(o Counts) {
	c.Messages += o.Messages
	c.Lost += o.Lost
	c.Duplicates += o.Duplicates
	c.OrderViolations += o.OrderViolations
	c.ContentDifferences += o.ContentDifferences
	c.Unexpected += o.Unexpected
	c.Misplaced += o.Misplaced
	c.Newer += o.Newer
	c.Trimmed += o.Trimmed
	c.Pending += o.Pending
}

// Differences returns how many messages are not as they should be.
func (c Counts) Differences() int {
	return c.Lost + c.Duplicates + c.OrderViolations + c.ContentDifferences + c.Unexpected + c.Misplaced
}

// Pair is the comparison of one origin's messages.
type Pair struct {
	Origin string `json:"origin"`
	Copy   string `json:"copy"`
	Counts
}

// Report is the answer of [Compare].
type Report struct {
	Equal       bool         `json:"equal"`
	Total       Counts       `json:"total"`
	Pairs       []Pair       `json:"pairs"`
	Differences []Difference `json:"differences"` // the first of them
}

// Summary returns one line that says what differs.
func (c Counts) Summary() string {
	return fmt.Sprintf("messages %d, lost %d, duplicates %d, order violations %d, content differences %d, "+
		"unexpected %d, misplaced %d", c.Messages, c.Lost, c.Duplicates, c.OrderViolations, c.ContentDifferences,
		c.Unexpected, c.Misplaced)
}
