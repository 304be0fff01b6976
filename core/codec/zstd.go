// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow bounds what a frame header may ask for. 128 MiB is what the
	// reference decoder accepts unless told otherwise. Decoding into the
	// caller's buffer allocates no window, so the bound costs nothing.
	maxZstdWindow = 128 << 20
	// maxZstdOutput is a second fence beside the capacity of the output.
	maxZstdOutput = 1 << 31
	// zstdWindow is the encoder's window: Pulsar's Java decoder refuses frames
	// above 8 MiB, and the encoder's tables stay small.
	zstdWindow = 1 << 20
)

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow),
		zstd.WithDecoderMaxMemory(maxZstdOutput),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	return d
}}

var zstdEncoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), // the entry has its own CRC32C
		zstd.WithZeroFrames(true))
	if err != nil {
		return err
	}
	return e
}}

// decodeZstd decodes into out, an empty slice whose capacity is the limit, and
// returns the number of bytes. It is the Go reader in every build: libzstd 1.5.4
// takes a block whose literals are not used up, which Java and Go refuse.
func decodeZstd(out, src []byte) (int, error) {
	v := zstdDecoders.Get()
	d, ok := v.(*zstd.Decoder)
	if !ok {
		return 0, v.(error)
	}
	got, err := d.DecodeAll(src, out)
	zstdDecoders.Put(d)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return 0, ErrSize
	case err != nil:
		return 0, ErrCorrupt
	case len(got) > cap(out):
		return len(got), nil
	}
	if len(got) > 0 && &got[0] != &out[:1][0] {
		copy(out[:len(got)], got)
	}
	return len(got), nil
}

// goEncodeZstd appends one frame; its header has the content size from 256 bytes
// on, which is all that a decoder with a known output size needs.
func goEncodeZstd(dst, src []byte) ([]byte, error) {
	v := zstdEncoders.Get()
	e, ok := v.(*zstd.Encoder)
	if !ok {
		return dst, v.(error)
	}
	dst = e.EncodeAll(src, dst)
	zstdEncoders.Put(e)
	return dst, nil
}
