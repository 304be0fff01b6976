// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"errors"
	"fmt"
)

var (
	// ErrFormat says that bytes are not what Pulsar writes.
	ErrFormat = errors.New("entry: malformed")
	// ErrLimit says that a length or a count is above a cap.
	ErrLimit = errors.New("entry: over the limit")
	// ErrOriginVersion says that an origin record has a version that this code
	// does not know; it is ignored, and reported.
	ErrOriginVersion = errors.New("entry: origin record of an unknown version")
)

// FormatError names the place of what is wrong. errors.Is sees its cause:
// ErrFormat or ErrLimit.
type FormatError struct {
	Offset int    // bytes from the start of the slice that was given to the reader
	Field  string // what was being read there
	Cause  string // what is wrong with it
	Err    error  // ErrFormat or ErrLimit
}

// Error returns one line: the cause, the field and the byte.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: %s: %s at byte %d", e.Err, e.Field, e.Cause, e.Offset)
}

// Unwrap returns ErrFormat or ErrLimit.
func (e *FormatError) Unwrap() error { return e.Err }

func malformed(off int, field, cause string) error {
	return &FormatError{Offset: off, Field: field, Cause: cause, Err: ErrFormat}
}

func overLimit(off int, field, cause string) error {
	return &FormatError{Offset: off, Field: field, Cause: cause, Err: ErrLimit}
}

// shifted returns err with its offset moved by base, for a reader that works
// on a part of what its caller was given.
func shifted(err error, base int) error {
	var f *FormatError
	if base != 0 && errors.As(err, &f) {
		c := *f
		c.Offset += base
		return &c
	}
	return err
}
