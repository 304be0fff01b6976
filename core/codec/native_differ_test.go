// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"slices"
	"testing"
)

// bitWriter packs bits as deflate does, first into the low end of a byte.
type bitWriter struct {
	b []byte
	n int // bits
}

// number writes v, lowest bit first.
func (w *bitWriter) number(v, bits int) {
	for i := range bits {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// code writes a Huffman code, given as it reads.
func (w *bitWriter) code(s string) {
	for _, c := range s {
		w.number(int(c-'0'), 1)
	}
}

// dynamic begins a last block with the code lengths of the symbols.
func (w *bitWriter) dynamic(literals, distances map[int]int) {
	w.number(1|2<<1, 3)
	w.number(286-257, 5)
	w.number(30-1, 5)
	w.number(19-4, 4)
	for _, symbol := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		if symbol < 16 {
			w.number(4, 3) // each length is its own four bits
		} else {
			w.number(0, 3)
		}
	}
	length := func(n int) {
		for i := range 4 {
			w.number(n>>(3-i)&1, 1)
		}
	}
	for i := range 286 {
		length(literals[i])
	}
	for i := range 30 {
		length(distances[i])
	}
}

// TestNativeDiffers shows the two kinds of streams that libdeflate takes and Go
// refuses; the package's doc names them. No writer makes them.
func TestNativeDiffers(t *testing.T) {
	// A match whose distance is the code that the only distance leaves unused.
	w := bitWriter{b: []byte{0x78, 0x9c}, n: 16}
	w.dynamic(map[int]int{'A': 1, 256: 2, 257: 2}, map[int]int{0: 1})
	w.code("0" + "11" + "1" + "10") // A, 3 bytes back from the unused code, end
	unused := binary.BigEndian.AppendUint32(w.b, adler32.Checksum([]byte("AAAA")))

	// A last block that goes on behind the four bytes that look like a flush:
	// what is added as the stream's end is its data.
	w = bitWriter{b: []byte{0x78, 0x9c, 0, 0xd0, 0x07, 0x2f, 0xf8}} // 2000 bytes as they are
	w.b = append(w.b, make([]byte, 2000)...)
	w.n = 8 * len(w.b)
	w.dynamic(map[int]int{'A': 3, 257: 3, 258: 3, 281: 3, 282: 3, 283: 3, 284: 3, 'B': 4, 256: 4},
		map[int]int{0: 1, 20: 1})
	want := 2000
	for w.n%8 != 0 {
		w.code("000")
		want++
	}
	w.b = append(w.b, syncFlush...)
	want += 5 + 162 + 7 + 3 // A, a match, A, a match: from the flush on

	for name, c := range map[string]struct {
		src  []byte
		want int
		err  error
	}{"unused code": {unused, 4, ErrCorrupt}, "no flush": {w.b, want, ErrSize}} {
		got, err := Zlib.AppendDecode(nil, c.src, c.want)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: libdeflate refuses it: %v", name, err)
		}
		if _, err := pairs[1].goDecode(c.src, c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: Go says %v", name, err)
		}
	}
	// The same with a stored block is seen.
	stored := append([]byte{0x78, 0x9c, 1, 9, 0, 0xf6, 0xff}, syncFlush...)
	pairs[1].readAlike(t, stored, 9)
	if _, err := Zlib.AppendDecode(nil, stored, 9); !errors.Is(err, ErrSize) {
		t.Errorf("a cut stored block: %v", err)
	}
	if !slices.Equal(syncFlush, lastBlock[1:]) {
		t.Error("the added block is not an empty stored one")
	}
}
