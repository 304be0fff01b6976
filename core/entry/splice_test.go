// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

var sampleOrigin = Origin{
	Cluster: "east", Instance: "00112233445566778899aabbccddeeff", Segment: 3, Generation: 2,
	Position: Position{17, 42}, Part: Whole, BoundTopic: "segment://public/default/t/0000-7fff-5",
}

func TestCombineCRC32C(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	buf := make([]byte, 1<<20+3000)
	for i := range buf {
		buf[i] = byte(r.Uint32())
	}
	lengths := []int{0, 1, 2, 3, 4, 7, 8, 255, 256, 257, 1024, 65535, 65536, 65537, 1 << 20, 1<<20 + 2999}
	for range 200 {
		lengths = append(lengths, r.IntN(5000))
	}
	for _, n := range lengths {
		cut := len(buf) - n
		a, b := buf[max(0, cut-100):cut], buf[cut:]
		want := crc32.Update(crc32.Checksum(a, castagnoli), castagnoli, b)
		if got := CombineCRC32C(crc32.Checksum(a, castagnoli), crc32.Checksum(b, castagnoli), n); got != want {
			t.Fatalf("length %d: %#x, want %#x", n, got, want)
		}
	}
	// Longer than any buffer: moving over a+b bytes is moving over a, then b.
	for range 100 {
		crc, x, y := r.Uint32(), int(r.Uint32()>>1), int(r.Uint32()>>1)
		if got, want := shiftCRC(shiftCRC(crc, x), y), shiftCRC(crc, x+y); got != want {
			t.Fatalf("%d then %d bytes: %#x, at once %#x", x, y, got, want)
		}
	}
}

// naiveHeader rebuilds the entry field by field with the protobuf library's
// wire functions and computes the checksum over everything.
func naiveHeader(f *Frame, s *Splice) []byte {
	var meta []byte
	for b := f.Metadata; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		n += protowire.ConsumeFieldValue(num, typ, b[n:])
		field := b[:n]
		b = b[n:]
		switch {
		case num == 5 || num == 22 || num == 23, num == 16 && s.SetSchemaVersion:
			continue
		case num == 4 && typ == protowire.BytesType:
			_, _, tag := protowire.ConsumeTag(field)
			body, _ := protowire.ConsumeBytes(field[tag:])
			kv := newModel("KeyValue")
			_ = kv.parse(body) // a missing value does not hide the key
			if k := string(kv.bytes("key")); k == OriginProperty || k == SourcePositionProperty {
				continue
			}
		}
		meta = append(meta, field...)
	}
	str := func(b []byte, num protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	meta = str(meta, 5, s.Origin.Cluster)
	meta = str(meta, 4, string(str(str(nil, 1, SourcePositionProperty), 2, string(s.Origin.AppendSourcePosition(nil)))))
	meta = str(meta, 4, string(str(str(nil, 1, OriginProperty), 2, string(s.Origin.AppendValue(nil)))))
	if s.SetSchemaVersion && len(s.SchemaVersion) > 0 {
		meta = str(meta, 16, string(s.SchemaVersion))
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(meta)))
	body = append(body, meta...)
	crc := crc32.Checksum(append(bytes.Clone(body), f.Payload...), castagnoli)
	return append(binary.BigEndian.AppendUint32([]byte{0x0e, 0x01}, crc), body...)
}

func TestSpliceAgainstRebuild(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	stripped := 0
	for i := range 20_000 {
		meta := randomMessage(r, metadataDefs, true)
		for range r.IntN(3) {
			stripped++
			key := []string{OriginProperty, SourcePositionProperty, "__GEOREP_ORIGINAL", ""}[r.IntN(4)]
			meta = AppendPropertyField(meta, 4, key, "forged")
			meta = appendField(meta, r, metadataDefs[r.IntN(len(metadataDefs))])
		}
		payload := make([]byte, r.IntN(300))
		for j := range payload {
			payload[j] = byte(r.Uint32())
		}
		raw := AppendHeaderForPayload(nil, meta, payload)
		if i%3 == 0 {
			raw = append([]byte(nil), raw[6:]...) // no checksum
		}
		if i%2 == 0 {
			raw = append(unhex(t, "0e0200000002"+"0807"), raw...)
		}
		raw = append(raw, payload...)
		f, err := ParseFrame(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := Splice{Origin: sampleOrigin, SetSchemaVersion: r.IntN(2) == 0, SchemaVersion: []byte{0, 0, 7}[:r.IntN(4)]}
		s.Origin.Position = Position{int64(r.Uint64() >> 1 >> r.IntN(63)), int64(r.Uint64() >> 1 >> r.IntN(63))}
		s.Origin.Segment, s.Origin.Generation = r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		if r.IntN(2) == 0 {
			s.Origin.Part = int64(r.IntN(1000))
		}
		got, err := AppendHeader([]byte("dst"), &f, &s)
		if err != nil {
			t.Fatalf("%x: %v", meta, err)
		}
		spliceShort(t, &f, &s, got[3:])
		want := naiveHeader(&f, &s)
		if string(got[:3]) != "dst" || !bytes.Equal(got[3:], want) {
			t.Fatalf("metadata %x\n got %x\nwant %x", meta, got[3:], want)
		}
	}
	if stripped == 0 {
		t.Error("no forged property was ever there")
	}
}

// spliceShort splices with what a caller may have at hand, and wants the same
// bytes. Metadata that does not parse is never spliced by such a caller.
func spliceShort(t *testing.T, f *Frame, s *Splice, want []byte) {
	t.Helper()
	var m Metadata
	if m.Parse(f.Metadata) != nil {
		return
	}
	with := *s
	with.Decoded, with.Bound = &m, s.Origin.Bind()
	with.Origin = Origin{Position: s.Origin.Position, Part: s.Origin.Part}
	if got, err := AppendHeader(nil, f, &with); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("decoded metadata and bound origin make another header: %v\n got %x\nwant %x", err, got, want)
	}
}

// TestSpliceOfWhatNeedsACut adds each thing that has to be cut out alone, so
// that none of them is found only because of another.
func TestSpliceOfWhatNeedsACut(t *testing.T) {
	for name, add := range map[string][]byte{
		"replicated_from":            AppendStringField(nil, fieldReplicatedFrom, "forged"),
		"replicated_from, a number":  AppendVarintField(nil, fieldReplicatedFrom, 1),
		"replicated_from, eight":     append([]byte{fieldReplicatedFrom<<3 | wireFixed64}, make([]byte, 8)...),
		"txnid_least_bits":           AppendVarintField(nil, fieldTxnLeast, 1),
		"txnid_most_bits":            AppendVarintField(nil, fieldTxnMost, 1),
		"schema_version":             AppendStringField(nil, fieldSchemaVersion, "old"),
		"the position, forged":       AppendPropertyField(nil, fieldProperties, SourcePositionProperty, "1:1"),
		"the origin, forged":         AppendPropertyField(nil, fieldProperties, OriginProperty, "x"),
		"nothing":                    nil,
		"a property of the producer": AppendPropertyField(nil, fieldProperties, "mine", "stays"),
	} {
		meta := append(sampleMetadata(), add...)
		f, err := ParseFrame(AppendHeaderForPayload(nil, meta, nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		s := Splice{Origin: sampleOrigin, SetSchemaVersion: true}
		h, err := AppendHeader(nil, &f, &s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		spliceShort(t, &f, &s, h)
		if stays := name == "nothing" || name == "a property of the producer"; bytes.HasPrefix(h[headerFixed:], meta) != stays {
			t.Errorf("%s: stays %v", name, !stays)
		}
	}
}

func TestSpliceStripsEveryOccurrence(t *testing.T) {
	b := AppendStringField(sampleMetadata(), fieldReplicatedFrom, "forged")
	b = AppendPropertyField(b, fieldProperties, SourcePositionProperty, "9:9")
	b = AppendPropertyField(b, fieldProperties, "mine", "stays")
	b = AppendVarintField(b, fieldTxnLeast, 1)
	b = AppendVarintField(b, fieldTxnMost, 2)
	b = AppendPropertyField(b, fieldProperties, OriginProperty, "1|forged")
	b = AppendVarintField(b, 4000, 4000)
	b = AppendStringField(b, fieldReplicatedFrom, "forged again")
	b = AppendPropertyField(b, fieldProperties, OriginProperty, "1|forged again")
	b = AppendBytesField(b, fieldSchemaVersion, []byte("old"))
	b = AppendVarintField(b, fieldTxnMost, 3)
	// The key of a property is the last one in it.
	twice := AppendStringField(AppendStringField(AppendStringField(nil, 1, "innocent"), 2, "v"), 1, OriginProperty)
	b = AppendBytesField(b, fieldProperties, twice)
	b = append(b, 5<<3|wireVarint, 1) // replicated_from as a number
	b = AppendVarintField(b, TagHashMin, 11)
	b = AppendVarintField(b, TagHashMax, 12)
	f, err := ParseFrame(AppendHeaderForPayload(nil, b, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := AppendHeader(nil, &f, &Splice{Origin: sampleOrigin, SetSchemaVersion: true, SchemaVersion: []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	spliceShort(t, &f, &Splice{Origin: sampleOrigin, SetSchemaVersion: true, SchemaVersion: []byte("new")}, h)
	want := AppendPropertyField(sampleMetadata(), fieldProperties, "mine", "stays")
	want = AppendVarintField(want, 4000, 4000)
	want = AppendVarintField(AppendVarintField(want, TagHashMin, 11), TagHashMax, 12)
	want = AppendStringField(want, fieldReplicatedFrom, "east")
	want = AppendPropertyField(want, fieldProperties, SourcePositionProperty, "17:42")
	want = AppendPropertyField(want, fieldProperties, OriginProperty,
		"1|east|00112233445566778899aabbccddeeff|3|2|17:42|segment://public/default/t/0000-7fff-5")
	want = AppendBytesField(want, fieldSchemaVersion, []byte("new"))
	if !bytes.Equal(h[headerFixed:], want) {
		t.Errorf("metadata\n got %q\nwant %q", h[headerFixed:], want)
	}
	g, err := ParseFrame(h, 0)
	if err != nil || !g.ChecksumValid() {
		t.Errorf("checksum of the result: %v", err)
	}
}

// TestSpliceDoesNotReadThePayload splices an entry whose payload has other
// bytes than its checksum says: the wrong checksum must stay as wrong as it was.
func TestSpliceDoesNotReadThePayload(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 1000)
	raw := append(AppendHeaderForPayload(nil, sampleMetadata(), payload), payload...)
	f, _ := ParseFrame(raw, 0)
	s := Splice{Origin: sampleOrigin}
	h, err := AppendHeader(nil, &f, &s)
	if err != nil {
		t.Fatal(err)
	}
	f.Payload[5] ^= 0xff
	broken, err := AppendHeader(nil, &f, &s)
	if err != nil || !bytes.Equal(h, broken) {
		t.Errorf("the header depends on the payload's bytes: %v", err)
	}
	g, _ := ParseFrame(append(bytes.Clone(broken), f.Payload...), 0)
	if g.ChecksumValid() {
		t.Error("a corrupt entry became a valid one")
	}
	f.HasChecksum = false
	own, _ := AppendHeader(nil, &f, &s)
	if g, _ = ParseFrame(append(own, f.Payload...), 0); !g.ChecksumValid() {
		t.Error("an entry without a checksum got a wrong one")
	}
}

func TestSpliceBad(t *testing.T) {
	f := Frame{Metadata: unhex(t, "0a0170"+"0b"), HasChecksum: true}
	dst, err := AppendHeader([]byte("keep"), &f, &Splice{Origin: sampleOrigin})
	var fe *FormatError
	if !errors.As(err, &fe) || fe.Offset != 3 || string(dst) != "keep" {
		t.Errorf("dst %q, error %v", dst, err)
	}
}

func TestSpliceAllocatesNothing(t *testing.T) {
	raw := append(AppendHeaderForPayload(nil, sampleMetadata(), []byte("x")), 'x')
	dst := make([]byte, 0, 1024)
	s := Splice{Origin: sampleOrigin, SetSchemaVersion: true, SchemaVersion: []byte{1}}
	n := testing.AllocsPerRun(100, func() {
		f, _ := ParseFrame(raw, 0)
		_, _ = AppendHeader(dst, &f, &s)
	})
	if n != 0 {
		t.Errorf("%.1f allocations", n)
	}
}

func TestCopyFields(t *testing.T) {
	b := AppendPropertyField(sampleMetadata(), fieldProperties, OriginProperty, "x")
	b = AppendPropertyField(b, fieldProperties, "mine", "y")
	b = append(b, 0xc1, 0x04, 1, 2, 3, 4, 5, 6, 7, 8)
	b = AppendVarintField(b, fieldNumMessages, 3)
	drop := func(num int) bool { return num == fieldSequenceID || num == fieldNumMessages }
	want := AppendVarintField(AppendStringField([]byte("d"), fieldProducerName, "p"), fieldPublishTime, 1_700_000_000_000)
	wantUser := AppendPropertyField(bytes.Clone(want), fieldProperties, "mine", "y")
	want = AppendPropertyField(want, fieldProperties, OriginProperty, "x")
	want = AppendPropertyField(want, fieldProperties, "mine", "y")
	tail := []byte{0xc1, 0x04, 1, 2, 3, 4, 5, 6, 7, 8}
	if got, err := CopyFields([]byte("d"), b, drop); err != nil || !bytes.Equal(got, append(want, tail...)) {
		t.Errorf("CopyFields = %q, %v", got, err)
	}
	if got, err := CopyUserFields([]byte("d"), b, drop); err != nil || !bytes.Equal(got, append(wantUser, tail...)) {
		t.Errorf("CopyUserFields = %q, %v", got, err)
	}
	if got, err := CopyFields([]byte("d"), append(bytes.Clone(b), 0x0b), drop); !errors.Is(err, ErrFormat) || string(got) != "d" {
		t.Errorf("bad fields: %q, %v", got, err)
	}
}

func TestVarintLen(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 16383, 16384, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		if got, want := VarintLen(v), len(binary.AppendUvarint(nil, v)); got != want {
			t.Errorf("VarintLen(%d) = %d, want %d", v, got, want)
		}
	}
}
