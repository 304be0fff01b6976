// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Parked is what the plugin says of the parked entries of a topic.
type Parked struct {
	Topic, Cluster string
	Parked         []*ParkedEntry
	ParkedTotal    Number // the first of each segment are listed
	Errors         []struct {
		Segment Number
		Error   string
	}
}

// ParkedEntry is one (entry, remote).
type ParkedEntry struct {
	Segment  Number
	Range    string // "8000-ffff"
	Remote   string
	Position string // "5:17"
	Reason   string
	Since    time.Time // when its broker found that it can not be placed
	Size     Number    // of the stored entry, bytes
	Head     string    // its first bytes in hexadecimal
	Error    string    // why it could not be read
}

// ParseParked reads the answer of the parked call. Errors wrap [ErrJSON].
func ParseParked(answer []byte) (*Parked, error) {
	var p Parked
	if err := json.Unmarshal(answer, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if p.Topic == "" {
		return nil, fmt.Errorf("%w: no topic", ErrJSON)
	}
	return &p, nil
}

// hexLine is how many bytes of a head a line shows, so that it fits [Width].
const hexLine = 32

// Print writes a line for each entry and below it the head and what to do.
func (p *Parked) Print() string {
	var b strings.Builder
	t := table{columns: []column{{name: "POSITION"}, {name: "SEGMENT"}, {name: "REMOTE", max: 24}, {name: "REASON"},
		{name: "SINCE"}, {name: "BYTES", number: true}}}
	for _, e := range p.Parked {
		since := "?"
		if !e.Since.IsZero() {
			since = e.Since.UTC().Format("2006-01-02T15:04:05Z")
		}
		size := "?"
		var notes []string
		if e.Error == "" {
			size = fmt.Sprint(int64(e.Size))
			for h := e.Head; h != ""; h = h[min(2*hexLine, len(h)):] {
				notes = append(notes, h[:min(2*hexLine, len(h))])
			}
			if int64(e.Size) > int64(len(e.Head)/2) {
				notes[len(notes)-1] += " # and so on"
			}
		} else {
			notes = append(notes, "can not be read: "+e.Error)
		}
		notes = append(notes, "# "+Hint(e.Reason))
		t.add(notes, e.Position, fmt.Sprintf("%s-%d", e.Range, e.Segment), e.Remote, e.Reason, since, size)
	}
	if len(p.Parked) > 0 {
		t.appendTo(&b)
	}
	for _, e := range p.Errors {
		b.WriteString(Cut(fmt.Sprintf("segment %d could not be asked: %s", e.Segment, e.Error), Width) + "\n")
	}
	switch more := int(p.ParkedTotal) - len(p.Parked); {
	case more > 0:
		fmt.Fprintf(&b, "%d parked, %d of them not listed\n", p.ParkedTotal, more)
	case len(p.Errors) == 0 || len(p.Parked) > 0:
		fmt.Fprintf(&b, "%d parked\n", p.ParkedTotal)
	}
	return b.String()
}

// hints say for each reason of a parked entry what it means and what helps.
var hints = map[string]string{
	"malformed":          "its header or metadata does not parse; look with georep inspect, skip it if it is no message",
	"too-large":          "above georepMaxEntryBytes, -DecompressedBytes or -MessagesPerBatch: raise the key and restart, or skip",
	"codec":              "it can not be decompressed: the bytes are damaged, or the codec is not what they say; skip",
	"size-mismatch":      "it decompresses to another size than it declares: the bytes are damaged; skip",
	"checksum":           "its checksum is wrong at both ends: damaged after it was published; restore the ledger, or skip",
	"encrypted-batch":    "it straddles a boundary of the remote and can not be opened; georepEncryptedBatchPolicy=place, or split here",
	"chunk-incomplete":   "chunks of this message are missing and can not come any more; skip each chunk",
	"too-large-single":   "above the remote's maxMessageSize and no batch: raise it there, or skip",
	"no-destination":     "no active segment of the remote takes its hash: look at the layout there; goes by itself when one does",
	"legacy-destination": "the remote's segment is of the old kind (PIP-475): migrate the topic there; goes by itself then",
	"overtaken":          "the remote has something later of this segment: compare with georep verify before you skip",
}

// Hint returns one line on what a parked entry's reason means.
func Hint(reason string) string {
	if h, ok := hints[reason]; ok {
		return h
	}
	return "this version of the command does not know the reason"
}
