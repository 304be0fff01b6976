// SPDX-License-Identifier: Apache-2.0

//go:build !nativecodecs || !cgo

package codec

// native says that liblz4, libzstd and libdeflate are in use.
const native = false

func packLZ4(out, src []byte) (int, error) { return goPackLZ4(out, src) }

func decodeZlib(out, src []byte) (int, error) { return goDecodeZlib(out, src) }

func encodeZstd(dst, src []byte) ([]byte, error) { return goEncodeZstd(dst, src) }
