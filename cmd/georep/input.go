// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile caps what is read from a file or standard input, in bytes.
const maxFile = 128 << 20

var errInput = errors.New("unreadable")

// readFile reads a file, or standard input for "-".
func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return readCapped(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCapped(f)
}

func readCapped(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		return nil, fmt.Errorf("%w: more than %d bytes", errInput, maxFile)
	}
	return b, err
}

// readEntry reads an entry: raw bytes, or hexadecimal text in which white space
// and comments (from '#', ';' or "//" to the end of the line) are skipped.
func readEntry(name string, stdin io.Reader) ([]byte, error) {
	b, err := readFile(name, stdin)
	if err != nil {
		return nil, err
	}
	if !isText(b) {
		return b, nil
	}
	return parseHex(b)
}

// isText tells hexadecimal text from an entry. An entry starts with a byte below
// 0x0f (a magic number, or a size below 0x0e010000), which no text contains but
// for tabulators and line ends, and those would make it larger than maxFile.
func isText(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	comment := false
	for i, c := range b {
		switch {
		case c == '\n':
			comment = false
		case c == '#' || c == ';' || bytes.HasPrefix(b[i:], []byte("//")):
			comment = true
		case c < ' ' && c != '\t' && c != '\r', c >= 0x7f && !comment:
			return false
		}
	}
	return true
}

func parseHex(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b)/2)
	comment, half, digits := false, byte(0), 0
	for i, c := range b {
		switch {
		case c == '\n':
			comment = false
		case comment || c == ' ' || c == '\t' || c == '\r':
		case c == '#' || c == ';' || bytes.HasPrefix(b[i:], []byte("//")):
			comment = true
		default:
			v, ok := hexDigit(c)
			if !ok {
				return nil, fmt.Errorf("%w: %q at byte %d is no hexadecimal digit", errInput, c, i)
			}
			if digits++; digits%2 == 0 {
				out = append(out, half<<4|v)
			}
			half = v
		}
	}
	if digits%2 != 0 {
		return nil, fmt.Errorf("%w: odd number of hexadecimal digits, the last byte at byte %d is cut", errInput, len(b))
	}
	return out, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
