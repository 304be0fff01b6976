// SPDX-License-Identifier: Apache-2.0

package window

import (
	"georep/core/entry"
	"georep/core/placement"
)

// Action is one thing for the driver to do. Which fields are set depends on Kind.
type Action struct {
	Kind     ActionKind
	Path     placement.Action // Send: verbatim, single, unkeyed or rebatch
	Reason   placement.Reason // Send, Parked
	SendID   uint64           // Send: names the send in Outcome; rises by one
	Segment  uint64           // Send, AskWatermark, CloseProducer: destination segment
	Bucket   int              // Send: bucket of Segment
	Position entry.Position   // Send, Delete, Release, Parked
	Part     int64            // Send: part number, entry.Whole for an entry sent whole
	Messages int              // Send: number of messages in the entry
	Header   []byte           // Send: in the arena, valid until the arena is used again
	Payload  []byte           // Send: in the offered entry's memory, or in the arena for parts
	Bytes    int64            // AskBudget: decompressed bytes
	Passed   bool             // Parked: later entries go on past it, so a drain gate does not count it
	Version  []byte           // AskSchema: schema version of the source cluster
}
