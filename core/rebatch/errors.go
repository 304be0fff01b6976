// SPDX-License-Identifier: Apache-2.0

package rebatch

import (
	"errors"
	"fmt"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/placement"
)

// Errors of this package; each is wrapped in an *[Error].
var (
	ErrNotBatch    = errors.New("rebatch: no batch that can be opened")
	ErrLimit       = errors.New("rebatch: over the limit")
	ErrSize        = errors.New("rebatch: decompressed size")
	ErrChecksum    = errors.New("rebatch: wrong checksum")
	ErrDestination = errors.New("rebatch: no destination")
	ErrTooLarge    = errors.New("rebatch: part too large")
)

// Error says why an entry can not be re-batched. It unwraps to a sentinel of
// this package, or of entry or codec.
type Error struct {
	Reason  placement.Reason // why the entry is parked
	Offset  int              // byte that was not understood; -1 where there is none
	Decoded bool             // Offset counts in the decompressed batch, not in the entry
	Err     error
}

// Error returns one line, with the byte where there is one.
func (e *Error) Error() string {
	switch {
	case e.Offset < 0:
		return e.Err.Error()
	case e.Decoded:
		return fmt.Sprintf("%v (byte %d of the decompressed batch)", e.Err, e.Offset)
	}
	return fmt.Sprintf("%v (byte %d of the entry)", e.Err, e.Offset)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ParkReason returns the reason to park the entry for.
func (e *Error) ParkReason() placement.Reason { return e.Reason }

func refuse(reason placement.Reason, cause error, format string, args ...any) error {
	return &Error{Reason: reason, Offset: -1, Err: fmt.Errorf("%w: %s", cause, fmt.Sprintf(format, args...))}
}

// refuseAt is refuse with the byte of the entry that it is about.
func refuseAt(offset int, reason placement.Reason, cause error, format string, args ...any) error {
	return &Error{Reason: reason, Offset: offset, Err: fmt.Errorf("%w: %s", cause, fmt.Sprintf(format, args...))}
}

func codecError(err error, offset int) error {
	reason := placement.Codec
	if errors.Is(err, codec.ErrSize) {
		reason = placement.SizeMismatch
	}
	return &Error{Reason: reason, Offset: offset, Err: err}
}

// batchError places an error of a BatchReader; at is where the batch starts in
// the entry, -1 for a batch that was decompressed.
func batchError(err error, at int) error {
	e := &Error{Reason: placement.Malformed, Offset: -1, Decoded: at < 0, Err: err}
	if f, ok := errors.AsType[*entry.FormatError](err); ok {
		e.Offset = f.Offset + max(at, 0)
		e.Err = fmt.Errorf("%w: %s: %s", f.Err, f.Field, f.Cause)
	}
	return e
}
