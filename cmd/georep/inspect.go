// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"

	"github.com/spf13/cobra"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/rebatch"
)

func init() { commands = append(commands, newInspect) }

func newInspect() *cobra.Command {
	profile := "m1"
	c := &cobra.Command{
		Use:   "inspect ENTRY",
		Short: "Print an entry as JSON: frame, metadata, messages with the hashes of their keys",
		Long: `Inspect prints one entry as JSON.

ENTRY is a file with the entry's bytes or with hexadecimal text (white space and
comments from '#', ';' or "//" are skipped); "-" is standard input.

frame     brokerEntryMetadata (or null), checksum (or null), checksumValid,
          metadataSize, payloadSize
metadata  every field that is present, under its name in PulsarApi.proto; bytes are
          base64, fields that Pulsar does not have are listed under unknown_fields
messages  one object for each message. hash is the raw Murmur3 of the key's text,
          segmentHash its half under --profile, bucketHash the low half of the hash
          of the ordering key, else of the key; 0 without a key. orderingKey is
          base64. Sizes and SHA-256 are those of the decompressed body.
opaque    "encrypted" or "chunk" where the payload can not be read, else absent; an
          encrypted batch then has no messages, and bodies have no size and hash`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := keyhash.ParseProfile(profile)
			if err != nil {
				return badUsage("--profile: %w", err)
			}
			raw, err := readEntry(args[0], c.InOrStdin())
			if err != nil {
				return badInput(args[0], err)
			}
			out, err := inspect(raw, p)
			if err != nil {
				return badInput(args[0], err)
			}
			return printJSON(c.OutOrStdout(), out)
		},
	}
	c.Flags().StringVar(&profile, "profile", profile, "routing profile for segmentHash: m1 or pip486")
	return c
}

// inspect describes an entry. Errors name the byte.
func inspect(raw []byte, p keyhash.Profile) (object, error) {
	f, err := entry.ParseFrame(raw, 0)
	if err != nil {
		return nil, err
	}
	var m entry.Metadata
	if err := m.Parse(f.Metadata); err != nil {
		return nil, shift(err, f.MetadataOffset())
	}
	frame, err := describeFrame(&f)
	if err != nil {
		return nil, err
	}
	meta, err := describeMetadata(f.Metadata)
	if err != nil {
		return nil, shift(err, f.MetadataOffset())
	}
	out := object{{"frame", frame}, {"metadata", meta}}
	switch {
	case m.Encrypted:
		out.put("opaque", "encrypted")
	case m.HasChunk:
		out.put("opaque", "chunk")
	}
	messages, err := describeMessages(&f, &m, p)
	if err != nil {
		return nil, err
	}
	out.put("messages", messages)
	return out, nil
}

func describeFrame(f *entry.Frame) (object, error) {
	out := object{{"brokerEntryMetadata", nil}, {"checksum", nil}, {"checksumValid", nil}}
	if f.BrokerMetadata != nil {
		var b entry.BrokerMetadata
		if err := b.Parse(f.BrokerMetadata); err != nil {
			return nil, shift(err, 6)
		}
		broker := object{}
		if b.HasTimestamp {
			broker.put("broker_timestamp", b.Timestamp)
		}
		if b.HasIndex {
			broker.put("index", b.Index)
		}
		out.set("brokerEntryMetadata", broker)
	}
	if f.HasChecksum {
		out.set("checksum", f.Checksum)
		out.set("checksumValid", f.ChecksumValid())
	}
	out.put("metadataSize", len(f.Metadata))
	out.put("payloadSize", len(f.Payload))
	return out, nil
}

// describeMessages lists what is in the payload, as far as it can be read.
func describeMessages(f *entry.Frame, m *entry.Metadata, p keyhash.Profile) ([]object, error) {
	out := []object{}
	switch {
	case m.HasBatch && m.Encrypted:
		return out, nil
	case m.HasBatch && !m.HasChunk:
		var b rebatch.Batch
		src := placement.Source{Range: layout.Ring, Profile: p}
		if err := b.Open(&src, f, m, rebatch.Limits{}); err != nil {
			return nil, err
		}
		for i := range b.Len() {
			raw := b.Bytes(i)
			size := int(binary.BigEndian.Uint32(raw))
			o, err := describeBatched(i, raw[4:4+size], raw[4+size:], p)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
		return out, nil
	}
	body := f.Payload
	if m.Encrypted || m.HasChunk {
		body = nil
	} else if m.Compression != codec.None {
		if !m.HasUncompressedSize || m.UncompressedSize > maxFile {
			return nil, &rebatch.Error{Offset: f.MetadataOffset(), Err: fmt.Errorf("%w: codec %s without a sane uncompressed_size", rebatch.ErrSize, m.Compression)}
		}
		var err error
		if body, err = m.Compression.AppendDecode(nil, body, int(m.UncompressedSize)); err != nil {
			return nil, &rebatch.Error{Offset: len(f.Raw) - len(f.Payload), Err: err}
		}
	}
	o, err := describeSingle(f, m, body, p)
	return append(out, o), err
}
