// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

import (
	"bytes"
	"errors"
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
	{Zlib, encodeZlib, goDecodeZlib},
	{Zstd, goEncodeZstd, func(out, src []byte) (int, error) { return decodeZstd(out[:0], src) }},
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
		ended, _ := encodeZlib(nil, in)
		if !d.fill(out, ended) || !bytes.Equal(out, in) {
			t.Errorf("libdeflate does not read a whole stream of %d bytes", len(in))
		}
		clear(out)
		if !d.fill(out, javaZlib(in)) || !bytes.Equal(out, in) {
			t.Errorf("libdeflate does not read a flushed stream of %d bytes", len(in))
		}
		nativeInflaters.Put(d)
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

func FuzzNativeZstd(f *testing.F) { fuzzNative(f, &pairs[2]) }
