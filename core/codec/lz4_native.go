// SPDX-License-Identifier: Apache-2.0

//go:build nativecodecs && cgo

package codec

/*
#cgo LDFLAGS: -l:liblz4.a
#include <lz4.h>

#cgo noescape LZ4_compress_default
#cgo nocallback LZ4_compress_default
*/
import "C"

import "unsafe"

// native says that liblz4, libzstd and libdeflate are in use.
const native = true

// packLZ4 compresses src, which is not empty, into out, which has room for the
// worst case. liblz4 keeps its 16 KiB of state on the thread's stack.
func packLZ4(out, src []byte) (int, error) {
	n := C.LZ4_compress_default((*C.char)(unsafe.Pointer(unsafe.SliceData(src))),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(out))), C.int(len(src)), C.int(min(len(out), 1<<31-1)))
	if n <= 0 {
		return 0, ErrSize
	}
	return int(n), nil
}
