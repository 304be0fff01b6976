// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magicChecksum       = 0x0e01
	magicBrokerMetadata = 0x0e02

	// maxMetadata is the first metadata size that is refused: as the first two
	// bytes of an entry without a checksum it would read as the checksum's magic.
	maxMetadata = magicChecksum << 16

	// headerFixed is the size of magic, checksum and metadata size.
	headerFixed = 2 + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is an entry taken apart. All slices alias the input of ParseFrame.
type Frame struct {
	Raw            []byte // the whole input
	BrokerMetadata []byte // BrokerEntryMetadata; nil where the entry has none
	Metadata       []byte // MessageMetadata
	Payload        []byte // as it is on the wire: maybe compressed, maybe encrypted
	HasChecksum    bool
	Checksum       uint32 // CRC32C of everything after it; not verified by ParseFrame
}

// ParseFrame takes raw apart. maxBytes caps the length of raw; 0 is no cap.
// The checksum is not verified and the payload not read.
//
// Errors are a *FormatError over ErrFormat or ErrLimit that names the byte.
func ParseFrame(raw []byte, maxBytes int) (Frame, error) {
	f := Frame{Raw: raw}
	if maxBytes > 0 && len(raw) > maxBytes {
		return f, overLimit(maxBytes, "entry", "longer than the largest entry allowed")
	}
	at := 0
	if startsWith(raw, magicBrokerMetadata) {
		n, err := readSize(raw, 2, "broker entry metadata size")
		if err != nil {
			return f, err
		}
		f.BrokerMetadata = raw[6 : 6+n : 6+n]
		at = 6 + n
	}
	if startsWith(raw[at:], magicChecksum) {
		if len(raw)-at < 6 {
			return f, malformed(len(raw), "checksum", "ends too early")
		}
		f.HasChecksum = true
		f.Checksum = binary.BigEndian.Uint32(raw[at+2:])
		at += 6
	}
	n, err := readSize(raw, at, "metadata size")
	if err != nil {
		return f, err
	}
	if n >= maxMetadata {
		return f, overLimit(at, "metadata size", "reads as the checksum's magic number")
	}
	at += 4
	f.Metadata = raw[at : at+n : at+n]
	f.Payload = raw[at+n:]
	return f, nil
}

func startsWith(b []byte, magic uint16) bool {
	return len(b) >= 2 && binary.BigEndian.Uint16(b) == magic
}

// readSize reads the u32 at off and checks it against what follows.
func readSize(b []byte, off int, field string) (int, error) {
	if len(b)-off < 4 {
		return 0, malformed(len(b), field, "ends too early")
	}
	n := binary.BigEndian.Uint32(b[off:])
	if uint64(n) > uint64(len(b)-off-4) {
		return 0, malformed(off, field, "larger than what is left")
	}
	return int(n), nil
}

// ComputeChecksum returns the CRC32C of the frame: metadata size, metadata and
// payload. It reads the whole payload.
func (f *Frame) ComputeChecksum() uint32 {
	return crc32.Update(f.HeaderChecksum(), castagnoli, f.Payload)
}

// ChecksumValid reports whether the checksum is right; true where there is
// none. It reads the whole payload.
func (f *Frame) ChecksumValid() bool {
	return !f.HasChecksum || f.Checksum == f.ComputeChecksum()
}

// MetadataOffset returns where the metadata starts in Raw, in bytes; offsets of
// errors from Metadata.Parse count from there.
func (f *Frame) MetadataOffset() int {
	return len(f.Raw) - len(f.Payload) - len(f.Metadata)
}

// HeaderChecksum returns the CRC32C of metadata size and metadata, which that of
// the frame goes on from.
func (f *Frame) HeaderChecksum() uint32 {
	if at := f.MetadataOffset(); at >= 4 && len(f.Raw) > 0 {
		return crc32.Checksum(f.Raw[at-4:at+len(f.Metadata)], castagnoli)
	}
	// A frame that was put together by hand has no Raw.
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(f.Metadata)))
	return crc32.Update(crc32.Checksum(size[:], castagnoli), castagnoli, f.Metadata)
}

// BrokerMetadata is a decoded BrokerEntryMetadata.
type BrokerMetadata struct {
	HasTimestamp bool
	Timestamp    uint64 // milliseconds since 1970, the broker's clock
	HasIndex     bool
	Index        uint64 // number of the entry's last message in its topic
}

// Parse reads b, the BrokerMetadata of a Frame.
func (m *BrokerMetadata) Parse(b []byte) error {
	*m = BrokerMetadata{}
	r := reader{b: b}
	for r.next() {
		switch {
		case r.is(1, wireVarint):
			m.HasTimestamp, m.Timestamp = true, r.v
		case r.is(2, wireVarint):
			m.HasIndex, m.Index = true, r.v
		}
	}
	return r.err
}
