// SPDX-License-Identifier: Apache-2.0

package window

// Outcome is what became of one send.
type Outcome uint8

// Outcomes. After any of them but Acked and Duplicate the driver closes the
// destination's producer, so that every other send in flight to it gets an
// outcome of its own.
const (
	Acked         Outcome = 1 // stored by this attempt
	Duplicate     Outcome = 2 // the destination says that it had it already
	Refused       Outcome = 3 // certainly not stored by this attempt
	Unknown       Outcome = 4 // may or may not have been stored
	TooLarge      Outcome = 5 // above the destination's message size
	ChecksumError Outcome = 6 // the destination found bytes that do not match the checksum
)

// WatermarkStatus says what a destination answered to AskWatermark.
type WatermarkStatus uint8

// Watermark answers.
const (
	WatermarkKnown    WatermarkStatus = 1 // sealed; position and part are final
	WatermarkNone     WatermarkStatus = 2 // sealed; nothing of this dedup key is stored
	WatermarkNotFinal WatermarkStatus = 3 // not sealed yet: ask again later
	WatermarkGone     WatermarkStatus = 4 // pruned: can not be known any more
	WatermarkFailed   WatermarkStatus = 5 // no answer: ask again later
)

// Block says why nothing may be written to the remote at all.
type Block uint8

// Blocks; SetRemote clears them.
const (
	BlockNone         Block = 0
	BlockHandshake    Block = 1 // the remote has not answered yet
	BlockUnsupported  Block = 2 // the remote does not run the plugin
	BlockIncompatible Block = 3 // it does, and must not be written to
	BlockDenied       Block = 4 // it refuses this cluster's credentials
)

// ActionKind tells what the driver has to do.
type ActionKind uint8

// Actions.
const (
	Send          ActionKind = 1  // publish Header and Payload to Segment, answer with Outcome
	Delete        ActionKind = 2  // delete Position from the cursor, answer Deleted or DeleteFailed
	Release       ActionKind = 3  // the memory of the entry at Position is no longer used
	AskBudget     ActionKind = 4  // ask the budget for Bytes, answer Granted
	ReturnBudget  ActionKind = 5  // give the slot back, or withdraw the request
	AskWatermark  ActionKind = 6  // ask Segment for our last stored position, answer Watermark
	AskSchema     ActionKind = 7  // translate schema Version, answer SchemaMapped or SchemaFailed
	CloseProducer ActionKind = 8  // nothing more goes to Segment
	Parked        ActionKind = 9  // Position was parked for Reason: tell the operator
	Lapse         ActionKind = 10 // Bytes entries up to Position have left the cursor and were never sent: tell the operator
)

var actionNames = [...]string{"none", "send", "delete", "release", "ask-budget", "return-budget",
	"ask-watermark", "ask-schema", "close-producer", "parked", "lapse"}

// String returns the kind in lower case.
func (k ActionKind) String() string {
	if int(k) < len(actionNames) {
		return actionNames[k]
	}
	return "unknown"
}
