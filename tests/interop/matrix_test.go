// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
	"georep/internal/entrytest"
)

// matrix is the broker, the clients around it, and what they were found to read.
type matrix struct {
	dir                   string // build/data/interop
	cli                   string // the georep command
	work                  string // files of this run
	publicKey, privateKey string // files
	host                  *process
	clients               []*client
	skipped               []string
	rows                  []row
	actions               map[string]int
}

// row is one writer and codec: what each reader found.
type row struct {
	writer, codec string
	entries       int
	cells         []string
}

// TestMatrix has every client write with every codec, the core replicate what was
// written, and every client read both. build/interop.sh runs it.
func TestMatrix(t *testing.T) {
	dir := os.Getenv("GEOREP_INTEROP")
	if dir == "" {
		t.Skip("GEOREP_INTEROP is not set: build/interop.sh installs the clients and runs this")
	}
	m := &matrix{dir: dir, cli: os.Getenv("GEOREP_CLI"), work: t.TempDir(), actions: map[string]int{}}
	m.keys(t)
	m.startAll(t)
	for _, w := range m.clients {
		for c := codec.None; c <= codec.Snappy; c++ {
			t.Run(w.name+"/"+c.String(), func(t *testing.T) { m.write(t, w, c.String()) })
		}
	}
	for _, a := range []string{"verbatim", "single", "unkeyed", "rebatch"} {
		if m.actions[a] == 0 {
			t.Errorf("no entry was replicated by action %s", a)
		}
	}
	m.print()
}

// keys makes the pair that encrypts.
func (m *matrix) keys(t *testing.T) {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	m.publicKey, m.privateKey = filepath.Join(m.work, "public.pem"), filepath.Join(m.work, "private.pem")
	for file, b := range map[string]*pem.Block{
		m.publicKey:  {Type: "PUBLIC KEY", Bytes: public},
		m.privateKey: {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// startAll starts the broker and every client that build/interop.sh could install;
// for each other one it left the reason in NAME.skipped.
func (m *matrix) startAll(t *testing.T) {
	t.Helper()
	classpath, err := os.ReadFile(filepath.Join(m.dir, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		java = "java"
	}
	if m.host, err = start(t, m.dir, "host", java, "-Xmx1500m", "-XX:MaxDirectMemorySize=1g", "-XX:+UseSerialGC",
		"-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.leakDetectionLevel=disabled",
		"-cp", strings.TrimSpace(string(classpath)), "georep.it.interop.InteropHost", filepath.Join(m.work, "cluster")); err != nil {
		t.Fatal(err)
	}
	const plain = "persistent"
	m.clients = []*client{
		{name: "java-v4", process: m.host, version: "5.0.0-M1", scheme: plain, ordering: true, keyBytes: true, nulls: true, keyValue: true, orderedSeq: true},
		{name: "java-v5", process: m.host, version: "5.0.0-M1", scheme: "topic", nulls: true, orderedSeq: true},
	}
	url := m.host.hello.URL
	for name, command := range map[string][]string{
		"cpp":  {filepath.Join(m.dir, "cpp/bin/python"), "client/cpp.py", url, filepath.Join(m.dir, "cpp.client.log")},
		"node": {"node", "client/node/client.mjs", url, filepath.Join(m.dir, "node")},
		"go":   {filepath.Join(m.dir, "go-client"), url},
	} {
		if reason, err := os.ReadFile(filepath.Join(m.dir, name+".skipped")); err == nil {
			m.skipped = append(m.skipped, name+" "+strings.TrimSpace(string(reason)))
			continue
		}
		p, err := start(t, m.dir, name, command...)
		if err != nil {
			t.Fatalf("%s is installed but does not start: %v", name, err)
		}
		m.clients = append(m.clients, &client{name: name, process: p, version: p.hello.Version, scheme: plain, ordering: true, orderedSeq: true})
	}
	slices.SortFunc(m.clients, func(a, b *client) int { return strings.Compare(a.name, b.name) })
}

// write has one client write with one codec, and compares what all read.
func (m *matrix) write(t *testing.T, w *client, codecName string) {
	name := w.name + "-" + codecName
	batches := w.batches(codecName, m.publicKey)
	var entries []string
	var messages []sent
	for i := range batches {
		b := &batches[i]
		b.request.Topic = w.scheme + "://public/default/" + name + "-" + b.name
		log := b.request.Topic
		if w.scheme == "topic" {
			log = m.host.ask(t, &request{Op: "create", Topic: b.request.Topic, Segments: 1}).Segments[0]
		}
		w.process.ask(t, &b.request)
		got := m.host.ask(t, &request{Op: "log", Topic: log}).Entries
		m.capture(t, name+"-"+b.name, got)
		if want := b.entries(); want > 0 && len(got) != want {
			t.Errorf("%s: %d entries, not %d", b.name, len(got), want)
		}
		entries = append(entries, got...)
		messages = append(messages, b.request.Messages...)
		if b.name == "mixed" && w.scheme != "topic" {
			got = m.host.ask(t, &request{Op: "compacted", Topic: log}).Entries
			m.capture(t, name+"-compacted", got)
			entries = append(entries, got...)
		}
	}
	if t.Failed() {
		return
	}
	source := m.topics(t, name+"-source", 1)
	m.store(t, source, wholeSegment(t, entries))
	whole := m.replicate(t, source, m.topics(t, name+"-whole", 1), entries)
	cut := m.replicate(t, source, m.topics(t, name+"-cut", 4), entries)
	r := row{writer: w.name + " " + w.version, codec: codecName, entries: len(entries)}
	for _, c := range m.clients {
		r.cells = append(r.cells, m.compare(t, c, messages, source, whole, cut))
	}
	m.rows = append(m.rows, r)
}

func wholeSegment(t *testing.T, entries []string) []stored {
	t.Helper()
	out := make([]stored, len(entries))
	for i, e := range entries {
		out[i] = stored{0, unhex(t, e)}
	}
	return out
}

// place is a scalable topic and a plain one, of the same content.
type place struct {
	scalable, plain string
	segments        []string
	layout          string // file
}

func (m *matrix) topics(t *testing.T, name string, segments int) *place {
	t.Helper()
	p := &place{scalable: "topic://public/default/" + name, plain: "persistent://public/default/" + name}
	a := m.host.ask(t, &request{Op: "create", Topic: p.scalable, Segments: segments})
	p.segments, p.layout = a.Segments, filepath.Join(m.work, name+".json")
	if err := os.WriteFile(p.layout, []byte(a.Layout), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// store appends entries to both topics, and the message that ends them.
func (m *matrix) store(t *testing.T, p *place, entries []stored) {
	t.Helper()
	one := entrytest.Single{Message: entrytest.Keyed("__end", 0, []byte("end"))} // the Go client discards an unbatched message without a body
	end := hex.EncodeToString(one.Bytes())
	var all []string
	bySegment := make([][]string, len(p.segments))
	for _, e := range entries {
		h := hex.EncodeToString(e.raw)
		all = append(all, h)
		bySegment[e.segment] = append(bySegment[e.segment], h)
	}
	m.host.ask(t, &request{Op: "store", Topic: p.plain, Entries: append(all, end)})
	for i, s := range p.segments {
		m.host.ask(t, &request{Op: "store", Topic: s, Entries: append(bySegment[i], end)})
	}
}

func (m *matrix) replicate(t *testing.T, from, to *place, entries []string) *place {
	t.Helper()
	c := &command{path: m.cli, dir: m.work, layout: to.layout, sourceLayout: from.layout, topic: to.scalable}
	var out []stored
	for i, e := range entries {
		action, made := c.replicate(t, positionOf(i), unhex(t, e))
		m.actions[action]++
		out = append(out, made...)
	}
	m.store(t, to, out)
	return to
}

// compare has one client read the source and its copies. The cell says how many
// messages it was shown, or DIFFERS.
func (m *matrix) compare(t *testing.T, c *client, messages []sent, source *place, copies ...*place) string {
	t.Helper()
	before := m.read(t, c, source)
	if c.name == "java-v4" { // the client that hides least
		found := slices.Clone(before)
		for _, s := range messages {
			i := slices.IndexFunc(found, func(r received) bool { return s.is(&r) })
			if i < 0 {
				t.Errorf("sent, and not in the source: %+v", s)
				return "DIFFERS"
			}
			found = slices.Delete(found, i, i+1)
		}
	}
	for _, p := range copies {
		after := m.read(t, c, p)
		for i := range after {
			if from := &after[i].From; *from != "" || strings.HasPrefix(c.name, "java") || c.name == "go" {
				if *from != "source" {
					t.Errorf("%s: replicated from %q", c.name, *from)
				}
				*from = ""
			}
			delete(after[i].Props, entry.OriginProperty)
			delete(after[i].Props, entry.SourcePositionProperty)
		}
		if d := difference(before, after); d != "" {
			t.Errorf("%s reads %s differently: %s", c.name, p.plain, d)
			return "DIFFERS"
		}
	}
	return fmt.Sprintf("= %d", len(before))
}

// is compares what a client was told with what Java shows of it.
func (s *sent) is(r *received) bool {
	if s.Key != nil && *s.Key != r.Key || string(s.Ordering) != string(r.Ordering) || s.At != r.At {
		return false
	}
	return string(s.Value) == string(r.Value) && (len(s.Props) == 0 || maps.Equal(s.Props, r.Props))
}

// read returns a topic's messages in the order in which the client shows them.
func (m *matrix) read(t *testing.T, c *client, p *place) []received {
	t.Helper()
	q := &request{Op: "consume", Client: c.name, Topic: p.plain, Ends: 1, PrivateKey: m.privateKey}
	if c.scheme == "topic" {
		q.Topic, q.Ends = p.scalable, len(p.segments)
	}
	return slices.DeleteFunc(c.process.ask(t, q).Messages, func(r received) bool { return r.Key == "__end" })
}

// difference compares messages key by key, in order.
func difference(a, b []received) string {
	split := func(all []received) map[string][]received {
		out := map[string][]received{}
		for _, r := range all {
			out[r.Key] = append(out[r.Key], r)
		}
		return out
	}
	x, y := split(a), split(b)
	for _, k := range slices.Sorted(maps.Keys(x)) {
		if len(x[k]) != len(y[k]) {
			return fmt.Sprintf("key %q: %d messages, were %d", k, len(y[k]), len(x[k]))
		}
		for i := range x[k] {
			if !reflect.DeepEqual(x[k][i], y[k][i]) {
				return fmt.Sprintf("key %q, number %d:\n got %.600s\nwant %.600s", k, i, fmt.Sprintf("%+v", y[k][i]), fmt.Sprintf("%+v", x[k][i]))
			}
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d keys, were %d", len(y), len(x))
	}
	return ""
}

// capture keeps entries as files, where GEOREP_INTEROP_CAPTURE names a folder.
func (m *matrix) capture(t *testing.T, name string, entries []string) {
	t.Helper()
	dir := os.Getenv("GEOREP_INTEROP_CAPTURE")
	for i, e := range entries {
		if dir == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.hex", name, i)), []byte(e+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *matrix) print() {
	fmt.Printf("\n%-24s %-7s %8s |", "written by", "codec", "entries")
	for _, c := range m.clients {
		fmt.Printf(" %-9s", c.name)
	}
	fmt.Println(" reads the source, the copy sent whole, and the copy cut for 4 segments alike")
	for _, r := range m.rows {
		fmt.Printf("%-24s %-7s %8d |", r.writer, r.codec, r.entries)
		for _, c := range r.cells {
			fmt.Printf(" %-9s", c)
		}
		fmt.Println()
	}
	fmt.Println("entries by action:", m.actions)
	for _, s := range m.skipped {
		fmt.Println("skipped:", s)
	}
}
