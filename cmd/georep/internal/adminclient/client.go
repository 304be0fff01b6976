// SPDX-License-Identifier: Apache-2.0

// Package adminclient calls the admin HTTP endpoints of a Pulsar cluster: the
// broker's own below /admin/v2/scalable, and the plugin's below
// /admin/v2/scalable-repl.
//
// A [Client] may be used by any number of goroutines at once. Redirects to the
// broker that owns what was asked for are followed with the token and with the
// method and body of the call, but never to another scheme: a token that was
// sent over TLS stays on it.
package adminclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Caps of an answer, in bytes.
const (
	maxAnswer = 256 << 20
	maxText   = 4 << 10
)

const (
	attempts     = 5
	firstPause   = 100 * time.Millisecond
	maxRedirects = 10
)

// Errors that a caller tells apart; each is wrapped.
var (
	ErrOptions  = errors.New("adminclient: bad option")
	ErrTopic    = errors.New("adminclient: bad topic name")
	ErrAnswer   = errors.New("adminclient: bad answer")
	ErrNotFound = errors.New("adminclient: not found")
	ErrConflict = errors.New("adminclient: refused")
	ErrRedirect = errors.New("adminclient: bad redirect")
)

// Options says where a cluster is and who asks.
type Options struct {
	URL     string        // http://host:port or https://host:port
	Token   string        // sent as bearer token; empty = none
	TLSCA   string        // file with the PEM certificates to trust; empty = the system's
	Timeout time.Duration // of one request; 0 = [DefaultTimeout]
}

// DefaultTimeout is the longest that one request may take.
const DefaultTimeout = 30 * time.Second

// Client calls one cluster.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New checks o and returns a client. It does not connect. Errors wrap
// [ErrOptions] or are those of the certificate file.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%w: admin URL %q is not http://host:port or https://host:port", ErrOptions, o.URL)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.TLSCA != "" {
		pem, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s holds no PEM certificate", ErrOptions, o.TLSCA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c := &Client{base: base, token: strings.TrimSpace(o.Token)}
	c.http = &http.Client{Transport: transport, Timeout: o.Timeout, CheckRedirect: c.redirect}
	return c, nil
}

// URL returns the address that the client was made for.
func (c *Client) URL() string { return c.base.String() }

// redirect carries the token over: net/http drops it when the host changes, and
// here the host changes from one broker of the cluster to another.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("%w: more than %d", ErrRedirect, maxRedirects)
	case next.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("%w: from %s to %s; give the admin URL that is meant", ErrRedirect, first.URL.Scheme, next.URL)
	case next.Method != first.Method: // 301, 302 and 303 turn a POST into a GET
		return fmt.Errorf("%w: a %s became a %s of %s", ErrRedirect, first.Method, next.Method, next.URL)
	}
	c.authorize(next)
	return nil
}

func (c *Client) authorize(r *http.Request) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// call asks for path, which begins with '/' and is escaped; a body is sent as
// JSON. What may pass is tried again, with pauses.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	pause := firstPause
	for i := 1; ; i++ {
		answer, header, err := c.try(ctx, method, path, body)
		if err == nil || i == attempts || !passing(method, err) {
			return answer, header, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (c *Client) get(ctx context.Context, path string) ([]byte, http.Header, error) {
	return c.call(ctx, http.MethodGet, path, nil)
}

func (c *Client) try(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	c.authorize(r)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, hint(err)
	}
	defer answer.Body.Close()
	from := answer.Request.URL.String() // of the broker that answered, behind the redirects
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxText))
		e := &StatusError{Status: answer.StatusCode, Method: method, URL: from}
		e.Text, e.Server = message(text)
		return nil, nil, e
	}
	out, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from, err)
	}
	if len(out) > maxAnswer {
		return nil, nil, fmt.Errorf("%w: %s: more than %d bytes", ErrAnswer, from, maxAnswer)
	}
	return out, answer.Header, nil
}
