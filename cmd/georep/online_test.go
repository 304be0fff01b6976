// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"georep/cmd/georep/internal/view"
	"georep/core/placement"
)

// broker answers the plugin's GET calls out of testdata/online, keeps what it was
// asked to change, and refuses every skip but that of 5:17 and resets of segment 1 alone.
type broker struct {
	t     *testing.T
	calls []string
}

func (b *broker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/admin/v2/scalable/t/n/orders" {
		http.ServeFile(w, r, "testdata/a2.json")
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/admin/v2/scalable-repl/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.t.Error(err)
		}
		b.calls = append(b.calls, path+" "+string(body))
		if strings.HasSuffix(path, "/skip") && !bytes.Contains(body, []byte(`"5:17"`)) {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"reason": "not parked; parked: 5:17 (malformed)"}`)
			return
		}
		if strings.HasSuffix(path, "/reset-cursor") {
			answerReset(w, body)
			return
		}
		fmt.Fprint(w, `{"segments":1}`)
		return
	}
	if strings.HasPrefix(path, "entries/") {
		w.Header().Set("X-Georep-Cluster", "a")
		var at [2]uint64
		if _, err := fmt.Sscanf(r.URL.Query().Get("from"), "%d:%d", &at[0], &at[1]); err != nil {
			b.t.Error(err)
		}
		head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, at[0]), at[1])
		_, _ = w.Write(append(binary.BigEndian.AppendUint32(head, 2), path[len(path)-1], byte(at[1])))
		return
	}
	answer, err := os.ReadFile("testdata/online/" + strings.ReplaceAll(path, "/", ".") + ".json")
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"reason": "no such topic"}`)
		return
	}
	_, _ = w.Write(answer)
}

// answerReset refuses a parent alone, and answers everything else with one plan.
func answerReset(w http.ResponseWriter, body []byte) {
	if bytes.Contains(body, []byte(`"segments":[1]`)) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"reason": "segment 2 has sent to b what follows; reset together: 1, 2"}`)
		return
	}
	plan, err := os.ReadFile("testdata/online/reset-cursor.json")
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(plan)
}

// startBroker starts one and makes it the cluster that commands ask.
func startBroker(t *testing.T) (*broker, string) {
	t.Helper()
	b := &broker{t: t}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	t.Setenv("GEOREP_ADMIN_URL", s.URL)
	return b, s.URL
}

// TestOnlineGolden plays testdata/online.golden against the recorded answers:
// "$ command" is followed by what it prints, "> call" by what it asked to change.
func TestOnlineGolden(t *testing.T) {
	b, url := startBroker(t)
	script, err := os.ReadFile("testdata/online.golden")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(script)) {
		if strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
		if !strings.HasPrefix(line, "$ ") {
			continue
		}
		b.calls = nil
		out := strings.ReplaceAll(runLine(t, strings.Fields(line[2:])), url, "http://a:8080")
		for l := range strings.Lines(out) {
			if n := utf8.RuneCountInString(l) - 1; n > view.Width && !strings.HasPrefix(l, "! ") && !strings.HasPrefix(l, " ") {
				t.Errorf("%d columns: %s", n, l)
			}
		}
		got.WriteString(line + out)
		for _, c := range b.calls {
			got.WriteString("> " + c + "\n")
		}
		got.WriteByte('\n')
	}
	if *rewrite {
		if err := os.WriteFile("testdata/online.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(script) {
		t.Errorf("got\n%s", firstDifference(got.String(), string(script)))
	}
}

func TestParkedSaves(t *testing.T) {
	startBroker(t)
	dir := t.TempDir()
	if status, _, errs := runCommand("parked", "t/n/orders", "--save", dir); status != 0 {
		t.Fatalf("exit %d: %s", status, errs)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 { // the third can not be read
		t.Fatalf("files %v, %v", files, err)
	}
	for name, want := range map[string]string{"1-5-17.bin": "1\x11", "1-5-19.bin": "1\x13"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// What parked prints below an entry is what inspect takes.
func TestInspectTakesAParkedHead(t *testing.T) {
	startBroker(t)
	file := filepath.Join(t.TempDir(), "head")
	raw := entries()["single"]
	e := view.Parked{Topic: "x", Parked: []*view.ParkedEntry{{Position: "5:17", Size: view.Number(len(raw)), Head: fmt.Sprintf("%x", raw)}}}
	var notes []string
	for l := range strings.Lines(e.Print()) {
		if strings.HasPrefix(l, "    ") {
			notes = append(notes, l)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(notes, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := runCommand("inspect", file); status != 0 || !strings.Contains(out, `"key": "k2"`) {
		t.Errorf("exit %d: %s%s", status, out, errs)
	}
}

// Every reason that parks has a hint.
func TestHints(t *testing.T) {
	unknown := view.Hint("?")
	for _, r := range []placement.Reason{placement.TooLarge, placement.Malformed, placement.EncryptedBatch,
		placement.ChunkIncomplete, placement.NoDestination, placement.Codec, placement.SizeMismatch, placement.Checksum,
		placement.Overtaken, placement.TooLargeSingle, placement.LegacyDestination} {
		if view.Hint(r.String()) == unknown {
			t.Errorf("no hint for %s", r)
		}
	}
}

// --watch goes on where a call fails in between, and ends well when it is interrupted.
func TestWatch(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls++; calls {
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"reason": "on its way"}`)
			return
		case 4:
			interrupt()
		}
		fmt.Fprintf(w, "{\"topic\": \"topic://t/n/x\",\n\"epoch\": %d}", calls)
	}))
	defer s.Close()
	var out, errs bytes.Buffer
	c := newStatus()
	c.SetArgs([]string{"t/n/x", "--watch", "--json", "--interval", "1ms", "--admin-url", s.URL})
	c.SetOut(&out)
	c.SetErr(&errs)
	if err := c.ExecuteContext(ctx); err != nil || calls != 4 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	want := "{\"topic\":\"topic://t/n/x\",\"epoch\":1}\n{\"topic\":\"topic://t/n/x\",\"epoch\":3}\n"
	if out.String() != want || strings.Count(errs.String(), "on its way") != 1 {
		t.Errorf("printed %q, told %q", out.String(), errs.String())
	}
}
