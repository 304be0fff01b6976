// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"strconv"

	"georep/core/entry"
)

// ErrStart marks a start that cannot be taken; the text says why.
var ErrStart = errors.New("bootstrap: bad start")

// StartAt is where replication of existing data shall begin.
type StartAt uint8

// Starts.
const (
	Earliest             StartAt = 1
	Latest               StartAt = 2
	EarliestNotOffloaded StartAt = 3
	AtPosition           StartAt = 4
	AtTime               StartAt = 5
)

// Point is a start with what belongs to it.
type Point struct {
	At       StartAt
	Position entry.Position // of AtPosition
	Millis   int64          // of AtTime: since 1970, of publishing
}

var startNames = map[string]StartAt{
	"earliest": Earliest, "latest": Latest, "earliestNotOffloaded": EarliestNotOffloaded,
}

// String returns the point as properties have it.
func (p Point) String() string {
	switch p.At {
	case Earliest:
		return "earliest"
	case Latest:
		return "latest"
	case EarliestNotOffloaded:
		return "earliestNotOffloaded"
	case AtPosition:
		return p.Position.String()
	case AtTime:
		return strconv.FormatInt(p.Millis, 10)
	}
	return fmt.Sprintf("start(%d)", uint8(p.At))
}

// check finds a point that no text reads as; errors wrap [ErrStart].
func (p Point) check() error {
	switch {
	case p.At < Earliest || p.At > AtTime:
		return fmt.Errorf("%w: %v", ErrStart, p)
	case p.At == AtPosition && (p.Position.Ledger < 0 || p.Position.Entry < 0):
		return fmt.Errorf("%w: position %v", ErrStart, p.Position)
	case p.At == AtTime && p.Millis < 0:
		return fmt.Errorf("%w: time %d", ErrStart, p.Millis)
	}
	return nil
}
