// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/placement"
	"georep/core/window"
	"georep/internal/entrytest"
)

// cutInto offers one batch to a remote of n segments and returns what arrives.
func cutInto(t *testing.T, n int, b *entrytest.Batch) (*rig, []message) {
	t.Helper()
	r := newRig(t, ring(t, keyhash.M1, n), nil)
	r.offer(b.Bytes())
	r.storeAll()
	return r, r.received()
}

// TestFault14NullValueInABatch: a message without a value is one, and takes
// nobody with it.
func TestFault14NullValueInABatch(t *testing.T) {
	for n := 1; n <= 4; n += 3 {
		b := spread(keyhash.M1)
		b.Messages[1].NullValue, b.Messages[1].Body = true, nil
		r, got := cutInto(t, n, b)
		r.drained()
		sameBodies(t, got, "b0", "", "b2", "b3")
		for _, m := range got {
			if m.NullValue != (m.body == "") || m.body == "" && string(m.PartitionKey) != b.Messages[1].Key {
				t.Errorf("%q: null value %v, key %q", m.body, m.NullValue, m.PartitionKey)
			}
		}
	}
}

// TestFault15NullKeysInAKeyedBatch: messages with a null key, and without one,
// among keyed ones keep what they are and go where keyless ones go.
func TestFault15NullKeysInAKeyedBatch(t *testing.T) {
	b := batchOf("", keyAt(keyhash.M1, 2, 1), "", keyAt(keyhash.M1, 3, 1))
	b.Messages[0] = entrytest.Message{NullKey: true, Seq: 1, Body: []byte("null")}
	b.Messages[2] = entrytest.Message{Seq: 2, Body: []byte("none")}
	r := newRig(t, ring(t, keyhash.M1, 4), func(c *window.Config) { c.Source.Range.Start = 0x8000 })
	r.offer(b.Bytes())
	r.storeAll()
	r.drained()
	got := r.received()
	sameBodies(t, got, "null", "b1", "none", "b3")
	for _, m := range got {
		if m.NullPartitionKey != (m.body == "null") || m.HasPartitionKey == (m.body == "null" || m.body == "none") {
			t.Errorf("%q: null key %v, key %q", m.body, m.NullPartitionKey, m.PartitionKey)
		}
		if !m.HasPartitionKey && m.segment != 3 {
			t.Errorf("%q lies in segment %d, what has no key goes to the source's start, 3", m.body, m.segment)
		}
	}
}

// TestFault16AllCompactedOut: of an entry whose messages are all compacted out
// nothing is left to send, and nothing to wait for.
func TestFault16AllCompactedOut(t *testing.T) {
	b := spread(keyhash.M1)
	for i := range b.Messages {
		b.Messages[i].CompactedOut, b.Messages[i].Body = true, nil
	}
	r, got := cutInto(t, 4, b)
	r.drained()
	if len(got) != 0 || r.w.Counters().DroppedBy[placement.CompactedOut] != 1 {
		t.Errorf("%d messages arrived, %d entries counted", len(got), r.w.Counters().DroppedBy[placement.CompactedOut])
	}
	b.Messages[3].CompactedOut = false
	b.Messages[3].Body = []byte("left")
	r, got = cutInto(t, 4, b)
	r.drained()
	if !slices.Contains(bodies(got), "left") {
		t.Errorf("arrived %q", bodies(got))
	}
}

// TestFault17FramedBatchOfOne: the key of a batch of one is in the batch alone,
// as some clients write it. It goes where its key goes.
func TestFault17FramedBatchOfOne(t *testing.T) {
	for q := range 4 {
		b := batchOf(keyAt(keyhash.M1, q, 1))
		b.NoOuter, b.Stamp = true, false
		r, got := cutInto(t, 4, b)
		r.drained()
		if len(got) != 1 || got[0].body != "b0" || got[0].segment != uint64(q+1) {
			t.Errorf("quarter %d: arrived %+v", q, got)
		}
	}
	f, m := entrytest.Parse(entrytest.Vectors(t, "../interop")["hand-framed-one.hex"])
	src := placement.Source{Cluster: "a", Remote: "b", Profile: keyhash.M1}
	src.Range.End = 0xffff
	d := placement.Place(&src, ring(t, keyhash.M1, 4), &f, &m, 0, &placement.Policy{})
	if d.Action != placement.Rebatch {
		t.Errorf("a framed batch of one is placed by its metadata: %v", d.Action)
	}
}

// TestFault18EncryptedIsNeverOpened: an encrypted LZ4 batch was compressed
// before it was encrypted. Its bytes are no LZ4, and nobody tries: it goes whole
// or is parked for being encrypted.
func TestFault18EncryptedIsNeverOpened(t *testing.T) {
	for segments, fits := range map[int]bool{1: true, 4: false} {
		for _, place := range []bool{false, true} {
			r := newRig(t, ring(t, keyhash.M1, segments), func(c *window.Config) { c.PlaceEncryptedBatch = place })
			r.broke = true // no budget, no opening
			b := spread(keyhash.M1)
			b.Codec, b.Encrypt = codec.LZ4, true
			b.Payload = func(p []byte) []byte {
				for i := range p {
					p[i] ^= 0xa5
				}
				return append(p, "tag of 16 bytes."...)
			}
			raw := b.Bytes()
			p := r.offer(raw)
			switch {
			case r.asked != 0:
				t.Errorf("%d segments, place %v: asked to open it", segments, place)
			case !fits && !place:
				if r.parked[p] != placement.EncryptedBatch {
					t.Errorf("parked %v", r.parked)
				}
			case len(r.sends) != 1:
				t.Errorf("%d segments, place %v: %d sends", segments, place, len(r.sends))
			default:
				was, _ := entrytest.Parse(raw)
				is, m := entrytest.Parse(r.sends[0].raw)
				if string(is.Payload) != string(was.Payload) || !m.Encrypted || m.Compression != codec.LZ4 {
					t.Errorf("the payload or its codec changed")
				}
			}
		}
	}
}

// parkedFor offers an entry that straddles and expects it to be parked.
func parkedFor(t *testing.T, name string, b *entrytest.Batch, want ...placement.Reason) {
	t.Helper()
	r := newRig(t, ring(t, keyhash.M1, 4), nil)
	p := r.offer(b.Bytes())
	if len(r.sends) > 0 || !r.cursor[p] || !slices.Contains(want, r.parked[p]) {
		t.Errorf("%s: %d sends, parked %v, want one of %v", name, len(r.sends), r.parked, want)
	}
}

// TestFault19NoCodecButCompressed: an entry that says NONE and holds compressed
// bytes is not taken apart as if they were messages.
func TestFault19NoCodecButCompressed(t *testing.T) {
	for c := codec.LZ4; c <= codec.Snappy; c++ {
		b := spread(keyhash.M1)
		for i := range b.Messages {
			b.Messages[i].Body = make([]byte, 500)
		}
		b.Payload = func(p []byte) []byte {
			out, err := c.AppendEncode(nil, p)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		parkedFor(t, fmt.Sprint(c), b, placement.Malformed, placement.SizeMismatch)
	}
}

// TestFault20NoUncompressedSize: without it a codec's output can not be checked
// and nothing may be allocated for it; without a codec it is not needed.
func TestFault20NoUncompressedSize(t *testing.T) {
	for c := codec.LZ4; c <= codec.Snappy; c++ {
		b := spread(keyhash.M1)
		b.Codec, b.NoSize = c, true
		parkedFor(t, fmt.Sprint(c), b, placement.Codec)
	}
	b := spread(keyhash.M1)
	b.NoSize = true
	r, got := cutInto(t, 4, b)
	r.drained()
	sameBodies(t, got, "b0", "b1", "b2", "b3")
}

// TestFault21DelayedLZ4Batch: deliver_at_time stays on every part of a
// compressed batch, and the parts' sizes are their own.
func TestFault21DelayedLZ4Batch(t *testing.T) {
	b := spread(keyhash.M1)
	b.Codec, b.Extra = codec.LZ4, entry.AppendVarintField(nil, 19, 1_900_000_000_000)
	r, got := cutInto(t, 4, b)
	r.drained()
	sameBodies(t, got, "b0", "b1", "b2", "b3")
	for _, log := range r.log {
		for _, raw := range log {
			if _, m := entrytest.Parse(raw); !m.HasDeliverAt || m.DeliverAt != 1_900_000_000_000 {
				t.Errorf("a part is delivered at %d", m.DeliverAt)
			}
		}
	}
}

// TestFault22EveryCodecOfEveryClient: batches that Java, C++ and Go clients
// compressed with each codec are cut and compressed again with the same one.
// (Java reading them is everyCodecIsCutAndKept of java-shim/it.)
func TestFault22EveryCodecOfEveryClient(t *testing.T) {
	vectors := entrytest.Vectors(t, "../interop")
	for _, client := range []string{"java", "cpp", "go"} {
		for c := codec.None; c <= codec.Snappy; c++ {
			raw := vectors[fmt.Sprintf("%s-batch-%v.hex", client, c)]
			if raw == nil {
				t.Fatalf("no entry of %s with %v", client, c)
			}
			r := newRig(t, ring(t, keyhash.M1, 16), nil)
			r.offer(raw)
			parts := len(r.sends)
			r.storeAll()
			r.drained()
			sameBodies(t, r.received(), bodies(opened(t, raw))...)
			if parts < 2 {
				t.Errorf("%s %v: %d parts", client, c, parts)
			}
			for _, log := range r.log {
				for _, part := range log {
					if _, m := entrytest.Parse(part); m.Compression != c {
						t.Errorf("%s %v: a part with %v", client, c, m.Compression)
					}
				}
			}
		}
	}
}

// TestFault23EmptyPayloads: payload_size 0 is an empty message, in a batch and
// alone, with every codec.
func TestFault23EmptyPayloads(t *testing.T) {
	for c := codec.None; c <= codec.Snappy; c++ {
		b := spread(keyhash.M1)
		b.Codec = c
		for i := range b.Messages {
			b.Messages[i].Body = nil
		}
		r, got := cutInto(t, 4, b)
		r.offer(single("k1", ""))
		r.storeAll()
		r.drained()
		sameBodies(t, got, "", "", "", "")
		if n := len(r.received()); n != 5 {
			t.Errorf("%v: %d messages arrived, want 5", c, n)
		}
	}
}
