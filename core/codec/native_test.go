// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// pair is one codec in both builds: as it is used here, and with Go's coders.
type pair struct {
	codec  Codec
	encode func(dst, src []byte) ([]byte, error)
	decode func(out, src []byte) (int, error)
}

var pairs = []pair{
	{LZ4, goEncodeLZ4, decodeLZ4},
	{Zlib, goEncodeZlib, goDecodeZlib},
	{Zstd, goEncodeZstd, func(out, src []byte) (int, error) { return goDecodeZstd(out[:0], src) }},
}

func goEncodeLZ4(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return append(dst, 0), nil
	}
	out := make([]byte, LZ4.Bound(len(src)))
	n, err := goPackLZ4(out, src)
	return append(dst, out[:n]...), err
}

// goDecode is AppendDecode with Go's coder.
func (p *pair) goDecode(src []byte, want int) ([]byte, error) {
	if want < 0 || uint64(want) > p.codec.maxDecoded(len(src)) {
		return nil, ErrSize
	}
	out := make([]byte, want)
	n, err := p.decode(out[:want:want], src)
	if err == nil && n != want {
		err = ErrSize
	}
	return out, err
}

// readAlike decodes src both ways: the bytes or the cause have to be the same.
func (p *pair) readAlike(t *testing.T, src []byte, want int) {
	t.Helper()
	got, err := p.codec.AppendDecode(nil, src, want)
	other, goErr := p.goDecode(src, want)
	switch {
	case (err == nil) != (goErr == nil),
		errors.Is(err, ErrSize) != errors.Is(goErr, ErrSize),
		errors.Is(err, ErrCorrupt) != errors.Is(goErr, ErrCorrupt):
		t.Fatalf("%v of %d bytes, for %d: %v, Go says %v\n%x", p.codec, len(src), want, err, goErr, src)
	case err == nil && !bytes.Equal(got, other):
		t.Fatalf("%v of %d bytes, for %d: the bytes differ\n%x", p.codec, len(src), want, src)
	}
}

// writeAlike has each build read what the other one writes.
func (p *pair) writeAlike(t *testing.T, in []byte) {
	t.Helper()
	ours, err := p.codec.AppendEncode(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := p.encode(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.goDecode(ours, len(in)); err != nil || !bytes.Equal(got, in) {
		t.Fatalf("%v: Go does not read our %d bytes of %d: %v", p.codec, len(ours), len(in), err)
	}
	if got, err := p.codec.AppendDecode(nil, theirs, len(in)); err != nil || !bytes.Equal(got, in) {
		t.Fatalf("%v: not read, Go's %d bytes of %d: %v", p.codec, len(theirs), len(in), err)
	}
}

func TestNativeReadsAndIsRead(t *testing.T) {
	for i := range pairs {
		for _, in := range samples() {
			pairs[i].writeAlike(t, in)
		}
	}
}

// TestNativeIsUsed holds that what Pulsar's clients write does not go through
// the readers that only decide about the rest.
func TestNativeIsUsed(t *testing.T) {
	for _, in := range samples() {
		if len(in) == 0 {
			continue
		}
		out := make([]byte, len(in))
		d := nativeInflaters.Get().(*nativeInflater)
		ended, _ := goEncodeZlib(nil, in)
		if !d.fill(out, ended) || !bytes.Equal(out, in) {
			t.Errorf("libdeflate does not read a whole stream of %d bytes", len(in))
		}
		clear(out)
		if !d.fill(out, javaZlib(in)) || !bytes.Equal(out, in) {
			t.Errorf("libdeflate does not read a flushed stream of %d bytes", len(in))
		}
		nativeInflaters.Put(d)
		ours, _ := encodeZstd(nil, in)
		theirs, _ := goEncodeZstd(nil, in)
		// Go's window is 1 MiB: a longer input is read by Go's reader.
		if !plainFrame(ours, len(in)) && len(in) <= zstdWindow || !plainFrame(theirs, len(in)) && len(in) <= zstdWindow {
			t.Errorf("frames of %d bytes are not plain", len(in))
		}
	}
}

// fuzzNative compares the builds on anything.
func fuzzNative(f *testing.F, p *pair) {
	for _, in := range samples() {
		if len(in) > 5000 {
			continue
		}
		for _, encode := range []func(dst, src []byte) ([]byte, error){p.codec.AppendEncode, p.encode} {
			b, err := encode(nil, in)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, len(in))
			f.Add(b, len(in)+1)
			f.Add(b[:len(b)*3/4], len(in))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, want int) {
		if want > maxFuzz {
			return
		}
		p.readAlike(t, src, want)
		p.writeAlike(t, src)
	})
}

func FuzzNativeLZ4(f *testing.F) { fuzzNative(f, &pairs[0]) }

func FuzzNativeZlib(f *testing.F) {
	for _, in := range samples() {
		if len(in) <= 5000 {
			f.Add(javaZlib(in), len(in))
		}
	}
	fuzzNative(f, &pairs[1])
}

// oddFrames are within libzstd's limits, or within Go's, but not within both.
var oddFrames = []struct {
	name, frame string
	want        int
}{
	{"one raw block", "2005" + "290000" + "6162636465", 5},
	{"no content size", "0058" + "290000" + "6162636465", 5},
	{"a run", "2005" + "2b0000" + "61", 5},
	{"a run above a block's 128 KiB", "a0400d0300" + "036a18" + "61", 200_000},
	{"a run above the window", "0000" + "034000" + "61", 2048},
	{"two runs that are the window", "0000" + "022000" + "61" + "032000" + "61", 2048},
	{"a window of 256 MiB", "0090" + "290000" + "6162636465", 5},
	{"a window of 128 MiB", "0088" + "290000" + "6162636465", 5},
	{"dictionary 0", "210005" + "290000" + "6162636465", 5},
	{"an unused bit", "3005" + "290000" + "6162636465", 5},
	{"a content size that is wrong", "2006" + "290000" + "6162636465", 5},
	{"an empty block before", "2005" + "000000" + "290000" + "6162636465", 5},
	{"a checksum that is wrong", "2405" + "290000" + "6162636465" + "00000000", 5},
}

func TestNativeZstdLimits(t *testing.T) {
	for _, c := range oddFrames {
		t.Run(c.name, func(t *testing.T) {
			src, err := hex.DecodeString("28b52ffd" + c.frame)
			if err != nil {
				t.Fatal(err)
			}
			pairs[2].readAlike(t, src, c.want)
		})
	}
}

// TestNativeZstdWindow has a match from before the window.
func TestNativeZstdWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]byte, 3000)
	for i := range 1500 {
		in[i] = "0123456789abcdef"[r.IntN(16)]
	}
	copy(in[1500:], in[:1500])
	frame, _ := encodeZstd(nil, in)
	if frame[4] != 0x60 {
		t.Fatalf("descriptor %x", frame[4])
	}
	narrow := slices.Concat(frame[:4], []byte{0x40, 0}, frame[5:]) // 1 KiB instead of one segment
	pairs[2].readAlike(t, narrow, len(in))
	if _, err := Zstd.AppendDecode(nil, narrow, len(in)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	wide := slices.Concat(frame[:4], []byte{0x40, 0x10}, frame[5:]) // 4 KiB
	pairs[2].readAlike(t, wide, len(in))
	if _, err := Zstd.AppendDecode(nil, wide, len(in)); err != nil {
		t.Error(err)
	}
}

func FuzzNativeZstd(f *testing.F) {
	for _, c := range oddFrames {
		b, _ := hex.DecodeString("28b52ffd" + c.frame)
		f.Add(b, c.want)
	}
	fuzzNative(f, &pairs[2])
}
