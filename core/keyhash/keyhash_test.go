// SPDX-License-Identifier: Apache-2.0

package keyhash

import (
	"errors"
	"testing"
)

func TestSumVectors(t *testing.T) {
	// Values that Pulsar's Java client computed.
	for _, c := range []struct {
		key    string
		masked uint32
	}{
		{"k1", 2110152746},
		{"k2", 1479966664},
		{"", 0},
	} {
		if got := Sum([]byte(c.key)) & 0x7fffffff; got != c.masked {
			t.Errorf("Sum(%q) masked = %d, want %d", c.key, got, c.masked)
		}
	}
	if got := Sum([]byte("k1")); got != 0xfdc6602a {
		t.Errorf("Sum(k1) = %#x, want 0xfdc6602a", got)
	}
}

func TestBucketHashOfBinaryKey(t *testing.T) {
	// A producer hashes the base64 text, a broker that dispatches an unstamped
	// entry the decoded bytes: the two differ.
	if got := Bucket(Sum([]byte{0, 1})); got != 0xa2c0 {
		t.Errorf("raw bytes: %#x, want 0xa2c0", got)
	}
	if got := Bucket(Sum([]byte("AAE="))); got != 0xb1c4 {
		t.Errorf("base64 text: %#x, want 0xb1c4", got)
	}
}

func TestProfiles(t *testing.T) {
	const h = 0xfdc6602a
	if got := M1.Segment(h); got != 0x602a {
		t.Errorf("m1 segment half = %#x", got)
	}
	if got := PIP486.Segment(h); got != 0xfdc6 {
		t.Errorf("pip486 segment half = %#x", got)
	}
	if got := Bucket(h); got != 0x602a {
		t.Errorf("bucket half = %#x", got)
	}
	for _, p := range []Profile{M1, PIP486} {
		got, err := ParseProfile(p.String())
		if err != nil || got != p {
			t.Errorf("ParseProfile(%q) = %v, %v", p.String(), got, err)
		}
	}
	if _, err := ParseProfile("M1"); !errors.Is(err, ErrProfile) {
		t.Errorf("ParseProfile(M1) = %v, want ErrProfile", err)
	}
	if got := Profile(0).String(); got != "unknown" {
		t.Errorf("zero profile is called %q", got)
	}
}
