// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"georep/core/entry"
)

var orders = Topic{"t", "n", "orders"}

func client(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseTopic(t *testing.T) {
	for in, want := range map[string]Topic{"topic://t/n/orders": orders, "t/n/orders": orders} {
		if got, err := ParseTopic(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "t/n", "t//x", "persistent://t/n/x", "topic://t/n/x/y"} {
		if _, err := ParseTopic(in); !errors.Is(err, ErrTopic) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestEntries(t *testing.T) {
	var query string
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.String()
		w.Header().Set("X-Georep-Cluster", "a")
		w.Header().Set("X-Georep-Next", "3:2")
		b := binary.BigEndian.AppendUint64(nil, 3)
		b = binary.BigEndian.AppendUint64(b, 1)
		_, _ = w.Write(append(binary.BigEndian.AppendUint32(b, 2), "xy"...))
	})
	p, err := c.Entries(context.Background(), orders, 7, "3:1")
	if err != nil || p.Cluster != "a" || p.Next != "3:2" || len(p.Entries) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if e := p.Entries[0]; e.Position != (entry.Position{Ledger: 3, Entry: 1}) || string(e.Raw) != "xy" {
		t.Errorf("entry %+v", e)
	}
	if want := "/admin/v2/scalable-repl/entries/t/n/orders/7?from=3%3A1"; query != want {
		t.Errorf("asked %s, want %s", query, want)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"no cluster": func(w http.ResponseWriter) {},
		"cut head": func(w http.ResponseWriter) {
			w.Header().Set("X-Georep-Cluster", "a")
			_, _ = w.Write(make([]byte, 19))
		},
		"cut body": func(w http.ResponseWriter) {
			w.Header().Set("X-Georep-Cluster", "a")
			_, _ = w.Write(binary.BigEndian.AppendUint32(make([]byte, 16), 1<<31))
		},
		"next for ever": func(w http.ResponseWriter) {
			w.Header().Set("X-Georep-Cluster", "a")
			w.Header().Set("X-Georep-Next", "1:1")
		},
	} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) { answer(w) })
		if _, err := c.Entries(context.Background(), orders, 0, ""); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Too many readers at once passes; a refusal does not.
func TestTriesAgain(t *testing.T) {
	calls := 0
	c := client(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if _, err := c.Layout(context.Background(), orders); err != nil || calls != 3 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	calls = 0
	c = client(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusNotFound)
	})
	if _, err := c.Layout(context.Background(), orders); !errors.Is(err, ErrNotFound) || calls != 1 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// A call that changes something is sent again only where it has not arrived.
func TestPostsAreNotRepeated(t *testing.T) {
	var calls atomic.Int32
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		b, _ := io.ReadAll(r.Body)
		if string(b) != `{"remote":"b"}` || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("body %q", b)
		}
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		panic(http.ErrAbortHandler) // the connection breaks, and nobody knows what was done
	})
	_, err := c.Operate(context.Background(), orders, "skip", map[string]any{"remote": "b"})
	if n := calls.Load(); err == nil || n != 2 {
		t.Errorf("after %d calls: %v", n, err)
	}
}

// The token and the body go along to another broker, but not to another scheme,
// and no call becomes another one.
func TestRedirects(t *testing.T) {
	owner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("Authorization") + " " + string(b)))
	}))
	defer owner.Close()
	status := http.StatusTemporaryRedirect
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// another host by name: to another port alone net/http would carry the token by itself
		http.Redirect(w, r, strings.Replace(owner.URL, "127.0.0.1", "localhost", 1), status)
	})
	first := httptest.NewServer(redirect)
	defer first.Close()
	c, err := New(Options{URL: first.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Layout(context.Background(), orders); err != nil || string(b) != "GET Bearer secret " {
		t.Errorf("the owner got %q, %v", b, err)
	}
	pause := func() ([]byte, error) {
		return c.Operate(context.Background(), orders, "pause", map[string]any{"remote": "b"})
	}
	if b, err := pause(); err != nil || string(b) != `POST Bearer secret {"remote":"b"}` {
		t.Errorf("the owner got %q, %v", b, err)
	}
	status = http.StatusFound
	if b, err := pause(); !errors.Is(err, ErrRedirect) {
		t.Errorf("the owner got %q, %v", b, err)
	}
	status = http.StatusTemporaryRedirect
	secure := httptest.NewTLSServer(redirect)
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = New(Options{URL: secure.URL, Token: "secret", TLSCA: ca}); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Layout(context.Background(), orders); !errors.Is(err, ErrRedirect) {
		t.Errorf("the owner got %q over http, %v", b, err)
	}
	alert := listenTLSAlert(t)
	if c, err = New(Options{URL: alert}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Operate(context.Background(), orders, "pause", nil); err == nil || !strings.Contains(err.Error(), "https://)") {
		t.Errorf("plain HTTP to a port of TLS: %v", err)
	}
	if c, err = New(Options{URL: secure.URL}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Layout(context.Background(), orders); err == nil || !strings.Contains(err.Error(), "--tls-ca") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
}

// listenTLSAlert answers any request as Java's TLS does: with an alert.
func listenTLSAlert(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_, _ = conn.Write([]byte("\x15\x03\x03\x00\x02\x02P"))
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// An error names call, status and what the server says, however it says it.
func TestErrorsSayWhatTheServerSays(t *testing.T) {
	jetty := "<html><head><title>Error 401 x</title></head><body><table><tr><th>MESSAGE:</th><td>Authentication &quot;required&quot;</td></tr>"
	for body, want := range map[string]string{
		`{"reason":"no remote b"}`: "400 Bad Request: no remote b",
		jetty:                      `400 Bad Request: Authentication "required"`,
		"<html><title>T</title>":   "400 Bad Request: T",
		"<html>":                   "400 Bad Request",
		"plain\n  text":            "400 Bad Request: plain text",
		"":                         "400 Bad Request",
	} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		})
		_, err := c.Status(context.Background(), Topic{Tenant: "t", Namespace: "n"})
		if err == nil || err.Error() != "GET "+c.URL()+"/admin/v2/scalable-repl/status/t/n: "+want {
			t.Errorf("%q: %v", body, err)
		}
	}
	for status, want := range map[int]string{401: "--token-file", 403: "super-user", 404: "georep.nar"} {
		if e := (&StatusError{Status: status, Server: true}).Error(); !strings.Contains(e, want) {
			t.Errorf("%d: %s", status, e)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]Topic{"t/n": {Tenant: "t", Namespace: "n"}, "topic://t/n/orders": orders} {
		if got, err := ParseTarget(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "t", "t/", "topic://t"} {
		if _, err := ParseTarget(in); !errors.Is(err, ErrTopic) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
