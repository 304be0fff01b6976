// SPDX-License-Identifier: Apache-2.0

// Package codec packs and unpacks the payload of Pulsar entries with the five
// codecs that the protocol knows.
//
//	number  name    bytes on the wire
//	0       none    as they are
//	1       lz4     one raw block, no frame, no size
//	2       zlib    an RFC 1950 stream; the Java client's has no end: a sync
//	                flush, then no final block and no Adler-32
//	3       zstd    frames, the content size usually in the header
//	4       snappy  one raw block: varint size, then elements
//
// None of them is trusted to know its size: the caller says how many bytes
// must come out (uncompressed_size of the entry, checked against the caller's
// cap first), and anything else is an error. No decoder allocates for the
// output more than that number, and a number that the codec cannot reach with
// the bytes at hand is refused before anything is allocated.
//
// Coders are pooled, start no goroutines, and all functions may be called from
// any number of threads at once.
//
// Source: CompressionCodec* of pulsar-common, PulsarApi.proto CompressionType.
package codec

import "errors"

// Codec is a CompressionType of PulsarApi.proto. Values beyond Snappy are
// representable, because a newer client may write one; they have no coder.
type Codec uint8

// The codecs, with Pulsar's numbers.
const (
	None   Codec = 0
	LZ4    Codec = 1
	Zlib   Codec = 2
	Zstd   Codec = 3
	Snappy Codec = 4

	count = 5
)

var (
	// ErrSize says that the decoded bytes are not as many as was said.
	ErrSize = errors.New("codec: decoded size differs from the declared size")
	// ErrCorrupt says that the compressed bytes are not what the codec writes.
	ErrCorrupt = errors.New("codec: corrupt input")
	// ErrUnknown says that no coder has the codec's number.
	ErrUnknown = errors.New("codec: unknown codec")
)

var names = [count]string{"none", "lz4", "zlib", "zstd", "snappy"}

// Known reports whether there is a coder for c.
func (c Codec) Known() bool { return c < count }

// String returns the codec's name in lower case, or "unknown".
func (c Codec) String() string {
	if c < count {
		return names[c]
	}
	return "unknown"
}

// Parse returns the codec with the given lower-case name, or ErrUnknown.
func Parse(name string) (Codec, error) {
	for i, n := range names {
		if n == name {
			return Codec(i), nil
		}
	}
	return None, ErrUnknown
}
