// SPDX-License-Identifier: Apache-2.0

package check

import "fmt"

// Name is a checker and the invariant that it holds.
type Name struct {
	Text      string
	Invariant int
}

// The checkers.
var (
	VerbatimFits  = Name{"verbatim-fits", 9}
	SpliceOnly    = Name{"splice-only", 9}
	SingleBucket  = Name{"single-bucket", 10}
	KeyOrder      = Name{"key-order", 11}
	NothingLost   = Name{"nothing-lost", 12}
	ParkedVisible = Name{"parked-visible", 12}
	TrueParks     = Name{"true-parks", 12}
	DeleteAfter   = Name{"delete-after-ack", 13}
	NoDuplicate   = Name{"no-duplicate", 14}
	SameMessages  = Name{"same-messages", 15}
	DrainGate     = Name{"drain-gate", 16}
	Pinned        = Name{"pinned", 17}
	MustStay      = Name{"must-stay", 18}
	Budget        = Name{"budget", 19}
	Contract      = Name{"contract", 0}
	Liveness      = Name{"liveness", 12}

	RingTiles    = Name{"ring-tiles", 1}
	LayoutsAgree = Name{"layouts-agree", 2}
	NoneVanishes = Name{"none-vanishes", 3}
	PeerForward  = Name{"peer-forward", 4}
	AckDurable   = Name{"ack-durable", 5}
	StaleWrite   = Name{"stale-write", 5}
	LeaderWaits  = Name{"leader-waits", 6}
	MergeAgreed  = Name{"merge-agreed", 7}
	SiblingsOnly = Name{"siblings-only", 7}
	SplitLogged  = Name{"split-logged", 7}
	WithinCaps   = Name{"within-caps", 8}
	Crashed      = Name{"layouts-contract", 0}

	UnknownStart  = Name{"unknown-start", 22}
	SkipCounted   = Name{"skip-counted", 22}
	Planned       = Name{"planned", 22}
	StartOrder    = Name{"start-order", 16}
	StartLoses    = Name{"start-loses-nothing", 12}
	StartsCrashed = Name{"starts-contract", 0}
)

// Layouts says whether the checker belongs to the world of layouts.
func (n Name) Layouts() bool { return n.Invariant > 0 && n.Invariant < 9 || n == Crashed }

// Starts says whether the checker belongs to the world of starts.
func (n Name) Starts() bool {
	return n.Invariant == 22 || n == StartOrder || n == StartLoses || n == StartsCrashed
}

// Names lists every checker.
func Names() []Name {
	return []Name{VerbatimFits, SpliceOnly, SingleBucket, KeyOrder, NothingLost, ParkedVisible, TrueParks,
		DeleteAfter, NoDuplicate, SameMessages, DrainGate, Pinned, MustStay, Budget, Contract, Liveness,
		RingTiles, LayoutsAgree, NoneVanishes, PeerForward, AckDurable, StaleWrite, LeaderWaits, MergeAgreed,
		SiblingsOnly, SplitLogged, WithinCaps, Crashed, UnknownStart, SkipCounted, Planned, StartOrder, StartLoses,
		StartsCrashed}
}

// Violation is the first thing that went wrong.
type Violation struct {
	Name    Name
	At      int64 // simulated ms
	Segment uint64
	Text    string
}

// Error returns one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s (invariant %d) at %d ms, source segment %d: %s", v.Name.Text, v.Name.Invariant, v.At, v.Segment, v.Text)
}

// Stats counts what the checkers looked at, so that a run can tell whether they
// had anything to look at.
type Stats struct {
	Stored, Whole, Parts, Deleted, Skipped   uint64
	AllowedPruned, AllowedCut, AllowedChunks uint64 // duplicates that invariant 14 allows
}

// Checker holds what is known of a run.
type Checker struct {
	Now     int64 // simulated ms; the world sets it
	Cluster string
	Place   bool // encryptedBatchPolicy=place
	Pass    bool // parkedPolicy=pass

	Stats Stats
	first *Violation
	byPos map[place]*Entry
	lives map[lifeKey]*Life
}

type place struct {
	segment       uint64
	ledger, entry int64
}

type lifeKey struct {
	remote     string
	generation uint64
}

// New returns a checker for entries that come from the cluster.
func New(cluster string) *Checker {
	return &Checker{Cluster: cluster, byPos: map[place]*Entry{}, lives: map[lifeKey]*Life{}}
}

// First returns the first violation, or nil.
func (c *Checker) First() *Violation { return c.first }

// Fail records a violation.
func (c *Checker) Fail(n Name, segment uint64, format string, args ...any) {
	if c.first == nil {
		c.first = &Violation{Name: n, At: c.Now, Segment: segment, Text: fmt.Sprintf(format, args...)}
	}
}

func (c *Checker) fail(n Name, e *Entry, format string, args ...any) {
	c.Fail(n, e.Segment, "entry %v (%s): %s", e.Pos, e.Kind, fmt.Sprintf(format, args...))
}

// Published takes an entry that a source segment has stored.
func (c *Checker) Published(e *Entry) {
	c.byPos[place{e.Segment, e.Pos.Ledger, e.Pos.Entry}] = e
}

// Life returns the record of one generation, made when new.
func (c *Checker) Life(remote string, generation uint64) *Life {
	k := lifeKey{remote, generation}
	l := c.lives[k]
	if l == nil {
		l = &Life{Remote: remote, Generation: generation, fates: map[*Entry]*fate{}, last: map[string]uint64{}, complete: map[uint64]bool{}}
		c.lives[k] = l
	}
	return l
}

// Add adds the counts of another run.
func (s *Stats) Add(o *Stats) {
	s.Stored += o.Stored
	s.Whole += o.Whole
	s.Parts += o.Parts
	s.Deleted += o.Deleted
	s.Skipped += o.Skipped
	s.AllowedPruned += o.AllowedPruned
	s.AllowedCut += o.AllowedCut
	s.AllowedChunks += o.AllowedChunks
}
