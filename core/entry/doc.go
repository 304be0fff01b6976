// SPDX-License-Identifier: Apache-2.0

// Package entry reads and writes the entries of a Pulsar ledger: frame,
// metadata, batch contents, and the origin record of a replicated entry. It
// works on the raw bytes: what it does not know survives.
//
//	all numbers big-endian
//	+--------+-------+-----------------------+   only as read from a ledger,
//	| 0x0e02 | u32 n | BrokerEntryMetadata n |   never sent to a broker
//	+--------+-------+-----------------------+
//	| 0x0e01 | crc32c                        |   optional; over all that follows
//	+--------+-------+-----------------------+
//	| u32 m          | MessageMetadata m     |
//	+----------------+-----------------------+
//	| payload: one body, or (u32 s | SingleMessageMetadata s | body)*,
//	|          compressed first, encrypted after
//	+----------------------------------------+
//
// An entry is a batch where field 11 (num_messages_in_batch) is present,
// whatever it says.
//
// Metadata is protobuf read as Pulsar's LightProto reads it: the last
// occurrence of a field wins, a known field with another wire type is an
// unknown one, groups are refused, a missing required field is an error, 1 alone
// is true. It is stricter in what no writer does: field number 0, varints above
// ten bytes, lengths and field numbers beyond 32 bits are refused. What Java
// refuses is refused here too, but for the bytes inside a string.
//
// Every byte slice that a reader returns aliases its input and lives as long
// as that. Readers and the splicer allocate nothing, except where a comment
// says so. Nothing here keeps state between calls; all functions may be called
// from any number of threads at once.
//
// Source: Commands, MessageMetadata and SingleMessageMetadata of pulsar-common.
package entry
