// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

/*
#cgo LDFLAGS: -l:libdeflate.a
#include <libdeflate.h>

// What both readers say: 1 if exactly the input was read and exactly the output written.
static int georep_zlib(struct libdeflate_decompressor *d, const void *in, size_t n, void *out, size_t want) {
	size_t read, written;
	return libdeflate_zlib_decompress_ex(d, in, n, out, want, &read, &written) == LIBDEFLATE_SUCCESS &&
	    read == n && written == want;
}
static int georep_deflate(struct libdeflate_decompressor *d, const void *in, size_t n, void *out, size_t want) {
	size_t read, written;
	return libdeflate_deflate_decompress_ex(d, in, n, out, want, &read, &written) == LIBDEFLATE_SUCCESS &&
	    read == n && written == want;
}
#cgo noescape georep_zlib
#cgo nocallback georep_zlib
#cgo noescape georep_deflate
#cgo nocallback georep_deflate
*/
import "C"

import (
	"bytes"
	"runtime"
	"sync"
	"unsafe"
)

// maxFlushed is the longest completed stream whose memory stays in the pool:
// above what a broker takes as one message unless told otherwise.
const maxFlushed = 8 << 20 // bytes

var (
	syncFlush = []byte{0, 0, 0xff, 0xff}    // what ends a stream that Java's client wrote
	lastBlock = []byte{1, 0, 0, 0xff, 0xff} // what such a stream lacks: a last, empty block
)

type nativeInflater struct {
	d    *C.struct_libdeflate_decompressor
	done []byte // a flushed stream with its last block
}

var nativeInflaters = sync.Pool{New: func() any {
	d := &nativeInflater{d: C.libdeflate_alloc_decompressor()}
	runtime.AddCleanup(d, func(c *C.struct_libdeflate_decompressor) { C.libdeflate_free_decompressor(c) }, d.d)
	return d
}}

// decodeZlib fills out as goDecodeZlib does, which decides about all that
// libdeflate does not take.
func decodeZlib(out, src []byte) (int, error) {
	if len(out) > 0 && len(src) >= 6 {
		d := nativeInflaters.Get().(*nativeInflater)
		ok := d.d != nil && d.fill(out, src)
		nativeInflaters.Put(d)
		if ok {
			return len(out), nil
		}
	}
	return goDecodeZlib(out, src)
}

// fill says whether src is a stream of exactly out's size: one with its end, or
// one that is flushed and gets its end here.
func (d *nativeInflater) fill(out, src []byte) bool {
	if !bytes.HasSuffix(src, syncFlush) {
		return C.georep_zlib(d.d, unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src)),
			unsafe.Pointer(unsafe.SliceData(out)), C.size_t(len(out))) == 1
	}
	if src[0]&0x0f != 8 || src[0]>>4 > 7 || src[1]&0x20 != 0 || (uint(src[0])<<8|uint(src[1]))%31 != 0 {
		return false
	}
	d.done = append(append(d.done[:0], src[2:]...), lastBlock...)
	ok := C.georep_deflate(d.d, unsafe.Pointer(unsafe.SliceData(d.done)), C.size_t(len(d.done)),
		unsafe.Pointer(unsafe.SliceData(out)), C.size_t(len(out))) == 1
	if cap(d.done) > maxFlushed {
		d.done = nil
	}
	// Where a stored block was cut, what was added has become data.
	return ok && !bytes.HasSuffix(out, lastBlock)
}
