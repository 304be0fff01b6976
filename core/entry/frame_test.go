// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseFrame(t *testing.T) {
	for _, c := range []struct {
		name, raw             string
		broker, meta, payload string
		hasChecksum           bool
		checksum              uint32
	}{
		{"checksum", "0e01aabbccdd" + "00000002" + "0102" + "030405", "", "0102", "030405", true, 0xaabbccdd},
		{"no checksum", "00000002" + "0102" + "030405", "", "0102", "030405", false, 0},
		{"broker metadata", "0e0200000002" + "0807" + "0e0100000000" + "00000001" + "09", "0807", "09", "", true, 0},
		{"broker metadata, no checksum", "0e0200000002" + "0807" + "00000001" + "09" + "ff", "0807", "09", "ff", false, 0},
		{"broker metadata of nothing", "0e0200000000" + "00000000", "", "", "", false, 0},
		{"nothing in it", "00000000", "", "", "", false, 0},
	} {
		raw := unhex(t, c.raw)
		f, err := ParseFrame(raw, len(raw))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !bytes.Equal(f.BrokerMetadata, unhex(t, c.broker)) || !bytes.Equal(f.Metadata, unhex(t, c.meta)) ||
			!bytes.Equal(f.Payload, unhex(t, c.payload)) || f.HasChecksum != c.hasChecksum || f.Checksum != c.checksum {
			t.Errorf("%s: broker %x, meta %x, payload %x, checksum %v %#x",
				c.name, f.BrokerMetadata, f.Metadata, f.Payload, f.HasChecksum, f.Checksum)
		}
		if got := f.MetadataOffset(); !bytes.HasPrefix(raw[got:], f.Metadata) || got != len(raw)-len(f.Payload)-len(f.Metadata) {
			t.Errorf("%s: metadata offset %d", c.name, got)
		}
	}
}

func TestParseFrameBad(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		max       int
		offset    int
		field     string
		cause     error
	}{
		{"empty", "", 0, 0, "metadata size", ErrFormat},
		{"one byte", "0e", 0, 1, "metadata size", ErrFormat},
		{"size cut", "000000", 0, 3, "metadata size", ErrFormat},
		{"checksum cut", "0e01aabbcc", 0, 5, "checksum", ErrFormat},
		{"size after checksum cut", "0e01aabbccdd0000", 0, 8, "metadata size", ErrFormat},
		{"metadata longer than the rest", "00000003" + "0102", 0, 0, "metadata size", ErrFormat},
		{"size of 2^32-1", "0e01aabbccdd" + "ffffffff" + "0102", 0, 6, "metadata size", ErrFormat},
		{"broker metadata size cut", "0e02000000", 0, 5, "broker entry metadata size", ErrFormat},
		{"broker metadata too long", "0e0200000009" + "01", 0, 2, "broker entry metadata size", ErrFormat},
		{"broker metadata alone", "0e0200000001" + "01", 0, 7, "metadata size", ErrFormat},
		{"two broker metadata", "0e0200000000" + "0e0200000000" + "00000000", 0, 6, "metadata size", ErrFormat},
		{"above the cap", "00000000" + "0102", 5, 5, "entry", ErrLimit},
	} {
		_, err := ParseFrame(unhex(t, c.raw), c.max)
		var f *FormatError
		if !errors.As(err, &f) || !errors.Is(err, c.cause) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if f.Offset != c.offset || f.Field != c.field {
			t.Errorf("%s: byte %d in %s, want byte %d in %s", c.name, f.Offset, f.Field, c.offset, c.field)
		}
	}
}

// TestAmbiguousMetadataSize builds the one entry whose first short could be
// taken for the checksum's magic number.
func TestAmbiguousMetadataSize(t *testing.T) {
	if testing.Short() {
		t.Skip("needs 225 MiB")
	}
	raw := make([]byte, 6+4+maxMetadata)
	copy(raw, unhex(t, "0e0100000000"+"0e010000"))
	if _, err := ParseFrame(raw, 0); !errors.Is(err, ErrLimit) {
		t.Errorf("metadata of %d bytes after a checksum: %v", maxMetadata, err)
	}
	copy(raw[6:], unhex(t, "0e00ffff"))
	f, err := ParseFrame(raw, 0)
	if err != nil || len(f.Metadata) != maxMetadata-1 {
		t.Errorf("metadata of %d bytes: %v", maxMetadata-1, err)
	}
}

func TestChecksum(t *testing.T) {
	meta, payload := sampleMetadata(), []byte("the payload")
	h := AppendHeaderForPayload(nil, meta, payload)
	f, err := ParseFrame(append(h, payload...), 0)
	if err != nil {
		t.Fatal(err)
	}
	if !f.HasChecksum || !f.ChecksumValid() || f.ComputeChecksum() != f.Checksum {
		t.Errorf("checksum %#x, computed %#x", f.Checksum, f.ComputeChecksum())
	}
	f.Raw[len(f.Raw)-1] ^= 1
	if f.ChecksumValid() {
		t.Error("a flipped bit in the payload goes unseen")
	}
	f.Raw[len(f.Raw)-1] ^= 1
	f.Metadata[0] ^= 1
	if f.ChecksumValid() {
		t.Error("a flipped bit in the metadata goes unseen")
	}
	f.Metadata[0] ^= 1
	byHand := Frame{Metadata: meta, Payload: payload}
	if byHand.ComputeChecksum() != f.Checksum {
		t.Error("a frame put together by hand has another checksum")
	}
}

func TestBrokerMetadata(t *testing.T) {
	var m BrokerMetadata
	if err := m.Parse(unhex(t, "08e807"+"10ac02"+"1a0161")); err != nil {
		t.Fatal(err)
	}
	if want := (BrokerMetadata{true, 1000, true, 300}); m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	if err := m.Parse(unhex(t, "08")); !errors.Is(err, ErrFormat) || m.HasTimestamp {
		t.Errorf("cut: %v, %+v", err, m)
	}
}
