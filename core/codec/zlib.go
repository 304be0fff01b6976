// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// inflater is a pooled zlib reader over a pooled byte reader.
type inflater struct {
	in  bytes.Reader
	z   io.ReadCloser
	one [1]byte
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// goDecodeZlib fills out from the stream src and reports how many bytes it got;
// len(out)+1 where more would come.
//
// Java's codec only flushes the stream, so running out of input is the normal
// end once out is full. A stream that does end must end well: its checksum is
// verified and nothing may follow it. Of no bytes Java makes no bytes.
func goDecodeZlib(out, src []byte) (int, error) {
	if len(out)+len(src) == 0 {
		return 0, nil
	}
	d := inflaters.Get().(*inflater)
	defer d.release()
	d.in.Reset(src)
	if err := d.open(); err != nil {
		return 0, ErrCorrupt
	}
	n, err := io.ReadFull(d.z, out)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, ErrCorrupt
	}
	if n < len(out) {
		return n, nil
	}
	more, err := 0, error(nil)
	for more == 0 && err == nil {
		more, err = d.z.Read(d.one[:])
	}
	switch {
	case more > 0:
		return n + more, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, nil
	case errors.Is(err, io.EOF):
		if d.in.Len() > 0 {
			return n, ErrCorrupt
		}
		return n, nil
	default:
		return n, ErrCorrupt
	}
}

func (d *inflater) open() error {
	if d.z == nil {
		z, err := zlib.NewReader(&d.in)
		d.z = z
		return err
	}
	return d.z.(zlib.Resetter).Reset(&d.in, nil)
}

// release puts d back without the caller's bytes.
func (d *inflater) release() {
	d.in.Reset(nil)
	inflaters.Put(d)
}

// zlibLevel: the fastest whose output is within 3 % of what Java's Deflater makes
// of JSON bodies. 3 takes two thirds of the time, for 5 to 7 % more bytes.
const zlibLevel = 5

// deflater is a pooled zlib writer that appends to buf.
type deflater struct {
	buf []byte
	z   *zlib.Writer
}

// Write appends p; it is the sink of d.z.
func (d *deflater) Write(p []byte) (int, error) {
	d.buf = append(d.buf, p...)
	return len(p), nil
}

var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.z, _ = zlib.NewWriterLevel(d, zlibLevel) // fails for bad levels only
	return d
}}

// encodeZlib appends a complete stream, end and checksum included. Java's
// decoder takes both kinds; other readers only this one.
func encodeZlib(dst, src []byte) ([]byte, error) {
	d := deflaters.Get().(*deflater)
	d.buf = dst
	d.z.Reset(d)
	_, err := d.z.Write(src)
	if cerr := d.z.Close(); err == nil {
		err = cerr
	}
	out := d.buf
	d.buf = nil
	deflaters.Put(d)
	if err != nil {
		return dst, err
	}
	return out, nil
}
