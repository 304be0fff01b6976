// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"georep/core/entry"
)

const verifyTopic = "topic://t/n/orders"

// pagedLog is a segment's log, cut into pages.
type pagedLog [][]stored

type stored struct {
	at  entry.Position
	raw []byte
}

// fakeCluster answers what verify asks a cluster. Entries are served by a second
// server, as by the broker that owns the segment; token is asked for by both.
type fakeCluster struct {
	name, token string
	epoch       int
	log         pagedLog
	layouts     int // answered so far
	moving      bool
}

func (f *fakeCluster) start(t *testing.T) string {
	t.Helper()
	owner := httptest.NewServer(http.HandlerFunc(f.entries))
	t.Cleanup(owner.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/v2/scalable/t/n/orders", func(w http.ResponseWriter, r *http.Request) {
		if !f.allowed(w, r) {
			return
		}
		if f.layouts++; f.moving {
			f.epoch++
		}
		fmt.Fprintf(w, `{"epoch": %d, "segments": {"0": {"segmentId": 0, "hashRange": {"start": 0, "end": 65535},
			"state": "ACTIVE"}}}`, f.epoch)
	})
	mux.HandleFunc("GET /admin/v2/scalable-repl/entries/t/n/orders/0", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, owner.URL+r.URL.String(), http.StatusTemporaryRedirect)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func (f *fakeCluster) allowed(w http.ResponseWriter, r *http.Request) bool {
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return false
	}
	return true
}

func (f *fakeCluster) entries(w http.ResponseWriter, r *http.Request) {
	if !f.allowed(w, r) {
		return
	}
	w.Header().Set("X-Georep-Cluster", f.name)
	from, _ := entry.ParsePosition(r.URL.Query().Get("from"))
	for i, page := range f.log {
		if len(page) == 0 || page[0].at.Compare(from) < 0 {
			continue
		}
		if i+1 < len(f.log) {
			w.Header().Set("X-Georep-Next", f.log[i+1][0].at.String())
		}
		var b []byte
		for _, e := range page {
			b = binary.BigEndian.AppendUint64(b, uint64(e.at.Ledger))
			b = binary.BigEndian.AppendUint64(b, uint64(e.at.Entry))
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(e.raw))), e.raw...)
		}
		_, _ = w.Write(b)
		return
	}
}

// single is an entry of cluster a with one keyed message.
func single(text string) []byte {
	meta := entry.AppendStringField(nil, 1, "p")
	meta = entry.AppendVarintField(entry.AppendVarintField(meta, 2, 1), 3, 1)
	meta = entry.AppendStringField(meta, 6, "key")
	return append(entry.AppendHeaderForPayload(nil, meta, []byte(text)), text...)
}

// copied is the same entry as cluster b stores it.
func copied(t *testing.T, text string, at entry.Position) []byte {
	t.Helper()
	f, err := entry.ParseFrame(single(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	o := entry.Origin{Cluster: "a", Instance: "i", Position: at, Part: entry.Whole, BoundTopic: "segment://t/n/orders/0000-ffff-0"}
	h, err := entry.AppendHeader(nil, &f, &entry.Splice{Origin: o})
	if err != nil {
		t.Fatal(err)
	}
	return append(h, f.Payload...)
}

func twoClusters(t *testing.T) (a, b *fakeCluster) {
	p := func(ledger, e int64) entry.Position { return entry.Position{Ledger: ledger, Entry: e} }
	a = &fakeCluster{name: "a", log: pagedLog{
		{{p(1, 0), single("one")}, {p(1, 1), single("two")}},
		{{p(2, 0), single("three")}},
	}}
	b = &fakeCluster{name: "b", log: pagedLog{
		{{p(9, 0), copied(t, "one", p(1, 0))}},
		{{p(9, 1), copied(t, "two", p(1, 1))}, {p(9, 2), copied(t, "three", p(2, 0))}},
	}}
	return a, b
}

func runCommand(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

func TestVerifyEqual(t *testing.T) {
	a, b := twoClusters(t)
	a.token, b.token = "for-a", "for-b"
	urlA, urlB := a.start(t), b.start(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("for-b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := runCommand("verify", "--admin-url", urlA, "--admin-url", urlB, "--token", "for-a", "--token",
		"for-b", "--json", verifyTopic)
	var r verifyReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("exit %d, %s: %v", status, errs, err)
	}
	if !r.Equal || r.Total.Messages != 3 || r.Clusters[0].Entries != 3 || r.Clusters[1].Cluster != "b" {
		t.Errorf("report of equal clusters: %s", out)
	}
	t.Setenv("GEOREP_ADMIN_URL", urlA+","+urlB)
	if status, out, _ := runCommand("verify", "--token-file", file, verifyTopic); status != 3 || out != "" {
		t.Errorf("a's token is another: exit %d, %q", status, out)
	}
	a.token = "for-b"
	if status, out, _ := runCommand("verify", "--token-file", file, verifyTopic); status != 0 || !strings.HasSuffix(out, "\nequal\n") {
		t.Errorf("addresses and token from the environment and a file: exit %d, %q", status, out)
	}
}

func TestVerifyDifferent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l pagedLog) pagedLog
		want   string
	}{
		"removed":  {func(l pagedLog) pagedLog { l[1] = l[1][:1]; return l }, "lost 1,"},
		"swapped":  {func(l pagedLog) pagedLog { l[1][0].raw, l[1][1].raw = l[1][1].raw, l[1][0].raw; return l }, "order violations 1,"},
		"repeated": {func(l pagedLog) pagedLog { l[1][0].raw = l[0][0].raw; return l }, "lost 1, duplicates 1,"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoClusters(t)
			b.log = test.change(b.log)
			status, out, errs := runCommand("verify", "--admin-url", a.start(t), "--admin-url", b.start(t), verifyTopic)
			if status != 1 || !strings.Contains(errs, test.want) || !strings.Contains(out, `key "key"`) {
				t.Errorf("exit %d, want %q\n%s%s", status, test.want, out, errs)
			}
		})
	}
}

func TestVerifyUsageAndInput(t *testing.T) {
	a, b := twoClusters(t)
	urlA, urlB := a.start(t), b.start(t)
	moving, _ := twoClusters(t)
	moving.moving = true
	for name, test := range map[string]struct {
		status int
		want   string
		args   []string
	}{
		"no topic":       {2, "arg", []string{"--admin-url", urlA, "--admin-url", urlB}},
		"bad topic":      {2, "topic://tenant/namespace/name", []string{"--admin-url", urlA, "--admin-url", urlB, "persistent://t/n/x"}},
		"one cluster":    {2, "two clusters", []string{"--admin-url", urlA, verifyTopic}},
		"the same twice": {2, "both addresses", []string{"--admin-url", urlA, "--admin-url", urlA, verifyTopic}},
		"no URL":         {2, "admin URL", []string{"--admin-url", "x", "--admin-url", urlB, verifyTopic}},
		"no such topic":  {3, "404", []string{"--admin-url", urlA, "--admin-url", urlB, "t/n/other"}},
		"no such file":   {3, "--tls-ca", []string{"--admin-url", urlA, "--admin-url", urlB, "--tls-ca", "none", verifyTopic}},
		"moving layout":  {3, "keeps changing", []string{"--admin-url", moving.start(t), "--admin-url", urlB, verifyTopic}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := runCommand(append([]string{"verify"}, test.args...)...)
			if status != test.status || out != "" || !strings.Contains(errs, test.want) {
				t.Errorf("exit %d, want %d and %q in %q", status, test.status, test.want, errs)
			}
		})
	}
	if moving.layouts != 6 {
		t.Errorf("a moving layout was read %d times, want 6: before and after each of 3 attempts", moving.layouts)
	}
}
