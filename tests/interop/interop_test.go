// SPDX-License-Identifier: Apache-2.0

// Package interop holds entries of real clients, and reads each of them.
package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/internal/entrytest"
)

// text is the body that the Java client was given: "tag 0;tag 1;…", cut.
func text(tag string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %d;", tag, i)
	}
	return b.String()[:size]
}

// describe puts what was read of a message in one line.
func describe(m *entry.Message) string {
	s := &m.Single
	var b strings.Builder
	if s.HasPartitionKey {
		fmt.Fprintf(&b, "key=%q ", s.PartitionKey)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.PartitionKeyB64, "b64"}, {s.NullPartitionKey, "nullkey"}, {s.NullValue, "null"}, {s.CompactedOut, "out"}} {
		if f.on {
			b.WriteString(f.name + " ")
		}
	}
	if s.HasOrderingKey {
		fmt.Fprintf(&b, "order=%q ", s.OrderingKey)
	}
	if s.HasEventTime {
		fmt.Fprintf(&b, "at=%d ", s.EventTime)
	}
	if s.HasSequenceID {
		fmt.Fprintf(&b, "seq=%d ", s.SequenceID)
	}
	_ = entry.EachSingleProperty(m.Meta, func(k, v []byte) bool { fmt.Fprintf(&b, "%s:%s ", k, v); return true })
	return b.String() + string(m.Payload)
}

// read opens an entry as re-batching does, without placing it.
func read(t *testing.T, raw []byte) (f entry.Frame, m entry.Metadata, messages []string) {
	t.Helper()
	f, err := entry.ParseFrame(raw, 5<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Parse(f.Metadata); err != nil {
		t.Fatal(err)
	}
	if !f.ChecksumValid() {
		t.Error("checksum is wrong")
	}
	if m.Encrypted {
		return f, m, nil
	}
	body := f.Payload
	if m.Compression != codec.None {
		if body, err = m.Compression.AppendDecode(nil, f.Payload, int(m.UncompressedSize)); err != nil {
			t.Fatal(err)
		}
	} else if m.HasUncompressedSize && !m.HasChunk && int(m.UncompressedSize) != len(body) {
		t.Errorf("declared %d bytes, got %d", m.UncompressedSize, len(body))
	}
	if !m.HasBatch {
		return f, m, []string{string(body)}
	}
	r := entry.NewBatchReader(body, int(m.NumMessages))
	var msg entry.Message
	for r.Next(&msg) {
		messages = append(messages, describe(&msg))
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return f, m, messages
}

// outer puts what placement looks at in one line.
func outer(f *entry.Frame, m *entry.Metadata) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", m.Compression)
	for _, s := range []struct {
		on   bool
		text string
	}{
		{f.BrokerMetadata != nil, "broker"}, {!f.HasChecksum, "nochecksum"},
		{m.HasBatch, fmt.Sprint("batch=", m.NumMessages)},
		{m.HasPartitionKey, fmt.Sprintf("key=%q", m.PartitionKey)}, {m.PartitionKeyB64, "b64"},
		{m.NullPartitionKey, "nullkey"}, {m.HasOrderingKey, fmt.Sprintf("order=%q", m.OrderingKey)},
		{m.Encrypted, "encrypted"}, {m.HasDeliverAt, fmt.Sprint("at=", m.DeliverAt)},
		{m.HasMarker, fmt.Sprint("marker=", m.Marker)}, {m.HasTxn, fmt.Sprintf("txn=%d,%d", m.TxnMost, m.TxnLeast)},
		{m.HasChunk, fmt.Sprintf("chunk=%s,%d/%d,%d", m.UUID, m.ChunkID, m.NumChunks, m.TotalChunkSize)},
		{m.HasHighestSequence, fmt.Sprintf("seq=%d-%d", m.SequenceID, m.HighestSequenceID)},
		{m.Stamped, fmt.Sprintf("stamp=%#x-%#x", m.HashMin, m.HashMax)},
		{m.HasSchemaVersion, fmt.Sprintf("schema=%x", m.SchemaVersion)},
		{m.HasReplicatedFrom, fmt.Sprintf("from=%s", m.ReplicatedFrom)},
		{m.CompactedIndexes > 0, fmt.Sprint("compacted=", m.CompactedIndexes)},
		{m.NullValue, "null"},
	} {
		if s.on {
			b.WriteString(" " + s.text)
		}
	}
	_ = entry.EachReplicateTo(f.Metadata, func(c []byte) bool { fmt.Fprintf(&b, " to=%s", c); return true })
	_ = entry.EachProperty(f.Metadata, func(k, v []byte) bool {
		if string(k) != entry.OriginProperty {
			fmt.Fprintf(&b, " %s:%s", k, v)
		}
		return true
	})
	return b.String()
}

// three are the messages of the batches that were sent with each codec.
var three = []string{
	`key="k1" at=1001 seq=0 i:1 ` + text("body-1", 2000),
	`key="k2" at=1002 seq=1 i:2 ` + text("body-2", 2000),
	`key="k3" at=1003 seq=2 i:3 ` + text("body-3", 2000),
}

// people are the messages of the batches with a schema.
var people = []string{
	`key="k0" seq=0 {"name":"n0"}`, `key="k1" seq=1 {"name":"n1"}`, `key="k2" seq=2 {"name":"n2"}`, `key="k3" seq=3 {"name":"n3"}`,
}

// mixed is message i of the batches that the matrix writes first; properties
// differ in their order.
func mixed(i int, properties string) string {
	return fmt.Sprintf(`key="k%d" at=%d seq=%d `, i%5, 1_700_000_000_000+i, 100+10*i) + properties + " " + text(fmt.Sprint("mixed-", i), 900)
}

var expectations = map[string]struct {
	outer    string
	messages []string
}{
	"java-batch-none":   {`none batch=3 key="k1" seq=0-2`, three},
	"java-batch-lz4":    {`lz4 batch=3 key="k1" seq=0-2`, three},
	"java-batch-zlib":   {`zlib batch=3 key="k1" seq=0-2`, three},
	"java-batch-zstd":   {`zstd batch=3 key="k1" seq=0-2`, three},
	"java-batch-snappy": {`snappy batch=3 key="k1" seq=0-2`, three},
	"java-batch-keys": {`none batch=8 key="k1" seq=0-7`, []string{
		`key="k1" seq=0 plain key`, `key="AAE=" b64 seq=1 binary key`, `key="k2" order="order" seq=2 both keys`,
		`order="\x00\x01" seq=3 ordering key alone`, `seq=4 no key`, `key="" seq=5 empty key`,
		`key="k3" null seq=6 `, `key="k4" seq=7 `,
	}},
	"java-batch-unkeyed":     {`none batch=3 seq=0-2`, []string{"seq=0 m0", "seq=1 m1", "seq=2 m2"}},
	"java-batch-ordering":    {`none batch=2 order="o0" seq=0-1`, []string{`order="o0" seq=0 m0`, `order="o1" seq=1 m1`}},
	"java-batch-of-one":      {`none key="k1" a:b`, []string{"alone"}},
	"java-batch-of-one-zlib": {`zlib key="k1"`, []string{text("alone", 5000)}},
	"java-key-based-0":       {`none batch=2 key="k1" seq=2-2`, []string{`key="k1" seq=0 m0`, `key="k1" seq=2 m2`}},
	"java-key-based-1":       {`none batch=2 key="k2" seq=3-3`, []string{`key="k2" seq=1 m1`, `key="k2" seq=3 m3`}},
	"java-chunks-0":          {`none key="k1" chunk=java-v4-0,0/3,700`, []string{text("chunk", 700)[:300]}},
	"java-chunks-1":          {`none key="k1" chunk=java-v4-0,1/3,700`, []string{text("chunk", 700)[300:600]}},
	"java-chunks-2":          {`none key="k1" chunk=java-v4-0,2/3,700`, []string{text("chunk", 700)[600:]}},
	"java-delayed":           {`none key="k1" at=4102444800000`, []string{"later"}},
	"java-no-replication":    {`none key="k1" to=__local__`, []string{"local"}},
	"java-replicate-to":      {`none key="k1" to=west to=north`, []string{"two"}},
	"java-preset-position": {`none batch=2 key="k1" seq=0-1`, []string{
		`key="k1" seq=0 __MSG_PROP_REPL_SOURCE_POSITION:9:9 mine:stays forged`,
		`key="k1" seq=1 __MSG_PROP_REPL_SOURCE_POSITION:9:9 mine:stays forged`,
	}},
	"java-encrypted-batch":  {`lz4 batch=3 key="k1" encrypted seq=0-2`, nil},
	"java-encrypted-single": {`none key="k1" encrypted`, nil},
	"java-keyvalue": {`none batch=3 key="azE=" b64 seq=0-2 schema=0000000000000000`, []string{
		`key="azE=" b64 seq=0 v1`, `nullkey seq=1 v2`, `key="azM=" b64 null seq=2 `,
	}},
	"java-keyvalue-single": {`none nullkey schema=0000000000000000`, []string{"v2"}},
	"java-broker-metadata": {`none broker batch=2 key="k1" seq=0-1`, []string{`key="k1" seq=0 one`, `key="k2" seq=1 two`}},

	"cpp-batch-none":   {`none batch=3 key="k1"`, three},
	"cpp-batch-lz4":    {`lz4 batch=3 key="k1"`, three},
	"cpp-batch-zlib":   {`zlib batch=3 key="k1"`, three},
	"cpp-batch-zstd":   {`zstd batch=3 key="k1"`, three},
	"cpp-batch-snappy": {`snappy batch=3 key="k1"`, three},
	"go-batch-none":    {`none batch=3 key="k1" i:1`, three},
	"go-batch-lz4":     {`lz4 batch=3 key="k1" i:1`, three},
	"go-batch-zlib":    {`zlib batch=3 key="k1" i:1`, three},
	"go-batch-zstd":    {`zstd batch=3 key="k1" i:1`, three},
	"go-batch-snappy":  {`snappy batch=3 key="k1" i:1`, three},
	"cpp-batch-of-one": {`none batch=1 key="k1"`, []string{`key="k1" seq=0 a:b alone`}},
	"go-batch-of-one":  {`none batch=1 key="k1" a:b`, []string{`key="k1" seq=0 a:b alone`}},
	"cpp-batch-keys": {`none batch=5 key="k1"`, []string{
		`key="k1" seq=0 plain key`, `key="k2" order="order" seq=1 both keys`, `order="order" seq=2 ordering key alone`,
		`seq=3 no key`, `key="k4" seq=4 `,
	}},
	"go-batch-keys": {`none batch=5 key="k1"`, []string{
		`key="k1" seq=0 plain key`, `key="k2" order="order" seq=1 both keys`, `order="order" seq=2 ordering key alone`,
		`seq=3 no key`, `key="k4" seq=4 `,
	}},
	"go-replicate-to": {`none key="k1" to=west to=north`, []string{"two"}},

	"java-v5-mixed": {`zstd batch=11 key="k0" seq=100-200`, []string{
		mixed(0, "i:0 ü:ä€ empty:"), mixed(1, "i:1 ü:ä€ empty:"), mixed(2, "i:2 ü:ä€ empty:"), mixed(3, "i:3 ü:ä€ empty:"),
		mixed(4, "i:4 ü:ä€ empty:"), mixed(5, "i:5 ü:ä€ empty:"), mixed(6, "i:6 ü:ä€ empty:"), mixed(7, "i:7 ü:ä€ empty:"),
		"seq=180 no key", `key="k1" seq=190 `, `key="k3" null seq=200 null:value `,
	}},
	"java-v5-schema": {`none batch=4 key="k0" seq=0-3 schema=0000000000000000`, people},
	"cpp-schema":     {`lz4 batch=4 key="k0" schema=0000000000000000`, people},
	"go-schema":      {`lz4 batch=4 key="k0" schema=0000000000000000`, people},

	"java-v5-encrypted-batch": {`zstd batch=3 key="k0" encrypted seq=0-2`, nil},
	"cpp-encrypted-batch":     {`zstd batch=3 key="k0" encrypted`, nil},
	"go-encrypted-batch":      {`zstd batch=3 key="k0" encrypted`, nil},
	"cpp-encrypted-single":    {`zstd key="k0" encrypted`, nil},
	"go-encrypted-single":     {`zstd key="k0" encrypted`, nil},

	// compaction takes keys and properties away with the bodies
	"java-compacted": {`zstd batch=14 key="k0" seq=100-230 compacted=4`, []string{
		"out ", "out ", "out ", "out ", mixed(4, "empty: i:4 ü:ä€"), mixed(5, "empty: i:5 ü:ä€"), "out ", "out ", "out ", "out ",
		`key="k2" order="o1" seq=200 both keys`, "out ", `key="AAE=" b64 seq=220 binary key`, "out ",
	}},
	"cpp-compacted": {`zstd batch=12 key="k0" compacted=4`, []string{
		"out ", "out ", "out ", mixed(3, "empty: i:3 ü:ä€"), mixed(4, "empty: i:4 ü:ä€"), mixed(5, "empty: i:5 ü:ä€"),
		"out ", "out ", "out ", "out ", `key="k2" order="o1" seq=200 both keys`, "out ",
	}},
	"go-compacted": {`zstd batch=12 key="k0" compacted=4 empty: i:0 ü:ä€`, []string{
		"out ", "out ", "out ", mixed(3, "empty: i:3 ü:ä€"), mixed(4, "ü:ä€ empty: i:4"), mixed(5, "empty: i:5 ü:ä€"),
		"out ", "out ", "out ", "out ", `key="k2" order="o1" seq=200 both keys`, "out ",
	}},

	"hand-unknown-fields":    {`none batch=2 key="k1" stamp=0x602a-0x8ba8`, []string{`key="k1" one`, `key="k2" two`}},
	"hand-framed-one":        {`none batch=1`, []string{`key="k1" framed`}},
	"hand-go-style":          {`none batch=2 key="k1" first:of the first message`, []string{`key="k1" a`, `key="k1" b`}},
	"hand-wide-codec":        {`lz4 batch=1`, []string{`key="k1" wide codec`}},
	"hand-no-checksum":       {`none nochecksum key="k1"`, []string{"no checksum"}},
	"hand-compacted":         {`none batch=3 compacted=1`, []string{`key="k1" out `, `key="k2" kept`, `key="k3" out `}},
	"hand-txn-commit-marker": {`none marker=21 txn=1,7`, []string{""}},
	"origin":                 {`none key="k1" from=ea|st% __MSG_PROP_REPL_SOURCE_POSITION:17:42:5`, []string{"body"}},
}

func TestVectors(t *testing.T) {
	files := entrytest.Vectors(t, ".")
	if len(files) != len(expectations) {
		t.Errorf("%d files, %d expectations", len(files), len(expectations))
	}
	for file, raw := range files {
		name := strings.TrimSuffix(file, ".hex")
		t.Run(name, func(t *testing.T) {
			want, ok := expectations[name]
			if !ok {
				t.Fatal("no expectation")
			}
			f, m, messages := read(t, raw)
			if got := outer(&f, &m); got != want.outer {
				t.Errorf("entry\n got %s\nwant %s", got, want.outer)
			}
			if !slices.Equal(messages, want.messages) {
				t.Errorf("messages\n got %q\nwant %q", messages, want.messages)
			}
		})
	}
}

// TestOriginVector is the record's one spelling, escapes included.
func TestOriginVector(t *testing.T) {
	f, err := entry.ParseFrame(entrytest.Vectors(t, ".")["origin.hex"], 0)
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := entry.FindOrigin(f.Metadata)
	want := entry.Origin{
		Cluster: "ea|st%", Instance: "00112233445566778899aabbccddeeff", Segment: 3, Generation: 2,
		Position: entry.Position{Ledger: 17, Entry: 42}, Part: 5, BoundTopic: "segment://public/default/t/0000-7fff-5",
	}
	if err != nil || !ok || got != want {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	const value = "1|ea%7Cst%25|00112233445566778899aabbccddeeff|3|2|17:42:5|segment://public/default/t/0000-7fff-5"
	if got := string(want.AppendValue(nil)); got != value {
		t.Errorf("written %s", got)
	}
}

// TestSplicedVectors splices every entry and reads it again: all but the
// splice is as it was.
func TestSplicedVectors(t *testing.T) {
	for name, raw := range entrytest.Vectors(t, ".") {
		before, m, messages := read(t, raw)
		s := entry.Splice{Origin: entry.Origin{Cluster: "east", Instance: "i", Position: entry.Position{Ledger: 1, Entry: 2}, Part: entry.Whole, BoundTopic: "t"}}
		out, err := entry.AppendHeader(nil, &before, &s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after, m2, messages2 := read(t, append(out, before.Payload...))
		if !slices.Equal(messages, messages2) {
			t.Errorf("%s: the messages changed", name)
		}
		if string(m2.ReplicatedFrom) != "east" || m2.HasTxn || m2.Stamped != m.Stamped || m2.HashMax != m.HashMax {
			t.Errorf("%s: %s", name, outer(&after, &m2))
		}
		if o, ok, err := entry.FindOrigin(after.Metadata); err != nil || !ok || o != s.Origin {
			t.Errorf("%s: origin %+v, %v", name, o, err)
		}
	}
}
