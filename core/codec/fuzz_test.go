// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"testing"
)

// maxFuzz is the cap that a caller would have checked.
const maxFuzz = 1 << 20

// fuzzDecode feeds c anything: it must keep to the declared size, leave dst
// alone on an error, and give what it accepted back after a round trip.
func fuzzDecode(f *testing.F, c Codec) {
	for _, in := range samples() {
		if len(in) > 5000 {
			continue
		}
		packed, err := c.AppendEncode(nil, in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, len(in))
		f.Add(packed, len(in)+1)
		f.Add(packed[:len(packed)/2], len(in))
	}
	f.Fuzz(func(t *testing.T, src []byte, want int) {
		if want > maxFuzz {
			return
		}
		dst := make([]byte, 3, 8)
		copy(dst, "abc")
		keep := bytes.Clone(src)
		got, err := c.AppendDecode(dst, src, want)
		if !bytes.Equal(src, keep) {
			t.Fatal("the input was written to")
		}
		if err != nil {
			if string(got) != "abc" {
				t.Fatalf("dst is %q after %v", got, err)
			}
			if !errors.Is(err, ErrSize) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if len(got) != 3+want || string(got[:3]) != "abc" {
			t.Fatalf("%d bytes for %d", len(got)-3, want)
		}
		packed, err := c.AppendEncode(nil, got[3:])
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.AppendDecode(nil, packed, want)
		if err != nil || !bytes.Equal(again, got[3:]) {
			t.Fatalf("round trip of %d bytes: %v", want, err)
		}
	})
}

func FuzzNone(f *testing.F)   { fuzzDecode(f, None) }
func FuzzLZ4(f *testing.F)    { fuzzDecode(f, LZ4) }
func FuzzZstd(f *testing.F)   { fuzzDecode(f, Zstd) }
func FuzzSnappy(f *testing.F) { fuzzDecode(f, Snappy) }

func FuzzZlib(f *testing.F) {
	for _, in := range samples() {
		if len(in) < 5000 {
			f.Add(javaZlib(in), len(in))
		}
	}
	fuzzDecode(f, Zlib)
}
