// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"encoding/binary"
	"hash/crc32"

	"georep/core/internal/mutant"
)

// Splice says what a replicated entry's metadata gets. replicated_from becomes
// Origin.Cluster.
type Splice struct {
	Origin           Origin
	Bound            *BoundOrigin // Origin's constant text where it is at hand; of Origin, Position and Part count then
	Decoded          *Metadata    // of the frame, where it is at hand: saves walking what needs no cut
	SetSchemaVersion bool
	SchemaVersion    []byte // the destination's, where it differs; empty takes the field away
}

// AppendHeader appends a new header for f to dst and returns the result:
//
//	0x0e01 | crc32c | metadata size | metadata with the splice
//
// What follows it on the wire is f.Payload, untouched. Of the metadata all
// occurrences of replicated_from (5), of the transaction id (22, 23), of the
// two properties that replication writes, and with SetSchemaVersion of
// schema_version (16) are cut out; protobuf's last one wins, so one left over
// could win. Ours are appended. All other bytes stay as they are.
//
// With f.HasChecksum the payload is not read: the new checksum is combined from
// the old one, so a wrong one stays wrong and the destination finds it. Without,
// the payload is read once. Nothing is allocated where dst has room: that of
// f.Metadata, the names in Origin and 256 bytes more.
//
// Errors: ErrFormat for metadata that cannot be walked, ErrLimit where it
// becomes too long for a frame; dst is then returned with its old length.
func AppendHeader(dst []byte, f *Frame, s *Splice) ([]byte, error) {
	base := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	dst, err := appendSpliced(dst, f.Metadata, s)
	if err != nil {
		return dst[:base], err
	}
	if len(dst)-base-headerFixed >= maxMetadata {
		return dst[:base], overLimit(0, "metadata", "too long with the splice")
	}
	own := putHeader(dst[base:])
	var crc uint32
	if f.HasChecksum {
		// crc(header) and crc(payload) combine linearly, so the change of the
		// header's CRC, moved over the payload, is the change of the whole.
		crc = f.Checksum ^ shiftCRC(f.HeaderChecksum()^own, len(f.Payload))
	} else {
		crc = crc32.Update(own, castagnoli, f.Payload)
	}
	binary.BigEndian.PutUint32(dst[base+2:], crc)
	return dst, nil
}

// AppendHeaderForPayload appends the header of an entry that is built from
// meta, a MessageMetadata, and payload, which is read for the checksum but not
// appended. len(meta) is below 0x0e010000.
func AppendHeaderForPayload(dst []byte, meta []byte, payload []byte) []byte {
	base := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = append(dst, meta...)
	crc := crc32.Update(putHeader(dst[base:]), castagnoli, payload)
	binary.BigEndian.PutUint32(dst[base+2:], crc)
	return dst
}

// putHeader fills in the magic number and the size of the metadata that follows
// in h, and returns the CRC32C of size and metadata.
func putHeader(h []byte) uint32 {
	binary.BigEndian.PutUint16(h, magicChecksum)
	binary.BigEndian.PutUint32(h[6:], uint32(len(h)-headerFixed))
	return crc32.Checksum(h[6:], castagnoli)
}

func appendSpliced(dst, meta []byte, s *Splice) ([]byte, error) {
	var err error
	if s.Decoded != nil && !s.Decoded.spliced(s.SetSchemaVersion) {
		dst = append(dst, meta...)
	} else if dst, err = appendCut(dst, meta, s); err != nil {
		return dst, err
	}
	if s.Bound != nil {
		dst = s.Bound.AppendFields(dst, s.Origin.Position, s.Origin.Part)
	} else {
		dst = s.Origin.AppendFields(dst)
	}
	if s.SetSchemaVersion && len(s.SchemaVersion) > 0 {
		dst = AppendBytesField(dst, fieldSchemaVersion, s.SchemaVersion)
	}
	return dst, nil
}

// appendCut appends meta without the fields that the splice replaces.
func appendCut(dst, meta []byte, s *Splice) ([]byte, error) {
	base := len(dst)
	r := reader{b: meta}
	from := 0
	for r.next() {
		drop := false
		switch r.num {
		case fieldReplicatedFrom, fieldTxnLeast, fieldTxnMost:
			drop = true
		case fieldSchemaVersion:
			drop = s.SetSchemaVersion
		case fieldProperties:
			drop = r.typ == wireBytes && isOwnProperty(r.data) && !mutant.On(mutant.OldOriginKept)
		}
		if drop {
			dst = append(dst, meta[from:r.start]...)
			from = r.pos
		}
	}
	if r.err != nil {
		return dst[:base], r.err
	}
	return append(dst, meta[from:]...), nil
}
