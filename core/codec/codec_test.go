// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	stdzlib "compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	kflate "github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

var all = []Codec{None, LZ4, Zlib, Zstd, Snappy}

// samples are bodies of the kinds that batches hold: text, runs, noise.
func samples() [][]byte {
	r := rand.New(rand.NewPCG(7, 11))
	var out [][]byte
	for _, n := range []int{0, 1, 2, 12, 13, 100, 255, 256, 1000, 4096, 65535, 65536, 200_000} {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		text := bytes.Repeat([]byte(`{"id":12345,"name":"a name"},`), n/29+1)[:n]
		out = append(out, noise, text, make([]byte, n))
	}
	return append(out, bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16))
}

func TestRoundTrip(t *testing.T) {
	for _, c := range all {
		for _, in := range samples() {
			packed, err := c.AppendEncode([]byte("head"), in)
			if err != nil {
				t.Fatalf("%v: encode %d bytes: %v", c, len(in), err)
			}
			if string(packed[:4]) != "head" {
				t.Fatalf("%v: what was in dst is gone", c)
			}
			packed = packed[4:]
			if len(packed) > c.Bound(len(in)) {
				t.Errorf("%v: %d bytes became %d, above the bound %d", c, len(in), len(packed), c.Bound(len(in)))
			}
			got, err := c.AppendDecode([]byte("head"), packed, len(in))
			if err != nil {
				t.Fatalf("%v: decode %d bytes: %v", c, len(in), err)
			}
			if string(got[:4]) != "head" || !bytes.Equal(got[4:], in) {
				t.Fatalf("%v: %d bytes came back different", c, len(in))
			}
		}
	}
}

// TestDeclaredSizeLies claims sizes other than the real one: Pulsar's Java
// codecs accept some of these with an unwritten tail or cut the data short.
func TestDeclaredSizeLies(t *testing.T) {
	in := bytes.Repeat([]byte("real data "), 100) // 1000 bytes
	for _, c := range all {
		packed, err := c.AppendEncode(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{-1, 0, 1, 500, 999, 1001, 2000, 1 << 30} {
			dst := []byte("keep")
			got, err := c.AppendDecode(dst, packed, want)
			// LZ4 has no size of its own: a block that outgrows the output looks broken.
			if !errors.Is(err, ErrSize) && (c != LZ4 || want < 1 || want > 999 || !errors.Is(err, ErrCorrupt)) {
				t.Errorf("%v: %d for 1000: error %v", c, want, err)
			}
			if string(got) != "keep" {
				t.Errorf("%v: %d for 1000: dst is now %d bytes", c, want, len(got))
			}
		}
	}
}

func TestJavaZlibNeverEnds(t *testing.T) {
	if got, err := Zlib.AppendDecode(nil, nil, 0); err != nil || len(got) != 0 {
		t.Errorf("nothing, as Java writes it: %q, %v", got, err)
	}
	for _, in := range samples() {
		b := javaZlib(in)
		got, err := Zlib.AppendDecode(nil, b, len(in))
		if err != nil || !bytes.Equal(got, in) {
			t.Fatalf("%d bytes: %v", len(in), err)
		}
		if len(in) == 0 {
			continue
		}
		if _, err := Zlib.AppendDecode(nil, b, len(in)-1); !errors.Is(err, ErrSize) {
			t.Errorf("%d bytes, one more than declared: %v", len(in), err)
		}
		if _, err := Zlib.AppendDecode(nil, b, len(in)+1); !errors.Is(err, ErrSize) {
			t.Errorf("%d bytes, one less than declared: %v", len(in), err)
		}
	}
}

// javaZlib writes what Pulsar's Java client does: a flushed, unfinished stream.
func javaZlib(in []byte) []byte {
	var b bytes.Buffer
	w := stdzlib.NewWriter(&b)
	_, _ = w.Write(in)
	_ = w.Flush()
	return bytes.Clone(b.Bytes())
}

func TestZlibEndIsChecked(t *testing.T) {
	in := []byte("some text, some text, some text")
	good, _ := Zlib.AppendEncode(nil, in)
	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1
	for name, src := range map[string][]byte{
		"wrong checksum":        bad,
		"bytes after the end":   append(bytes.Clone(good), 0),
		"raw deflate":           rawDeflate(in),
		"no bytes":              nil,
		"header alone":          {0x78, 0x9c},
		"preset dictionary":     {0x78, 0xbb, 0, 0, 0, 1, 3, 0},
		"cut in mid-stream":     good[:10],
		"reserved block type":   {0x78, 0x9c, 0x06},
		"header check is wrong": {0x78, 0x9d, 0x03, 0x00, 0, 0, 0, 1},
	} {
		if got, err := Zlib.AppendDecode(nil, src, len(in)); err == nil {
			t.Errorf("%s: accepted as %q", name, got)
		} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrSize) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	// A cut through the checksum leaves all data: it is like Java's streams.
	if got, err := Zlib.AppendDecode(nil, good[:len(good)-2], len(in)); err != nil || !bytes.Equal(got, in) {
		t.Errorf("cut checksum: %q, %v", got, err)
	}
}

func rawDeflate(in []byte) []byte {
	var b bytes.Buffer
	w, _ := kflate.NewWriter(&b, 6)
	_, _ = w.Write(in)
	_ = w.Close()
	return b.Bytes()
}

func TestZstdHostileFrames(t *testing.T) {
	magic := "28b52ffd"
	for _, c := range []struct {
		name, frame string
		want        int
	}{
		// Window descriptor 0xff: exponent 31, 3.75 TiB; an empty last raw block.
		{"window bomb", magic + "00ff" + "010000", 0},
		{"window bomb with a size", magic + "c0ff" + "0000000100000000" + "010000", 16},
		// Single segment, content size 2^62.
		{"content size bomb", magic + "e0" + "0000000000000040" + "010000", 1000},
		// RLE blocks of 128 KiB each, declared 1000.
		{"rle bomb", magic + "0058" + "020010aa" + "020010aa" + "030010aa", 1000},
		{"dictionary", magic + "2107" + "05" + "290000" + "6162636465", 5},
		{"reserved block", magic + "2005" + "2f0000" + "6162636465", 5},
		{"bad magic", "28b52ffe" + "2005" + "290000" + "6162636465", 5},
		{"cut", magic + "2005" + "290000" + "6162", 5},
		{"trailing bytes", magic + "2005" + "290000" + "6162636465" + "00", 5},
	} {
		src, err := hex.DecodeString(c.frame)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Zstd.AppendDecode(nil, src, c.want); err == nil {
			t.Errorf("%s: accepted, %d bytes", c.name, len(got))
		}
	}
	good, _ := hex.DecodeString(magic + "2005" + "290000" + "6162636465")
	if got, err := Zstd.AppendDecode(nil, good, 5); err != nil || string(got) != "abcde" {
		t.Errorf("plain frame: %q, %v", got, err)
	}
	two := append(bytes.Clone(good), good...)
	if got, err := Zstd.AppendDecode([]byte("x"), two, 10); err != nil || string(got) != "xabcdeabcde" {
		t.Errorf("two frames: %q, %v", got, err)
	}
}

func TestZstdFrameIsForJava(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 5000, 1 << 20, 5 << 20} {
		packed, err := Zstd.AppendEncode(nil, bytes.Repeat([]byte{'a', 'b', 'c', byte(n)}, n/4+1)[:n])
		if err != nil {
			t.Fatal(err)
		}
		var h zstd.Header
		if err := h.Decode(packed); err != nil {
			t.Fatal(err)
		}
		if n >= 256 && (!h.HasFCS || h.FrameContentSize != uint64(n)) {
			t.Errorf("%d bytes: content size %v %d", n, h.HasFCS, h.FrameContentSize)
		}
		if h.WindowSize > 8<<20 {
			t.Errorf("%d bytes: window of %d is above Java's 8 MiB", n, h.WindowSize)
		}
		if h.DictionaryID != 0 || h.Skippable {
			t.Errorf("%d bytes: header %+v", n, h)
		}
	}
}

func TestSnappyRefusesS2(t *testing.T) {
	// S2 has repeat codes that snappy readers do not know: what Java cannot
	// read must not be passed on as snappy.
	var in []byte
	for i := range 4000 {
		in = fmt.Appendf(in, "record %d of the same kind;", i)
	}
	b := s2.EncodeBetter(nil, in)
	if _, err := Snappy.AppendDecode(nil, b, len(in)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an S2 block as snappy: %v", err)
	}
	plain, _ := Snappy.AppendEncode(nil, in)
	plain[0] ^= 1
	if _, err := Snappy.AppendDecode(nil, plain, len(in)); !errors.Is(err, ErrSize) {
		t.Errorf("another size in the block: %v", err)
	}
}

func TestEmptyLZ4(t *testing.T) {
	b, err := LZ4.AppendEncode(nil, nil)
	if err != nil || !bytes.Equal(b, []byte{0}) {
		t.Fatalf("empty block = %x, %v; Java wants one zero token", b, err)
	}
	if got, err := LZ4.AppendDecode(nil, b, 0); err != nil || len(got) != 0 {
		t.Errorf("decoded %x, %v", got, err)
	}
	for _, src := range [][]byte{{0x10, 'a'}, {}, {0, 0}} {
		if _, err := LZ4.AppendDecode(nil, src, 0); !errors.Is(err, ErrSize) {
			t.Errorf("%x as an empty block: %v", src, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []Codec{5, 6, 255} {
		if c.Known() || c.String() != "unknown" || c.Bound(10) != 0 {
			t.Errorf("codec %d is known", uint8(c))
		}
		if _, err := c.AppendDecode(nil, []byte("x"), 1); !errors.Is(err, ErrUnknown) {
			t.Errorf("decode: %v", err)
		}
		if _, err := c.AppendEncode(nil, []byte("x")); !errors.Is(err, ErrUnknown) {
			t.Errorf("encode: %v", err)
		}
	}
	for i, name := range []string{"none", "lz4", "zlib", "zstd", "snappy"} {
		c, err := Parse(name)
		if err != nil || c != Codec(i) || c.String() != name || !c.Known() {
			t.Errorf("Parse(%s) = %v, %v", name, c, err)
		}
	}
	if _, err := Parse("LZ4"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Parse(LZ4): %v", err)
	}
}

// TestTinyInputHugeClaim shows that the output is not allocated before the
// claim has been weighed against the bytes at hand.
func TestTinyInputHugeClaim(t *testing.T) {
	for _, c := range all {
		src := []byte{0x28, 0xb5, 0x2f}
		n := testing.AllocsPerRun(10, func() {
			if out, err := c.AppendDecode(nil, src, 1<<30); !errors.Is(err, ErrSize) || cap(out) != 0 {
				t.Fatalf("%v: %v, capacity %d", c, err, cap(out))
			}
		})
		if n > 8 {
			t.Errorf("%v: %.0f allocations", c, n)
		}
	}
}

// TestBombMemory decodes bombs that do not say how large they are, and looks
// at all that is allocated on the way.
func TestBombMemory(t *testing.T) {
	rle := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	for range 2000 {
		rle = append(rle, 0x02, 0x00, 0x10, 'z') // 128 KiB each, never the last
	}
	zeros := make([]byte, 32<<20)
	zlibBomb, _ := Zlib.AppendEncode(nil, zeros)
	lz4Bomb, _ := LZ4.AppendEncode(nil, zeros)
	for _, c := range []struct {
		codec Codec
		src   []byte
	}{{Zstd, rle}, {Zlib, zlibBomb}, {LZ4, lz4Bomb}} {
		_, _ = c.codec.AppendDecode(nil, c.src, 1000) // fill the pool
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.codec.AppendDecode(nil, c.src, 1000)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrSize) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: error %v", c.codec, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%v: %d bytes allocated for 1000", c.codec, n)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	in := bytes.Repeat([]byte("concurrent use of pooled coders "), 300)
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for g := range 8 {
		wg.Go(func() {
			body := append(bytes.Clone(in), byte(g))
			for range 50 {
				for _, c := range all {
					packed, err := c.AppendEncode(nil, body)
					if err == nil {
						var got []byte
						got, err = c.AppendDecode(nil, packed, len(body))
						if err == nil && !bytes.Equal(got, body) {
							err = fmt.Errorf("%v: bytes of another thread", c)
						}
					}
					if err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// TestSteadyStateAllocations holds the slow path to no garbage per batch.
func TestSteadyStateAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	in := bytes.Repeat([]byte("steady state, no garbage "), 2000)
	for _, c := range all {
		packed, _ := c.AppendEncode(nil, in)
		enc := make([]byte, 0, c.Bound(len(in)))
		dec := make([]byte, 0, len(in))
		encodes := testing.AllocsPerRun(50, func() { _, _ = c.AppendEncode(enc, in) })
		decodes := testing.AllocsPerRun(50, func() { _, _ = c.AppendDecode(dec, packed, len(in)) })
		most := 1.5 // Go's readers of zlib and zstd
		if native {
			most = 0
		}
		if encodes > min(most, 0.5) || decodes > most {
			t.Errorf("%v: allocates %.1f times to encode, %.1f to decode", c, encodes, decodes)
		}
	}
}
