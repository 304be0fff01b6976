// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"slices"
	"testing"

	"georep/core/codec"
	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
	"georep/internal/entrytest"
)

// TestFault08OriginsInterleaved: two origins that send to one segment in turn,
// and two producers behind one origin whose sequence ids are each other's, are
// told apart by the origin's position alone.
func TestFault08OriginsInterleaved(t *testing.T) {
	table := dedup.New("segment://t/n/x/0000-ffff-1", 0)
	keys := []dedup.Key{{Cluster: "a", Instance: "i", Segment: 1, Generation: 1},
		{Cluster: "c", Instance: "i", Segment: 1, Generation: 1}, {Cluster: "a", Instance: "i", Segment: 2, Generation: 1}}
	for i := range int64(100) {
		for n, k := range keys {
			p := entry.Position{Ledger: 3, Entry: i * int64(3-n)} // one runs far ahead of the others
			if v := table.Check(k, p, entry.Whole); v != dedup.Fresh {
				t.Fatalf("%v of %+v: %v", p, k, v)
			}
			table.Persisted(k, p, entry.Whole)
			if v := table.Check(k, p, entry.Whole); v != dedup.Duplicate {
				t.Fatalf("%v of %+v again: %v", p, k, v)
			}
		}
	}
	r := newRig(t, ring(t, keyhash.M1, 1), nil)
	var want []string
	for i := range 20 {
		m := entrytest.Keyed("k1", int64(1000-500*(i%2)), fmt.Append(nil, "v", i)) // 1000, 500, 1000, 500 …
		r.offer((&entrytest.Single{Message: m}).Bytes())
		want = append(want, fmt.Sprint("v", i))
	}
	r.storeAll()
	r.drained()
	if got := bodies(r.received()); !slices.Equal(got, want) {
		t.Errorf("arrived %q, want %q", got, want)
	}
}

// TestFault09MarkerBetweenMessages: [message, marker, message] when the
// connection breaks. Receipts go to the messages, the marker leaves the cursor by
// itself, and nothing is lost.
func TestFault09MarkerBetweenMessages(t *testing.T) {
	marker := (&entrytest.Single{Message: entrytest.Keyed("k1", 1, []byte("snapshot")),
		Extra: entry.AppendVarintField(nil, 20, 10)}).Bytes()
	for _, stored := range []int{0, 1, 2} {
		r := newRig(t, ring(t, keyhash.M1, 1), nil)
		first, mark, second := r.offer(single("k1", "m1")), r.offer(marker), r.offer(single("k1", "m2"))
		if len(r.sends) != 2 || r.cursor[mark] || !r.cursor[first] || !r.cursor[second] {
			t.Fatalf("%d sends; behind the cursor %v", len(r.sends), r.cursor)
		}
		for i := range stored {
			r.write(&r.sends[i]) // stored; the receipt is lost with the connection
		}
		r.outcome(window.Unknown)
		r.outcome(window.Unknown)
		r.tick(1000)
		if s := r.outcome(r.write(&r.sends[0])); s.pos != first || r.cursor[first] || !r.cursor[second] {
			t.Fatalf("the first receipt is for %v; behind the cursor %v", s.pos, r.cursor)
		}
		r.storeAll()
		r.drained()
		if got := bodies(r.received()); !slices.Equal(got, []string{"m1", "m2"}) {
			t.Errorf("%d stored before the break: arrived %q", stored, got)
		}
	}
}

// chunk is one chunk of a message; all have the sequence id of the message.
func chunk(i, n int) []byte {
	extra := entry.AppendStringField(nil, 26, "uuid-1")
	for field, v := range map[int]int{27: n, 28: 5 * n, 29: i} {
		extra = entry.AppendVarintField(extra, field, uint64(v))
	}
	return (&entrytest.Single{Message: entrytest.Keyed("k1", 7, fmt.Append(nil, "part", i)), Extra: extra}).Bytes()
}

// TestFault10ChunksShareASequenceID: three chunks of one sequence id are three
// entries for deduplication, also when they come twice.
func TestFault10ChunksShareASequenceID(t *testing.T) {
	r := newRig(t, ring(t, keyhash.M1, 4), nil)
	for i := range 3 {
		r.offer(chunk(i, 3))
	}
	r.write(&r.sends[0])
	r.write(&r.sends[1])
	for range 3 {
		r.outcome(window.Unknown)
	}
	r.tick(1000)
	r.storeAll()
	r.drained()
	if got := bodies(r.received()); !slices.Equal(got, []string{"part0", "part1", "part2"}) {
		t.Errorf("stored %q", got)
	}
	if len(r.log) != 1 {
		t.Errorf("chunks of one message lie in %d segments", len(r.log))
	}
}

// TestFault11SequenceIDOfEachMessage: cutting a batch changes no message's
// sequence id, and the part says the lowest and the highest in it.
func TestFault11SequenceIDOfEachMessage(t *testing.T) {
	r := newRig(t, ring(t, keyhash.M1, 4), nil)
	b := batchOf()
	for i := range 40 {
		b.Messages = append(b.Messages, entrytest.Keyed(keyAt(keyhash.M1, i%4, 1), int64(900-i*3), fmt.Append(nil, i)))
	}
	r.offer(b.Bytes())
	r.storeAll()
	r.drained()
	seen := 0
	for _, log := range r.log {
		for _, raw := range log {
			_, m := entrytest.Parse(raw)
			low, high := ^uint64(0), uint64(0)
			for _, one := range opened(t, raw) {
				var i int
				if _, err := fmt.Sscan(one.body, &i); err != nil {
					t.Fatal(err)
				}
				if !one.HasSequenceID || one.SequenceID != uint64(900-i*3) {
					t.Errorf("message %d has sequence id %d", i, one.SequenceID)
				}
				low, high = min(low, one.SequenceID), max(high, one.SequenceID)
				seen++
			}
			if m.SequenceID != low || m.HighestSequenceID != high {
				t.Errorf("part says %d to %d, holds %d to %d", m.SequenceID, m.HighestSequenceID, low, high)
			}
		}
	}
	if seen != 40 {
		t.Errorf("%d messages arrived", seen)
	}
}

// TestFault12PartsOfOneEntryCollide: two parts of one entry go to one segment.
// They have one source position and are two entries all the same.
func TestFault12PartsOfOneEntryCollide(t *testing.T) {
	r := newRig(t, ring(t, keyhash.PIP486, 1, 0x8000), nil)
	var low, high string
	for i := 0; low == "" || high == ""; i++ {
		if k := fmt.Sprint("k", i); keyhash.Bucket(keyhash.Sum([]byte(k))) < 0x8000 {
			low = k
		} else {
			high = k
		}
	}
	p := r.offer(batchOf(low, high, low, high).Bytes())
	if len(r.sends) != 2 || r.sends[0].pos != p || r.sends[1].pos != p || r.sends[0].part == r.sends[1].part {
		t.Fatalf("sent %+v", r.sends)
	}
	r.storeAll()
	r.drained()
	if len(r.log[1]) != 2 {
		t.Errorf("%d parts stored, want 2", len(r.log[1]))
	}
	sameBodies(t, r.received(), "b0", "b1", "b2", "b3")
}

// TestFault13OneBatchInTwoEntries: a run of one key that is cut in several
// entries is there as a whole, in order, each part with a place of its own.
func TestFault13OneBatchInTwoEntries(t *testing.T) {
	two := ring(t, keyhash.M1, 2)
	var segs []layout.Segment
	for _, s := range two.Segments() {
		c := *s
		c.CutCap = 100
		segs = append(segs, c)
	}
	cut, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, cut, nil)
	b := batchOf()
	key := keyAt(keyhash.M1, 0, 1)
	var want []string
	for i := range 30 {
		b.Messages = append(b.Messages, entrytest.Keyed(key, int64(i), fmt.Append(nil, "message ", i)))
		want = append(want, fmt.Sprint("message ", i))
	}
	b.Messages = append(b.Messages, entrytest.Keyed(keyAt(keyhash.M1, 3, 1), 30, []byte("elsewhere")))
	r.offer(b.Bytes())
	r.storeAll()
	r.drained()
	if n := len(r.log[1]); n < 2 {
		t.Fatalf("the batch was cut in %d", n)
	}
	places := map[string]bool{}
	for _, raw := range r.log[1] {
		f, _ := entrytest.Parse(raw)
		_ = entry.EachProperty(f.Metadata, func(k, v []byte) bool {
			if string(k) == "__MSG_PROP_REPL_SOURCE_POSITION" {
				places[string(v)] = true
			}
			return true
		})
	}
	if len(places) != len(r.log[1]) {
		t.Errorf("%d entries with the places %v", len(r.log[1]), places)
	}
	got := bodies(r.received())
	if !slices.Equal(got[:30], want) {
		t.Errorf("arrived %q", got)
	}
}

// TestFault35MarkersStay: markers of replicated subscriptions (10 to 13) and of
// transactions (20 to 22) are told from messages, and from nothing else: none
// travels, and none stays behind the cursor.
func TestFault35MarkersStay(t *testing.T) {
	r := newRig(t, ring(t, keyhash.M1, 4), nil)
	for _, kind := range []uint64{10, 11, 12, 13, 20, 21, 22} {
		r.offer((&entrytest.Single{Message: entrytest.Keyed("k1", 1, []byte("marker")),
			Extra: entry.AppendVarintField(nil, 20, kind)}).Bytes())
	}
	r.drained()
	if got := r.w.Counters().DroppedBy[placement.Marker]; got != 7 {
		t.Errorf("%d markers counted, want 7", got)
	}
}

// TestFault36TransactionMetadata: a message of a committed transaction arrives
// without transaction ids, whole or cut, so that no consumer waits for a commit
// that is not there; an aborted one does not arrive.
func TestFault36TransactionMetadata(t *testing.T) {
	txn := entry.AppendVarintField(entry.AppendVarintField(nil, 22, 5), 23, 1)
	for segments := 1; segments <= 4; segments += 3 {
		r := newRig(t, ring(t, keyhash.M1, segments), nil)
		b := spread(keyhash.M1)
		b.Codec, b.Extra = codec.LZ4, txn
		r.offer(b.Bytes())
		r.offer((&entrytest.Single{Message: entrytest.Keyed("k1", 1, []byte("one")), Extra: txn}).Bytes())
		r.offer((&entrytest.Single{Message: entrytest.Keyed("k1", 1, []byte("aborted")), Extra: txn}).Bytes(),
			placement.TxnAborted)
		r.storeAll()
		r.drained()
		for _, log := range r.log {
			for _, raw := range log {
				if has(raw, 22) || has(raw, 23) {
					t.Errorf("%d segments: an entry arrives with transaction ids", segments)
				}
			}
		}
		sameBodies(t, r.received(), "b0", "b1", "b2", "b3", "one")
	}
}

// TestFault40ReplicateTo: an absent list is everybody, a list is who is in it,
// and the list that says "only here" is not taken for an absent one.
func TestFault40ReplicateTo(t *testing.T) {
	for _, c := range []struct {
		to      []string
		arrives bool
	}{
		{nil, true}, {[]string{"b"}, true}, {[]string{"c", "b"}, true}, {[]string{"c"}, false},
		{[]string{"__local__"}, false}, {[]string{""}, false}, {[]string{"a"}, false},
	} {
		r := newRig(t, ring(t, keyhash.M1, 2), nil)
		b := spread(keyhash.M1)
		b.To = c.to
		r.offer(b.Bytes())
		r.offer((&entrytest.Single{Message: entrytest.Keyed("k1", 1, []byte("one")), To: c.to}).Bytes())
		r.storeAll()
		r.drained()
		if got := len(r.received()); got != map[bool]int{true: 5, false: 0}[c.arrives] {
			t.Errorf("replicate_to %q: %d messages arrived", c.to, got)
		}
	}
}
