// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"cmp"
	"math"
	"strconv"
)

// Position is the place of an entry in a managed ledger.
type Position struct{ Ledger, Entry int64 }

// Whole is the part number of an entry that was sent in one piece: it compares
// above every part of the same entry.
const Whole int64 = math.MaxInt64

// Compare returns -1, 0 or 1, by ledger and then by entry.
func (p Position) Compare(o Position) int {
	if c := cmp.Compare(p.Ledger, o.Ledger); c != 0 {
		return c
	}
	return cmp.Compare(p.Entry, o.Entry)
}

// String returns "ledger:entry".
func (p Position) String() string {
	var b [41]byte
	return string(p.Append(b[:0]))
}

// Append appends "ledger:entry" to dst.
func (p Position) Append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, p.Ledger, 10)
	dst = append(dst, ':')
	return strconv.AppendInt(dst, p.Entry, 10)
}

// ParsePosition reads "ledger:entry": two decimal numbers from 0 on, written
// without sign or leading zeros. Errors are a *FormatError.
func ParsePosition(s string) (Position, error) {
	p, part, err := parsePosition([]byte(s))
	if err == nil && part != Whole {
		return Position{}, malformed(0, "position", "three numbers where two belong")
	}
	return p, err
}

// parsePosition reads "ledger:entry[:part]"; part is Whole where it is absent.
func parsePosition(b []byte) (p Position, part int64, err error) {
	const field = "position"
	part = Whole
	v, rest, ok := cutDecimal(b, math.MaxInt64)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return Position{}, 0, malformed(len(b)-len(rest), field, "no ledger number")
	}
	p.Ledger = int64(v)
	v, rest, ok = cutDecimal(rest[1:], math.MaxInt64)
	if !ok || len(rest) > 0 && rest[0] != ':' {
		return Position{}, 0, malformed(len(b)-len(rest), field, "no entry number")
	}
	p.Entry = int64(v)
	if len(rest) > 0 {
		v, rest, ok = cutDecimal(rest[1:], math.MaxInt64-1)
		if !ok || len(rest) > 0 {
			return Position{}, 0, malformed(len(b)-len(rest), field, "no part number")
		}
		part = int64(v)
	}
	return p, part, nil
}

// cutDecimal reads a number up to limit in its only form: digits, no leading
// zero. It returns what follows the digits.
func cutDecimal(b []byte, limit uint64) (v uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		d := uint64(b[i] - '0')
		if v > (limit-d)/10 {
			return 0, b[i:], false
		}
		v = v*10 + d
	}
	if i == 0 || i > 1 && b[0] == '0' {
		return 0, b, false
	}
	return v, b[i:], true
}

// decimalLen returns the number of digits of v.
func decimalLen(v uint64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}
