// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"georep/core/keyhash"
)

// MaxJSONBytes is the largest record that ParsePulsar reads.
const MaxJSONBytes = 16 << 20

// SegmentProperty is the prefix of the topic properties that hold what Pulsar
// 5.0.0-M1 does not record of a segment: "georep.segment.<id>" =
// {"profile": "m1"|"pip486", "bucketStarts": [...], "cutCap": bytes}.
const SegmentProperty = "georep.segment."

// ErrSyntax marks a record that is not the JSON of a ScalableTopicMetadata; the
// text names the field or the byte.
var ErrSyntax = errors.New("layout: bad JSON")

type wireTopic struct {
	Epoch      *int64                     `json:"epoch"`
	Segments   map[string]json.RawMessage `json:"segments"`
	Properties map[string]string          `json:"properties"`
}

type wireRange struct {
	Start *int64 `json:"start"`
	End   *int64 `json:"end"`
}

type wireSegment struct {
	ID      *int64     `json:"segmentId"`
	Range   *wireRange `json:"hashRange"`
	State   *string    `json:"state"`
	Parents []int64    `json:"parentIds"`
	Child   []int64    `json:"childIds"`
	Legacy  *string    `json:"legacyTopicName"`
	Splits  *[]int64   `json:"entryBucketSplits"`
}

// wireRecord is the value of a SegmentProperty.
type wireRecord struct {
	Profile *string  `json:"profile"`
	Starts  *[]int64 `json:"bucketStarts"`
	CutCap  *int64   `json:"cutCap"`
}

// ParsePulsar reads the JSON of Pulsar's ScalableTopicMetadata, as the metadata
// store holds it, as the admin's HTTP answers it, or as the Java admin client
// prints it; fields that it does not know are ignored.
//
// A segment's buckets are its "entryBucketSplits" where Pulsar records them, else
// the bucketStarts of its [SegmentProperty], else it has one bucket. Its profile
// is that of its property, else pip486 where any segment has entryBucketSplits,
// else m1. Errors wrap [ErrSyntax] or [ErrInvalid] and name the field.
func ParsePulsar(b []byte) (*Layout, error) { return ParsePulsarAs(b, 0) }

// ParsePulsarAs is ParsePulsar with the profile of the segments that record none;
// 0 guesses as ParsePulsar does. Under m1 there are no buckets: entryBucketSplits
// are checked and not used.
func ParsePulsarAs(b []byte, profile keyhash.Profile) (*Layout, error) {
	if len(b) > MaxJSONBytes {
		return nil, fmt.Errorf("%w: %d bytes are above the cap of %d", ErrSyntax, len(b), MaxJSONBytes)
	}
	var top wireTopic
	if err := decode(b, "", &top); err != nil {
		return nil, err
	}
	if top.Epoch == nil || *top.Epoch < 0 {
		return nil, fmt.Errorf("%w: epoch: missing or negative", ErrInvalid)
	}
	if len(top.Segments) == 0 {
		return nil, fmt.Errorf("%w: segments: missing or empty", ErrInvalid)
	}
	if len(top.Segments) > MaxSegments {
		return nil, fmt.Errorf("%w: segments: %d are above the cap of %d", ErrInvalid, len(top.Segments), MaxSegments)
	}
	wire := make(map[string]*wireSegment, len(top.Segments))
	keys := slices.Sorted(maps.Keys(top.Segments)) // the same error every time
	for _, key := range keys {
		w := new(wireSegment)
		if err := decode(top.Segments[key], "segments."+key, w); err != nil {
			return nil, err
		}
		wire[key] = w
		if profile == 0 && w.Splits != nil {
			profile = keyhash.PIP486
		}
	}
	if profile == 0 {
		profile = keyhash.M1
	}
	segs := make([]Segment, 0, len(wire))
	for _, key := range keys {
		s, err := wire[key].segment(key, profile, top.Properties[SegmentProperty+key])
		if err != nil {
			return nil, err
		}
		segs = append(segs, s)
	}
	return New(uint64(*top.Epoch), segs)
}

func (w *wireSegment) segment(key string, profile keyhash.Profile, record string) (s Segment, err error) {
	at := "segments." + key
	id, err := strconv.ParseUint(key, 10, 63)
	if err != nil {
		return s, fmt.Errorf("%w: segments: key %q is no segment id", ErrInvalid, key)
	}
	s.ID = id
	if w.ID == nil || *w.ID != int64(id) {
		return s, s.fault("segmentId", "differs from its key in the map")
	}
	if w.Range == nil || w.Range.Start == nil || w.Range.End == nil {
		return s, s.fault("hashRange", "missing")
	}
	start, end := *w.Range.Start, *w.Range.End
	if start < 0 || end > 0xFFFF || start > end {
		return s, s.fault("hashRange", "%d..%d is no range in 0..65535", start, end)
	}
	s.Range = Range{Start: uint16(start), End: uint16(end)}
	if w.State == nil {
		return s, s.fault("state", "missing")
	}
	switch *w.State {
	case "ACTIVE":
		s.State = Active
	case "SEALED":
		s.State = Sealed
	default:
		return s, s.fault("state", "%q is neither ACTIVE nor SEALED", clip(*w.State))
	}
	if s.Parents, err = ids(w.Parents, at+".parentIds"); err != nil {
		return s, err
	}
	if s.Children, err = ids(w.Child, at+".childIds"); err != nil {
		return s, err
	}
	if w.Legacy != nil {
		s.Legacy = *w.Legacy
	}
	return s, w.routing(&s, profile, record)
}

// routing fills in profile, buckets and cut cap.
func (w *wireSegment) routing(s *Segment, profile keyhash.Profile, record string) (err error) {
	var rec wireRecord
	at := fmt.Sprintf("properties.%s%d", SegmentProperty, s.ID)
	if record != "" {
		if err := decode([]byte(record), at, &rec); err != nil {
			return err
		}
	}
	s.Profile, s.BucketsKnown = profile, true
	if rec.Profile != nil {
		if s.Profile, err = keyhash.ParseProfile(*rec.Profile); err != nil {
			return fmt.Errorf("%w: %s.profile: %q is neither m1 nor pip486", ErrInvalid, at, clip(*rec.Profile))
		}
	}
	if rec.CutCap != nil {
		if *rec.CutCap < 0 || *rec.CutCap > 1<<31-1 {
			return fmt.Errorf("%w: %s.cutCap: %d is not in 0..%d", ErrInvalid, at, *rec.CutCap, 1<<31-1)
		}
		s.CutCap = uint32(*rec.CutCap)
	}
	list, field := w.Splits, fmt.Sprintf("segments.%d.entryBucketSplits", s.ID)
	if list == nil {
		list, field = rec.Starts, at+".bucketStarts"
	}
	if list == nil {
		return nil
	}
	buckets, err := starts(*list, field)
	if s.Profile == keyhash.PIP486 {
		s.Buckets = buckets
	}
	return err
}

func ids(in []int64, field string) ([]uint64, error) {
	if len(in) == 0 {
		return nil, nil
	}
	if len(in) > MaxEdges {
		return nil, fmt.Errorf("%w: %s: %d are above the cap of %d", ErrInvalid, field, len(in), MaxEdges)
	}
	out := make([]uint64, len(in))
	for i, v := range in {
		if v < 0 {
			return nil, fmt.Errorf("%w: %s[%d]: %d is no segment id", ErrInvalid, field, i, v)
		}
		out[i] = uint64(v)
	}
	return out, nil
}

func starts(in []int64, field string) ([]uint16, error) {
	if len(in) == 0 {
		return nil, nil
	}
	if len(in) > 0xFFFF {
		return nil, fmt.Errorf("%w: %s: %d are above the cap of 65535", ErrInvalid, field, len(in))
	}
	out := make([]uint16, len(in))
	last := int64(0)
	for i, v := range in {
		if v <= last || v > 0xFFFF {
			return nil, fmt.Errorf("%w: %s[%d]: %d is not in %d..65535", ErrInvalid, field, i, v, last+1)
		}
		out[i], last = uint16(v), v
	}
	return out, nil
}

// decode reads one JSON value into v. Its errors name the field below at, or the
// byte where b is no JSON at all.
func decode(b []byte, at string, v any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return fmt.Errorf("%w: empty", ErrSyntax)
	}
	err := json.Unmarshal(b, v)
	if err == nil {
		return nil
	}
	if syn, ok := errors.AsType[*json.SyntaxError](err); ok {
		if at == "" {
			return fmt.Errorf("%w: byte %d: %s", ErrSyntax, syn.Offset, syn.Error())
		}
		return fmt.Errorf("%w: %s: byte %d: %s", ErrSyntax, at, syn.Offset, syn.Error())
	}
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.Trim(at+"."+typ.Field, ".")
		return fmt.Errorf("%w: %s: a %s where %s is wanted", ErrSyntax, field, typ.Value, typ.Type)
	}
	return fmt.Errorf("%w: %s: %w", ErrSyntax, at, err)
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40]
	}
	return s
}
