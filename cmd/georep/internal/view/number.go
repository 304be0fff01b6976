// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strconv"
	"strings"
)

// Number is an integer of JSON; proto3 writes those of 64 bits as text.
type Number int64

// UnmarshalJSON takes 5 and "5".
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*n = Number(v)
	return err
}

// Count writes an amount in five characters at most: 9999, 12.3k, 456M.
func Count(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	v := float64(n)
	for _, unit := range "kMGTPE" {
		if v /= 1000; v < 99.95 {
			return fmt.Sprintf("%.1f%c", v, unit)
		}
		if v < 999.5 {
			return fmt.Sprintf("%.0f%c", v, unit)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Bytes writes a number of bytes in binary units: 512 B, 1.5 KiB, 64 MiB. It may be negative.
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if v /= 1024; v > -1023.95 && v < 1023.95 {
			return strings.Replace(fmt.Sprintf("%.1f %s", v, unit), ".0 ", " ", 1)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Seconds writes a duration in one unit: 59s, 3m, 5h, 2d. Below 0 it is not known: "?".
func Seconds(n int64) string {
	switch {
	case n < 0:
		return "?"
	case n < 120:
		return fmt.Sprintf("%ds", n)
	case n < 120*60:
		return fmt.Sprintf("%dm", n/60)
	case n < 48*3600:
		return fmt.Sprintf("%dh", n/3600)
	}
	return fmt.Sprintf("%dd", n/86400)
}
