// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
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

// The token goes along to another broker, but not from https to http.
func TestRedirects(t *testing.T) {
	owner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Authorization")))
	}))
	defer owner.Close()
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, owner.URL, http.StatusTemporaryRedirect)
	})
	first := httptest.NewServer(redirect)
	defer first.Close()
	c, err := New(Options{URL: first.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Layout(context.Background(), orders); err != nil || string(b) != "Bearer secret" {
		t.Errorf("the owner got %q, %v", b, err)
	}
	secure := httptest.NewTLSServer(redirect)
	defer secure.Close()
	c, err = New(Options{URL: secure.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = secure.Client().Transport
	if b, err := c.Layout(context.Background(), orders); err == nil {
		t.Errorf("the owner got %q over http", b)
	}
}
