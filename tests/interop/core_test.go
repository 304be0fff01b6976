// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"georep/core/entry"
)

// command is the georep command, between two layouts.
type command struct {
	path, dir            string
	layout, sourceLayout string // files
	topic                string // scalable topic of the destination
}

// stored is an entry as the destination stores it.
type stored struct {
	segment int
	raw     []byte
}

func (c *command) run(t *testing.T, out any, args ...string) {
	t.Helper()
	b, err := exec.Command(c.path, args...).Output()
	if err != nil {
		detail := ""
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			detail = string(e.Stderr)
		}
		t.Fatalf("georep %s: %v %s", strings.Join(args, " "), err, detail)
	}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
}

func (c *command) inspect(t *testing.T, raw []byte) (e inspected) {
	t.Helper()
	file := filepath.Join(c.dir, "inspect.bin")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	c.run(t, &e, "inspect", file)
	return e
}

type inspected struct {
	Frame    map[string]any   `json:"frame"`
	Metadata map[string]any   `json:"metadata"`
	Messages []map[string]any `json:"messages"`
	Opaque   string           `json:"opaque"`
}

// replicate is what the core makes of an entry, checked with inspect: nothing of
// a message changes, whatever its clients hide. The action is returned.
func (c *command) replicate(t *testing.T, position string, raw []byte) (action string, out []stored) {
	t.Helper()
	file, dir := filepath.Join(c.dir, "entry.bin"), filepath.Join(c.dir, "out")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{
		file, "--layout", c.layout, "--source-layout", c.sourceLayout, "--source-segment", "0", "--topic", c.topic,
		"--position", position, "--encrypted-batch-policy", "place", "-o", dir,
	}
	var placed struct {
		Action, Reason string
		Segment        *int
	}
	c.run(t, &placed, append([]string{"place"}, args...)...)
	source := c.inspect(t, raw)
	if placed.Segment != nil {
		b, err := os.ReadFile(filepath.Join(dir, "entry.bin"))
		if err != nil {
			t.Fatal(err)
		}
		c.compareWhole(t, position, source, c.inspect(t, b))
		return placed.Action, []stored{{*placed.Segment, b}}
	}
	if placed.Action != "rebatch" {
		t.Errorf("entry %s: %s (%s)", position, placed.Action, placed.Reason)
		return placed.Action, nil
	}
	var parts []struct {
		File    string
		Segment int
		Indexes []int
	}
	c.run(t, &parts, append([]string{"rebatch"}, args...)...)
	seen := map[int]bool{}
	for _, p := range parts {
		b, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			t.Fatal(err)
		}
		c.comparePart(t, position, source, c.inspect(t, b), p.Indexes)
		for _, i := range p.Indexes {
			seen[i] = true
		}
		out = append(out, stored{p.Segment, b})
	}
	for i := range source.Messages {
		if !seen[i] && source.Messages[i]["compactedOut"] != true {
			t.Errorf("entry %s: message %d is in no part", position, i)
		}
	}
	return placed.Action, out
}

// outside is what of the metadata does not belong to the splice.
func outside(m map[string]any) map[string]any {
	m = maps.Clone(m)
	delete(m, "replicated_from")
	var kept []any
	for _, p := range asList(m["properties"]) {
		switch p.(map[string]any)["key"] {
		case entry.OriginProperty, entry.SourcePositionProperty:
		default:
			kept = append(kept, p)
		}
	}
	delete(m, "properties")
	if kept != nil {
		m["properties"] = kept
	}
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func (c *command) compareWhole(t *testing.T, position string, a, b inspected) {
	t.Helper()
	if !reflect.DeepEqual(outside(a.Metadata), outside(b.Metadata)) {
		t.Errorf("entry %s: metadata\n%v\n%v", position, a.Metadata, b.Metadata)
	}
	if a.Frame["payloadSize"] != b.Frame["payloadSize"] || b.Frame["checksumValid"] != true {
		t.Errorf("entry %s: frame\n%v\n%v", position, a.Frame, b.Frame)
	}
	for i := range a.Messages {
		// an unbatched entry's message shows the entry's properties
		delete(a.Messages[i], "properties")
		delete(b.Messages[i], "properties")
	}
	if !reflect.DeepEqual(a.Messages, b.Messages) {
		t.Errorf("entry %s: messages\n%v\n%v", position, a.Messages, b.Messages)
	}
	c.compareOrigin(t, position, b)
}

// comparePart looks at what a part takes over from its batch, and at each message.
func (c *command) comparePart(t *testing.T, position string, source, part inspected, indexes []int) {
	t.Helper()
	for _, field := range []string{"producer_name", "publish_time", "schema_version", "schema_id", "replicate_to"} {
		if !reflect.DeepEqual(source.Metadata[field], part.Metadata[field]) {
			t.Errorf("entry %s: %s is %v, was %v", position, field, part.Metadata[field], source.Metadata[field])
		}
	}
	if len(part.Messages) != len(indexes) || part.Metadata["num_messages_in_batch"] != float64(len(indexes)) {
		t.Errorf("entry %s: %d messages of %v in a part", position, len(part.Messages), indexes)
		return
	}
	// the field lists what compaction has kept
	var kept []any
	for i, from := range indexes {
		if slices.Contains(asList(source.Metadata["compacted_batch_indexes"]), any(float64(from))) {
			kept = append(kept, float64(i))
		}
	}
	if !reflect.DeepEqual(kept, asList(part.Metadata["compacted_batch_indexes"])) {
		t.Errorf("entry %s: %v of %v kept, not %v", position, part.Metadata["compacted_batch_indexes"], indexes, kept)
	}
	if part.Frame["checksumValid"] != true {
		t.Errorf("entry %s: frame %v", position, part.Frame)
	}
	for i, m := range part.Messages {
		want := maps.Clone(source.Messages[indexes[i]])
		want["index"] = m["index"]
		if !reflect.DeepEqual(m, want) {
			t.Errorf("entry %s, message %d:\n got %v\nwant %v", position, indexes[i], m, want)
		}
	}
	c.compareOrigin(t, position, part)
}

func (c *command) compareOrigin(t *testing.T, position string, e inspected) {
	t.Helper()
	n := 0
	for _, p := range asList(e.Metadata["properties"]) {
		p := p.(map[string]any)
		if p["key"] == entry.SourcePositionProperty {
			n++
			if v := p["value"].(string); v != position && !strings.HasPrefix(v, position+":") {
				t.Errorf("entry %s: source position %s", position, v)
			}
		}
	}
	if n != 1 || e.Metadata["replicated_from"] != "source" {
		t.Errorf("entry %s: %d source positions, replicated from %v", position, n, e.Metadata["replicated_from"])
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func positionOf(i int) string { return fmt.Sprintf("7:%d", i) }
