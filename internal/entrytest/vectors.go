// SPDX-License-Identifier: Apache-2.0

package entrytest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Vectors reads the entries of tests/interop, which dir leads to: hexadecimal
// text with '#' comments. The map is by file name.
func Vectors(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.hex"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no vectors in %s: %v", dir, err)
	}
	out := make(map[string][]byte, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var digits strings.Builder
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			digits.WriteString(strings.Join(strings.Fields(line), ""))
		}
		raw, err := hex.DecodeString(digits.String())
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = raw
	}
	return out
}
