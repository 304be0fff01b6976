// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"georep/core/keyhash"
)

func load(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParsePulsarAdminHTTP(t *testing.T) {
	l, err := ParsePulsar(load(t, "admin-http.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Segment{
		{ID: 0, Range: Ring, State: Sealed, Children: []uint64{1, 2}, Profile: keyhash.M1, BucketsKnown: true},
		{ID: 1, Range: Range{0, 32767}, State: Active, Parents: []uint64{0}, Profile: keyhash.PIP486, BucketsKnown: true},
		{ID: 2, Range: Range{32768, 65535}, State: Active, Parents: []uint64{0}, Profile: keyhash.PIP486,
			Buckets: []uint16{100, 40000}, BucketsKnown: true, CutCap: 1 << 20},
	}
	if l.Epoch() != 3 || len(l.Segments()) != len(want) {
		t.Fatalf("epoch %d, %d segments", l.Epoch(), len(l.Segments()))
	}
	for i, s := range l.Segments() {
		if !reflect.DeepEqual(*s, want[i]) {
			t.Errorf("segment %d = %+v, want %+v", i, *s, want[i])
		}
	}
	if l.Get(2).CutBytes() != 1<<20 || l.Get(1).CutBytes() != 4<<20 {
		t.Errorf("cut caps %d and %d", l.Get(2).CutBytes(), l.Get(1).CutBytes())
	}
}

func TestParsePulsarAdminClient(t *testing.T) {
	l, err := ParsePulsar(load(t, "admin-client.json"))
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Get(0); s.Legacy != "persistent://t/n/x" || !s.IsLegacy() || s.State != Sealed {
		t.Errorf("segment 0 = %+v", s)
	}
	if s := l.At(40000); s.ID != 2 || s.Profile != keyhash.M1 || s.Legacy != "" {
		t.Errorf("segment of 40000 = %+v", s)
	}
	if l, err = ParsePulsarAs(load(t, "admin-client.json"), keyhash.PIP486); err != nil || l.Profile() != keyhash.PIP486 {
		t.Errorf("profile %v, %v", l.Profile(), err)
	}
}

const one = `{"epoch":1,"segments":{"7":{"segmentId":7,"hashRange":{"start":0,"end":65535},"state":"ACTIVE"EXTRA}}PROPS}`

func single(extra, props string) []byte {
	return []byte(strings.NewReplacer("EXTRA", extra, "PROPS", props).Replace(one))
}

// TestParsePulsarBuckets: Pulsar's own list wins over ours, and says pip486 even
// when it is empty; m1 has no buckets.
func TestParsePulsarBuckets(t *testing.T) {
	prop := `,"properties":{"georep.segment.7":"{\"bucketStarts\":[5]}"}`
	for _, c := range []struct {
		name, extra, props string
		as, profile        keyhash.Profile
		buckets            []uint16
	}{
		{"nothing", ``, ``, 0, keyhash.M1, nil},
		{"own list", `,"entryBucketSplits":[10,20]`, prop, 0, keyhash.PIP486, []uint16{10, 20}},
		{"own empty list", `,"entryBucketSplits":[]`, prop, 0, keyhash.PIP486, nil},
		{"null list", `,"entryBucketSplits":null`, prop, keyhash.PIP486, keyhash.PIP486, []uint16{5}},
		{"property", ``, prop, keyhash.PIP486, keyhash.PIP486, []uint16{5}},
		{"property wins over default", ``, `,"properties":{"georep.segment.7":"{\"profile\":\"m1\"}"}`, keyhash.PIP486, keyhash.M1, nil},
		{"m1 forced", `,"entryBucketSplits":[10,20]`, ``, keyhash.M1, keyhash.M1, nil},
	} {
		l, err := ParsePulsarAs(single(c.extra, c.props), c.as)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		s := l.Get(7)
		if s.Profile != c.profile || !reflect.DeepEqual(s.Buckets, c.buckets) || !s.BucketsKnown {
			t.Errorf("%s: profile %v buckets %v, want %v %v", c.name, s.Profile, s.Buckets, c.profile, c.buckets)
		}
	}
}

func TestParsePulsarRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		kind error
		want string
	}{
		{"empty", "", ErrSyntax, "empty"},
		{"no JSON", `{"epoch":1,]`, ErrSyntax, "byte 12"},
		{"no epoch", `{"segments":{}}`, ErrInvalid, "epoch: missing"},
		{"negative epoch", `{"epoch":-1,"segments":{}}`, ErrInvalid, "epoch: missing or negative"},
		{"no segments", `{"epoch":1}`, ErrInvalid, "segments: missing"},
		{"epoch type", `{"epoch":"x","segments":{}}`, ErrSyntax, "epoch: a string where int64 is wanted"},
		{"segment type", `{"epoch":1,"segments":{"7":5}}`, ErrSyntax, "segments.7: a number"},
		{"key", `{"epoch":1,"segments":{"x":{}}}`, ErrInvalid, `key "x" is no segment id`},
		{"id", strings.Replace(string(single("", "")), `"segmentId":7`, `"segmentId":8`, 1), ErrInvalid, "segments.7.segmentId: differs"},
		{"range", strings.Replace(string(single("", "")), `"end":65535`, `"end":65536`, 1), ErrInvalid, "segments.7.hashRange: 0..65536"},
		{"range type", strings.Replace(string(single("", "")), `"end":65535`, `"end":"a"`, 1), ErrSyntax, "segments.7.hashRange.end: a string"},
		{"no range end", strings.Replace(string(single("", "")), `,"end":65535`, ``, 1), ErrInvalid, "segments.7.hashRange: missing"},
		{"state", strings.Replace(string(single("", "")), `ACTIVE`, `OPEN`, 1), ErrInvalid, `segments.7.state: "OPEN"`},
		{"no state", strings.Replace(string(single("", "")), `,"state":"ACTIVE"`, ``, 1), ErrInvalid, "segments.7.state: missing"},
		{"parent", string(single(`,"parentIds":[-4]`, "")), ErrInvalid, "segments.7.parentIds[0]: -4"},
		{"child", string(single(`,"childIds":[8]`, "")), ErrInvalid, "segments.7.childIds: an active"},
		{"start 0", string(single(`,"entryBucketSplits":[0]`, "")), ErrInvalid, "segments.7.entryBucketSplits[0]: 0 is not in 1..65535"},
		{"start high", string(single(`,"entryBucketSplits":[5,65536]`, "")), ErrInvalid, "segments.7.entryBucketSplits[1]: 65536"},
		{"start float", string(single(`,"entryBucketSplits":[1.5]`, "")), ErrSyntax, "segments.7.entryBucketSplits: a number 1.5"},
		{"record", string(single("", `,"properties":{"georep.segment.7":"{"}`)), ErrSyntax, "properties.georep.segment.7: byte 1"},
		{"record profile", string(single("", `,"properties":{"georep.segment.7":"{\"profile\":\"m2\"}"}`)), ErrInvalid, `properties.georep.segment.7.profile: "m2"`},
		{"record starts", string(single("", `,"properties":{"georep.segment.7":"{\"bucketStarts\":[9,8]}"}`)), ErrInvalid, "properties.georep.segment.7.bucketStarts[1]: 8"},
		{"record cap", string(single("", `,"properties":{"georep.segment.7":"{\"cutCap\":-1}"}`)), ErrInvalid, "properties.georep.segment.7.cutCap: -1"},
		{"property type", string(single("", `,"properties":{"a":1}`)), ErrSyntax, "properties"},
		{"huge", strings.Repeat(" ", MaxJSONBytes+1), ErrSyntax, "above the cap"},
	} {
		_, err := ParsePulsar([]byte(c.in))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzParsePulsar(f *testing.F) {
	f.Add(single("", ""))
	f.Add(single(`,"entryBucketSplits":[5,6]`, `,"properties":{"georep.segment.7":"{\"cutCap\":1}"}`))
	for _, name := range []string{"admin-http.json", "admin-client.json"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParsePulsar(b)
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrInvalid) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		for _, h := range []uint16{0, 1, 32768, 65535} {
			if s := l.At(h); l.HasRing() != (s != nil) || s != nil && (!s.Range.Contains(h) || s.State != Active) {
				t.Fatalf("At(%d) = %+v", h, s)
			}
		}
	})
}
