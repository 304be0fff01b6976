// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"fmt"
	"maps"
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

// maxEntry is the destination's largest entry, bytes.
const maxEntry = 1 << 20

// rig is a production window between a cursor and a destination that stores
// through the production dedup table. Nothing happens but what a test asks for.
type rig struct {
	t        *testing.T
	w        *window.Window
	arena    []byte
	now      int64                               // ms
	next     int64                               // entry id of the next offer
	cursor   map[entry.Position]bool             // behind the cursor, not deleted
	parked   map[entry.Position]placement.Reason // as announced
	sends    []sent                              // without an outcome, oldest first
	tables   map[string]*dedup.Table             // by destination topic
	log      map[uint64][][]byte                 // stored, by destination segment
	asked    int64                               // bytes asked of the budget, 0: nothing
	broke    bool                                // the budget gives nothing
	deletes  func(p entry.Position) bool         // whether a delete succeeds; nil: all do
	lapse    func(n uint64, at entry.Position)
	released map[entry.Position]int    // how often
	memory   map[entry.Position][]byte // what the window has borrowed
}

// sent is one publish.
type sent struct {
	id       uint64
	segment  uint64
	pos      entry.Position
	part     int64
	path     placement.Action
	messages int
	bucket   int
	raw      []byte
}

func newRig(t *testing.T, remote *layout.Layout, tweak func(*window.Config)) *rig {
	t.Helper()
	c := window.Config{
		Source: placement.Source{Cluster: "a", Remote: "b", Segment: 7, Profile: remote.Profile(),
			Range: layout.Range{Start: 0, End: 0xffff}},
		Topic: "topic://t/n/x", Instance: "i1", Generation: 1, KeepCodec: true,
	}
	if tweak != nil {
		tweak(&c)
	}
	w, err := window.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, w: w, arena: make([]byte, 2*maxEntry), cursor: map[entry.Position]bool{}, parked: map[entry.Position]placement.Reason{},
		tables: map[string]*dedup.Table{}, log: map[uint64][][]byte{}, released: map[entry.Position]int{},
		memory: map[entry.Position][]byte{}}
	if err := w.SetRemote(remote, maxEntry); err != nil {
		t.Fatal(err)
	}
	w.SetGate(true)
	r.pump()
	return r
}

// ring is a remote of n segments of equal width, numbered from 1.
func ring(t testing.TB, p keyhash.Profile, n int, buckets ...uint16) *layout.Layout {
	t.Helper()
	var segs []layout.Segment
	for i := range n {
		segs = append(segs, layout.Segment{ID: uint64(i + 1), State: layout.Active, Profile: p, Buckets: buckets,
			BucketsKnown: true, Range: layout.Range{Start: uint16(i * 65536 / n), End: uint16((i+1)*65536/n - 1)}})
	}
	l, err := layout.New(1, segs)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// offer hands an entry to the window, as the cursor reads it.
func (r *rig) offer(raw []byte, flags ...placement.Flags) entry.Position {
	r.t.Helper()
	p := entry.Position{Ledger: 1, Entry: r.next}
	r.next++
	r.cursor[p] = true
	var f placement.Flags
	for _, x := range flags {
		f |= x
	}
	r.memory[p] = slices.Clone(raw)
	if err := r.w.Offer(p, f, r.memory[p]); err != nil {
		r.t.Fatal(err)
	}
	r.pump()
	return p
}

// pump carries out what the window wants done.
func (r *rig) pump() {
	r.t.Helper()
	for {
		acts, _, needed := r.w.Ready(nil, r.arena[:0])
		if needed > 0 {
			r.t.Fatalf("an action needs %d bytes", needed)
		}
		if len(acts) == 0 {
			return
		}
		for i := range acts {
			r.do(&acts[i])
		}
	}
}

func (r *rig) do(a *window.Action) {
	switch a.Kind {
	case window.Send:
		r.sends = append(r.sends, sent{id: a.SendID, segment: a.Segment, pos: a.Position, part: a.Part, path: a.Path,
			messages: a.Messages, bucket: a.Bucket, raw: slices.Concat(a.Header, a.Payload)})
	case window.Delete:
		if r.deletes != nil && !r.deletes(a.Position) {
			r.w.DeleteFailed(a.Position)
			return
		}
		delete(r.cursor, a.Position)
		r.w.Deleted(a.Position)
	case window.Release:
		r.released[a.Position]++
		for i := range r.memory[a.Position] {
			r.memory[a.Position][i] = 0xee // whoever still reads it is found out
		}
		delete(r.memory, a.Position)
	case window.AskBudget:
		r.asked = a.Bytes
		if !r.broke {
			r.grant()
		}
	case window.ReturnBudget:
		r.asked = 0
	case window.Parked:
		r.parked[a.Position] = a.Reason
	case window.Lapse:
		r.lapse(uint64(a.Bytes), a.Position)
	case window.AskWatermark:
		r.w.Watermark(a.Segment, window.WatermarkGone, entry.Position{}, 0)
	case window.AskSchema:
		r.w.SchemaMapped(a.Version, a.Version)
	}
}

func (r *rig) grant() { r.w.Granted() }

// outcome answers the oldest send.
func (r *rig) outcome(o window.Outcome) sent {
	r.t.Helper()
	if len(r.sends) == 0 {
		r.t.Fatal("nothing is in flight")
	}
	s := r.sends[0]
	r.sends = r.sends[1:]
	r.w.Outcome(s.id, o)
	r.pump()
	return s
}

// store does what the destination does with the oldest send, and answers it.
func (r *rig) store() window.Outcome {
	r.t.Helper()
	o := r.write(&r.sends[0])
	r.outcome(o)
	return o
}

// write stores a send without answering it.
func (r *rig) write(s *sent) window.Outcome {
	r.t.Helper()
	f, err := entry.ParseFrame(s.raw, maxEntry)
	if err != nil || !f.ChecksumValid() {
		r.t.Fatalf("%v/%d arrives damaged: %v", s.pos, s.part, err)
	}
	o, found, err := entry.FindOrigin(f.Metadata)
	if err != nil || !found {
		r.t.Fatalf("%v/%d arrives without its origin: %v", s.pos, s.part, err)
	}
	table := r.tables[o.BoundTopic]
	if table == nil {
		table = dedup.New(o.BoundTopic, 0)
		r.tables[o.BoundTopic] = table
	}
	k, pos, part, ours, err := table.Of(f.Metadata)
	if err != nil || !ours {
		r.t.Fatalf("%v/%d is not taken for a replicated entry: %v", s.pos, s.part, err)
	}
	switch v := table.Check(k, pos, part); v {
	case dedup.Fresh:
		table.Persisted(k, pos, part)
		r.log[s.segment] = append(r.log[s.segment], s.raw)
		return window.Acked
	case dedup.Duplicate:
		return window.Duplicate
	default:
		r.t.Fatalf("%v/%d: %v", s.pos, s.part, v)
		return 0
	}
}

// storeAll answers until nothing is in flight.
func (r *rig) storeAll() {
	r.t.Helper()
	for len(r.sends) > 0 {
		r.store()
	}
}

// tick lets time pass.
func (r *rig) tick(ms int64) {
	r.t.Helper()
	r.now += ms
	r.w.Tick(r.now)
	r.pump()
}

// drained checks that nothing is behind the cursor, in flight, parked or borrowed.
func (r *rig) drained() {
	r.t.Helper()
	if len(r.cursor) > 0 || len(r.sends) > 0 || len(r.parked) > 0 || len(r.memory) > 0 {
		r.t.Fatalf("behind the cursor %v, in flight %d, parked %v, borrowed %d; status %+v", r.cursor, len(r.sends),
			r.parked, len(r.memory), r.w.Status())
	}
	for p, n := range r.released {
		if n != 1 {
			r.t.Fatalf("%v was released %d times", p, n)
		}
	}
}

// message is what a consumer of the remote gets.
type message struct {
	entry.Single
	props   string
	body    string
	segment uint64
}

// received decodes what is stored, segment by segment.
func (r *rig) received() (all []message) {
	r.t.Helper()
	for _, seg := range slices.Sorted(maps.Keys(r.log)) {
		for _, raw := range r.log[seg] {
			for _, m := range opened(r.t, raw) {
				m.segment = seg
				all = append(all, m)
			}
		}
	}
	return all
}

// opened reads the messages of an entry as a client does.
func opened(t testing.TB, raw []byte) (all []message) {
	t.Helper()
	f, m := entrytest.Parse(slices.Clone(raw))
	body := f.Payload
	if m.Compression != codec.None {
		var err error
		if body, err = m.Compression.AppendDecode(nil, f.Payload, int(m.UncompressedSize)); err != nil {
			t.Fatal(err)
		}
	}
	if !m.HasBatch {
		return []message{{body: string(body), Single: entry.Single{HasPartitionKey: m.HasPartitionKey,
			PartitionKey: m.PartitionKey, SequenceID: m.SequenceID, NullValue: m.NullValue}}}
	}
	br := entry.NewBatchReader(body, int(m.NumMessages))
	for one := (entry.Message{}); br.Next(&one); {
		x := message{Single: one.Single, body: string(one.Payload)}
		_ = entry.EachSingleProperty(one.Meta, func(k, v []byte) bool {
			x.props += fmt.Sprintf("%s=%s;", k, v)
			return true
		})
		all = append(all, x)
	}
	if br.Err() != nil {
		t.Fatal(br.Err())
	}
	return all
}

// bodies lists what is in messages, in order.
func bodies(all []message) (out []string) {
	for i := range all {
		out = append(out, all[i].body)
	}
	return out
}

// sameBodies compares without regard to order.
func sameBodies(t *testing.T, got []message, want ...string) {
	t.Helper()
	g := bodies(got)
	slices.Sort(g)
	slices.Sort(want)
	if !slices.Equal(g, want) {
		t.Errorf("arrived %.20q, want %.20q", g, want)
	}
}

// keyAt returns the n-th key (from 1) that profile p routes to quarter q (0..3).
func keyAt(p keyhash.Profile, q, n int) string {
	for i := 0; ; i++ {
		k := fmt.Sprint("k", i)
		if int(p.Segment(keyhash.Sum([]byte(k)))>>14) == q {
			if n--; n == 0 {
				return k
			}
		}
	}
}

// batchOf is a batch of keyed messages whose bodies are b0, b1, …
func batchOf(keys ...string) *entrytest.Batch {
	b := &entrytest.Batch{Stamp: true}
	for i, k := range keys {
		b.Messages = append(b.Messages, entrytest.Keyed(k, int64(100+i), fmt.Append(nil, "b", i)))
	}
	return b
}

// spread is a batch with a key in each quarter of the ring.
func spread(p keyhash.Profile) *entrytest.Batch {
	return batchOf(keyAt(p, 0, 1), keyAt(p, 1, 1), keyAt(p, 2, 1), keyAt(p, 3, 1))
}

func single(key, body string) []byte {
	return (&entrytest.Single{Message: entrytest.Keyed(key, 1, []byte(body))}).Bytes()
}

// has says whether raw contains a metadata field.
func has(raw []byte, field int) bool {
	f, _ := entrytest.Parse(raw)
	kept, err := entry.CopyFields(nil, f.Metadata, func(n int) bool { return n == field })
	return err != nil || !bytes.Equal(kept, f.Metadata)
}
