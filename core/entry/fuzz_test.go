// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// vectors reads the entries of tests/interop: hex with '#' comments.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../../tests/interop/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no interop vectors: %v", err)
	}
	out := make(map[string][]byte, len(files))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var digits strings.Builder
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			digits.WriteString(strings.Join(strings.Fields(line), ""))
		}
		b, err := hex.DecodeString(digits.String())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[filepath.Base(name)] = b
	}
	return out
}

// FuzzFrame: what is accepted adds up to the input; the splice of it is what a
// rebuild field by field is.
func FuzzFrame(f *testing.F) {
	for _, b := range vectors(f) {
		f.Add(b, true)
	}
	f.Add(AppendHeaderForPayload(nil, sampleMetadata(), nil), false)
	f.Fuzz(func(t *testing.T, raw []byte, setSchema bool) {
		keep := bytes.Clone(raw)
		fr, err := ParseFrame(raw, 1<<20)
		if err != nil {
			checkError(t, err, len(raw))
			return
		}
		at := fr.MetadataOffset()
		if !bytes.Equal(raw[at:at+len(fr.Metadata)], fr.Metadata) || at+len(fr.Metadata)+len(fr.Payload) != len(raw) {
			t.Fatalf("metadata at %d, %d bytes, payload %d bytes", at, len(fr.Metadata), len(fr.Payload))
		}
		var bm BrokerMetadata
		if err := bm.Parse(fr.BrokerMetadata); err != nil {
			checkError(t, err, len(fr.BrokerMetadata))
		}
		s := Splice{Origin: sampleOrigin, SetSchemaVersion: setSchema, SchemaVersion: []byte{9}}
		h, err := AppendHeader(nil, &fr, &s)
		if !bytes.Equal(raw, keep) {
			t.Fatal("the input was written to")
		}
		if err != nil {
			checkError(t, err, len(fr.Metadata))
			return
		}
		spliceShort(t, &fr, &s, h)
		if odd(fr.Metadata) {
			return // the library's walker is stricter
		}
		want := naiveHeader(&fr, &s)
		if fr.HasChecksum && !fr.ChecksumValid() {
			h, want = h[6:], want[6:]
		}
		if !bytes.Equal(h, want) {
			t.Fatalf("splice\n got %x\nwant %x", h, want)
		}
		o, ok, err := FindOrigin(h[len(h)-int(metaLen(h)):])
		if err == nil && (!ok || o != sampleOrigin) {
			t.Fatalf("origin %+v, %v", o, ok)
		}
	})
}

// metaLen is the metadata's length in a header, with or without its first six
// bytes.
func metaLen(h []byte) uint32 {
	if startsWith(h, magicChecksum) {
		h = h[6:]
	}
	return binary.BigEndian.Uint32(h)
}

// FuzzMetadata compares with the protobuf library.
func FuzzMetadata(f *testing.F) {
	for _, b := range vectors(f) {
		if fr, err := ParseFrame(b, 0); err == nil {
			f.Add(fr.Metadata)
		}
	}
	f.Add(sampleMetadata())
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Metadata
		if err := m.Parse(b); err != nil {
			checkError(t, err, len(b))
		}
		if !odd(b) {
			compareMetadata(t, b)
		}
		copied, err := CopyFields([]byte("x"), b, func(int) bool { return false })
		if err == nil && string(copied) != "x"+string(b) {
			t.Fatal("a copy of all fields is not the same bytes")
		}
		_, _ = ReplicatesTo(b, "west")
		_ = EachReplicateTo(b, func([]byte) bool { return true })
		_ = EachCompactedIndex(b, func(int32) bool { return true })
		_ = EachEncryptionKey(b, func(_, _ []byte) bool { return true })
	})
}

// odd reports whether b holds what LightProto and protobuf disagree on: groups,
// varints with bits beyond the 64th, nested ones included.
func odd(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return len(b) >= 10
		}
		if typ == protowire.StartGroupType || typ == protowire.EndGroupType {
			return true
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return true
		}
		if typ == protowire.BytesType {
			body, _ := protowire.ConsumeBytes(b[n:])
			if (num == fieldProperties || num == fieldEncryptionKeys || num == fieldCompactedIndexes || num <= 3) && odd(body) {
				return true
			}
		}
		b = b[n+m:]
	}
	return false
}

// FuzzBatch: the messages of an accepted batch, put together again, are the
// payload; of another none comes after the error.
func FuzzBatch(f *testing.F) {
	for _, b := range vectors(f) {
		fr, err := ParseFrame(b, 0)
		var m Metadata
		if err == nil && m.Parse(fr.Metadata) == nil && m.HasBatch {
			f.Add(fr.Payload, m.NumMessages)
		}
	}
	f.Add(AppendMessage(nil, single("k", []byte("v")), []byte("v")), int32(1))
	f.Fuzz(func(t *testing.T, payload []byte, n int32) {
		r := NewBatchReader(payload, int(n))
		var m Message
		var joined []byte
		count := 0
		for r.Next(&m) {
			if m.Index != count {
				t.Fatalf("message %d has index %d", count, m.Index)
			}
			count++
			joined = append(joined, m.Raw...)
			if again := AppendMessage(nil, m.Meta, m.Payload); !bytes.Equal(again, m.Raw) {
				t.Fatalf("message %x, from its pieces %x", m.Raw, again)
			}
			if !odd(m.Meta) {
				compareSingle(t, m.Meta)
			}
			_, _ = m.Single.KeyHash(), m.Single.BucketHash()
		}
		if err := r.Err(); err != nil {
			checkError(t, err, len(payload))
			if r.Next(&m) {
				t.Fatal("a message after the error")
			}
			return
		}
		if count != int(n) || !bytes.Equal(joined, payload) {
			t.Fatalf("%d of %d messages, %d of %d bytes", count, n, len(joined), len(payload))
		}
	})
}

// FuzzOrigin: one record has one spelling.
func FuzzOrigin(f *testing.F) {
	f.Add(sampleOrigin.AppendValue(nil))
	f.Add([]byte("1|a%7Cb|%25|0|1|2:3:4|t"))
	f.Add([]byte("2|later"))
	f.Fuzz(func(t *testing.T, v []byte) {
		o, err := ParseOrigin(v)
		if err != nil {
			if !errors.Is(err, ErrOriginVersion) {
				checkError(t, err, len(v))
			}
			return
		}
		if again := o.AppendValue(nil); !bytes.Equal(again, v) {
			t.Fatalf("%q is read as %+v, which is written %q", v, o, again)
		}
		meta := o.AppendFields(sampleMetadata())
		if got, ok, err := FindOrigin(meta); err != nil || !ok || got != o {
			t.Fatalf("from metadata: %+v, %v, %v", got, ok, err)
		}
	})
}

// checkError wants a place inside the input.
func checkError(t *testing.T, err error, n int) {
	t.Helper()
	var f *FormatError
	if !errors.As(err, &f) || f.Field == "" || f.Cause == "" || f.Offset < 0 || f.Offset > max(n, 1<<20) {
		t.Fatalf("error %v for %d bytes", err, n)
	}
}
