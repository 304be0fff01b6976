// SPDX-License-Identifier: Apache-2.0

package placement

// Action is the path that an entry takes. The numbers are those of the ABI.
type Action uint8

// Actions.
const (
	Verbatim Action = 1 // whole, because it fits
	Single   Action = 2 // whole, to the segment of its outer key; never opened
	Unkeyed  Action = 3 // whole, a batch in which no message has a key
	Rebatch  Action = 4 // opened and cut into parts
	Park     Action = 5 // kept behind the cursor until an operator decides
	Drop     Action = 6 // must not travel
)

var actionNames = [...]string{"unknown", "verbatim", "single", "unkeyed", "rebatch", "park", "drop"}

// String returns the action in lower case.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return actionNames[0]
}

// Reason says why an entry takes its path. The list is closed and append-only;
// the numbers are those of the ABI.
type Reason uint16

// Reasons.
const (
	OK Reason = 0

	// Drop.
	Replicated         Reason = 1 // it was replicated to here
	NotInReplicateTo   Reason = 2 // its replicate_to does not list the remote
	Marker             Reason = 3 // a marker of transactions or replicated subscriptions
	TransactionAborted Reason = 4 // flag TxnAborted
	TimeToLive         Reason = 5 // flag Expired
	CompactedOut       Reason = 6 // every message in it is compacted out

	// Rebatch.
	SegmentMisfit   Reason = 7  // no destination covers the source segment
	BucketMisfit    Reason = 8  // the stamp spans buckets of the destination
	Unstamped       Reason = 9  // nothing says which buckets it touches
	UnkeyedUnproven Reason = 10 // it may have no keys, and has to be opened to know
	TooLarge        Reason = 11 // whole it is above the destination's message size; on Park: above a cap of ours
	Masked          Reason = 12 // some of its messages are stored already

	// Park.
	Malformed         Reason = 13 // it can not be parsed
	EncryptedBatch    Reason = 14 // it does not fit and can not be cut; on Single: placed by policy
	ChunkIncomplete   Reason = 15 // its chunked message can never be complete
	NoDestination     Reason = 16 // no segment that may be written to holds its hash
	Codec             Reason = 17 // it can not be decompressed
	SizeMismatch      Reason = 18 // it decompresses to another size than it says
	Checksum          Reason = 19 // its checksum is wrong
	Overtaken         Reason = 20 // something later of its segment is stored already
	TooLargeSingle    Reason = 21 // above the destination's message size and can not be cut
	LegacyDestination Reason = 22 // the destination routes by modulo
)

var reasonNames = [...]string{
	OK: "ok",

	Replicated: "replicated", NotInReplicateTo: "not-in-replicate-to", Marker: "marker",
	TransactionAborted: "txn-aborted", TimeToLive: "expired", CompactedOut: "compacted-out",

	SegmentMisfit: "segment-misfit", BucketMisfit: "bucket-misfit", Unstamped: "unstamped",
	UnkeyedUnproven: "unkeyed-unproven", TooLarge: "too-large", Masked: "masked",

	Malformed: "malformed", EncryptedBatch: "encrypted-batch", ChunkIncomplete: "chunk-incomplete",
	NoDestination: "no-destination", Codec: "codec", SizeMismatch: "size-mismatch",
	Checksum: "checksum", Overtaken: "overtaken", TooLargeSingle: "too-large-single",
	LegacyDestination: "legacy-destination",
}

// Reasons returns every reason in the order of its number.
func Reasons() []Reason {
	out := make([]Reason, len(reasonNames))
	for i := range out {
		out[i] = Reason(i)
	}
	return out
}

// String returns the reason's name in JSON and status.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}
