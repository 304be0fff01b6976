// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"encoding/json"
	"fmt"
	"strconv"

	"georep/core/keyhash"
	"georep/core/layout"
)

// Topic properties that convergence keeps in Pulsar's own record of the topic.
const (
	InstanceProperty = "georep.instance" // written before, by the controller leader
	TermProperty     = "georep.term"     // raised by every controller leader before it leads
	SplitsProperty   = "georep.splits"   // [[boundary, start, end of the range that it cut], …]
	MarksProperty    = "georep.marks"    // [{"boundary": b, "until": ms} | {"segment": start, "starts": […], "until": ms}, …]
)

// maxMarks bounds the manual marks of a topic.
const maxMarks = MaxSegments

// wireMark is a mark as the property has it.
type wireMark struct {
	Boundary uint16   `json:"boundary,omitempty"`
	Segment  uint16   `json:"segment,omitempty"`
	Starts   []uint16 `json:"starts,omitempty"`
	Until    int64    `json:"until"`
}

// ParseRecord reads Pulsar's ScalableTopicMetadata JSON, as the store has it, with
// our properties in it; nextID is the id of the next segment. Segments that record
// no profile have the one given. Errors wrap [layout.ErrSyntax] or
// [layout.ErrInvalid] and name the field.
func ParseRecord(b []byte, profile keyhash.Profile) (l Local, nextID uint64, err error) {
	if l.Layout, err = layout.ParsePulsarAs(b, profile); err != nil {
		return l, 0, err
	}
	var top struct {
		Next       *uint64           `json:"nextSegmentId"`
		Properties map[string]string `json:"properties"`
	}
	if err := json.Unmarshal(b, &top); err != nil {
		return l, 0, fmt.Errorf("%w: %w", layout.ErrSyntax, err)
	}
	for _, s := range l.Layout.Segments() {
		nextID = max(nextID, s.ID+1)
	}
	if top.Next != nil {
		nextID = max(nextID, *top.Next)
	}
	l.Instance = top.Properties[InstanceProperty]
	if t := top.Properties[TermProperty]; t != "" {
		if l.Term, err = strconv.ParseUint(t, 10, 64); err != nil {
			return l, 0, fmt.Errorf("%w: properties.%s: %w", layout.ErrSyntax, TermProperty, err)
		}
	}
	if l.Splits, err = parseSplits(top.Properties[SplitsProperty]); err != nil {
		return l, 0, err
	}
	l.Marks, err = parseMarks(top.Properties[MarksProperty])
	return l, nextID, err
}

func parseSplits(text string) (layout.SplitLog, error) {
	if text == "" {
		return nil, nil
	}
	var wire [][3]uint16
	if err := json.Unmarshal([]byte(text), &wire); err != nil {
		return nil, fmt.Errorf("%w: properties.%s: %w", layout.ErrSyntax, SplitsProperty, err)
	}
	if len(wire) > MaxSegments {
		return nil, fmt.Errorf("%w: properties.%s: %d are above the cap of %d", layout.ErrInvalid, SplitsProperty,
			len(wire), MaxSegments)
	}
	log := make(layout.SplitLog, len(wire))
	for i, w := range wire {
		log[i] = layout.Cut{At: w[0], Parent: layout.Range{Start: w[1], End: w[2]}}
	}
	if err := log.Check(); err != nil {
		return nil, fmt.Errorf("properties.%s: %w", SplitsProperty, err)
	}
	return log, nil
}

func parseMarks(text string) ([]Mark, error) {
	if text == "" {
		return nil, nil
	}
	var wire []wireMark
	if err := json.Unmarshal([]byte(text), &wire); err != nil {
		return nil, fmt.Errorf("%w: properties.%s: %w", layout.ErrSyntax, MarksProperty, err)
	}
	if len(wire) > maxMarks {
		return nil, fmt.Errorf("%w: properties.%s: %d are above the cap of %d", layout.ErrInvalid, MarksProperty,
			len(wire), maxMarks)
	}
	marks := make([]Mark, len(wire))
	for i, w := range wire {
		marks[i] = Mark{Boundary: w.Boundary, Segment: w.Segment, Starts: w.Starts, UntilMillis: w.Until}
	}
	return marks, nil
}

// Properties returns what is to be set with the mutation: our split log and marks,
// and a record of every child, whose ids are firstID and up, in the order of the
// operations. An empty value means that the property goes.
func (mu *Mutation) Properties(firstID uint64, profile keyhash.Profile, cutCap uint32) (map[string]string, error) {
	splits := make([][3]uint16, len(mu.Splits))
	for i, c := range mu.Splits {
		splits[i] = [3]uint16{c.At, c.Parent.Start, c.Parent.End}
	}
	marks := make([]wireMark, len(mu.Marks))
	for i, k := range mu.Marks {
		marks[i] = wireMark{Boundary: k.Boundary, Segment: k.Segment, Starts: k.Starts, Until: k.UntilMillis}
	}
	out := map[string]string{}
	if err := put(out, SplitsProperty, splits, len(splits) == 0); err != nil {
		return nil, err
	}
	if err := put(out, MarksProperty, marks, len(marks) == 0); err != nil {
		return nil, err
	}
	for _, op := range mu.Ops {
		for _, c := range op.Children {
			record := struct {
				Profile string   `json:"profile"`
				Starts  []uint16 `json:"bucketStarts"`
				CutCap  uint32   `json:"cutCap"`
			}{profile.String(), append([]uint16{}, c.Buckets...), cutCap}
			if err := put(out, layout.SegmentProperty+strconv.FormatUint(firstID, 10), record, false); err != nil {
				return nil, err
			}
			firstID++
		}
	}
	return out, nil
}

func put(out map[string]string, name string, value any, empty bool) error {
	if empty {
		out[name] = ""
		return nil
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("properties.%s: %w", name, err)
	}
	out[name] = string(b)
	return nil
}
