// SPDX-License-Identifier: Apache-2.0

// Package adminclient calls the admin HTTP endpoints of a Pulsar cluster: the
// broker's own below /admin/v2/scalable, and the plugin's below
// /admin/v2/scalable-repl.
//
// A [Client] may be used by any number of goroutines at once. Redirects to the
// broker that owns what was asked for are followed with the token, but never
// from https to http.
package adminclient

import (
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
)

// Options says where a cluster is and who asks.
type Options struct {
	URL     string        // http://host:port or https://host:port
	Token   string        // sent as bearer token; empty = none
	TLSCA   string        // file with the PEM certificates to trust; empty = the system's
	Timeout time.Duration // of one request; 0 = 30 s
}

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
		o.Timeout = 30 * time.Second
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
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if via[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return errors.New("redirected from https to http")
	}
	c.authorize(next)
	return nil
}

func (c *Client) authorize(r *http.Request) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	URL    string
	Text   string // the first 4 KiB of the body
}

// Error returns one line.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.URL, e.Status, strings.TrimSpace(e.Text))
}

// Unwrap returns [ErrNotFound] for 404.
func (e *StatusError) Unwrap() error {
	if e.Status == http.StatusNotFound {
		return ErrNotFound
	}
	return nil
}

// get fetches path, which begins with '/' and is escaped. What may pass (no
// connection, 429, 503) is tried again, with pauses.
func (c *Client) get(ctx context.Context, path string) ([]byte, http.Header, error) {
	pause := firstPause
	for i := 1; ; i++ {
		body, header, err := c.try(ctx, path)
		if err == nil || i == attempts || !passing(err) {
			return body, header, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func passing(err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Status == http.StatusServiceUnavailable || s.Status == http.StatusTooManyRequests
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

func (c *Client) try(ctx context.Context, path string) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.base.String(), "/")+path, nil)
	if err != nil {
		return nil, nil, err
	}
	c.authorize(r)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxText))
		return nil, nil, &StatusError{Status: answer.StatusCode, URL: r.URL.String(), Text: string(text)}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.URL, err)
	}
	if len(body) > maxAnswer {
		return nil, nil, fmt.Errorf("%w: %s: more than %d bytes", ErrAnswer, r.URL, maxAnswer)
	}
	return body, answer.Header, nil
}
