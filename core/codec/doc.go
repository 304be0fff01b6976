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
// # Which coders
//
// Without the build tag nativecodecs, or without cgo, all coders are Go's. With
// it, which is how the native library is built:
//
//	         encodes                        decodes                    per coder in use
//	lz4      liblz4, acceleration 1         pierrec, as fast           16 KiB of the stack
//	zlib     klauspost, level 5             libdeflate, else klauspost 1 MiB to encode; to decode the input (to 8 MiB)
//	zstd     libzstd, level 1, other tables klauspost, a fifth slower  0.5 MiB to encode
//	snappy   s2, for snappy readers         golang                     none
//
// Chosen by measurement: the fastest whose output is at most 3 % above what
// Pulsar's Java client makes of JSON bodies. Where that is asked of repetitive
// text too, snappy (32 % above) misses it. lz4's acceleration 2 saves a tenth of
// the time, and misses it there and at 64 KiB a message. libdeflate's compressor
// at the level with as many bytes is no faster than klauspost's on large messages,
// and slower on small ones. ISA-L's igzip is twice as fast at level 3 and four
// times at 1 and 2, but 5 to 10 % above Java's bytes. On JSON that is mostly words
// klauspost's level 5 is above the limit too: 3 to 9 % more than Java's.
//
// The memory of a C coder is C's, outside the Go heap and its limit; it is given
// back some time after the coder was last used. No call allocates.
//
// Which bytes are accepted does not depend on the build: what a C library does
// not take, or is not asked, Go's reader decides. The exception are zlib streams
// that no writer makes and that libdeflate takes where Go, like zlib, does not:
// one that uses a code which its Huffman tree, having one code only, leaves
// unused; and one whose last block goes on where a flush seems to end it, so
// that the bytes which then complete it (1, 0, 0, 255, 255) are read as its data.
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
