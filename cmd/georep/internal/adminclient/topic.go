// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"georep/core/entry"
)

// Topic is the name of a scalable topic, or, where Name is empty, of a namespace.
type Topic struct{ Tenant, Namespace, Name string }

// ParseTopic reads "topic://tenant/namespace/name" or "tenant/namespace/name".
// Errors wrap [ErrTopic].
func ParseTopic(s string) (Topic, error) {
	rest := strings.TrimPrefix(s, "topic://")
	p := strings.Split(rest, "/")
	if strings.Contains(rest, "://") || len(p) != 3 || p[0] == "" || p[1] == "" || p[2] == "" {
		return Topic{}, fmt.Errorf("%w: %q is not topic://tenant/namespace/name", ErrTopic, s)
	}
	return Topic{p[0], p[1], p[2]}, nil
}

// String returns "topic://tenant/namespace/name", or "tenant/namespace" of one.
func (t Topic) String() string {
	if t.Name == "" {
		return t.Tenant + "/" + t.Namespace
	}
	return "topic://" + t.Tenant + "/" + t.Namespace + "/" + t.Name
}

// path is the name as paths of calls have it: of a topic, or of a namespace.
func (t Topic) path() string {
	p := url.PathEscape(t.Tenant) + "/" + url.PathEscape(t.Namespace)
	if t.Name != "" {
		p += "/" + url.PathEscape(t.Name)
	}
	return p
}

// Layout returns the topic's ScalableTopicMetadata as the cluster's admin
// endpoint prints it.
func (c *Client) Layout(ctx context.Context, t Topic) ([]byte, error) {
	body, _, err := c.get(ctx, "/admin/v2/scalable/"+t.path())
	return body, err
}

// Entry is one entry of a log, as it is stored.
type Entry struct {
	Position entry.Position
	Raw      []byte
}

// Page is one answer of the plugin's raw reader.
type Page struct {
	Cluster string // the cluster that answered
	Entries []Entry
	Next    string // where to go on; empty at the end of the log
}

// Entry reads the entry of a segment's log at a position, whole. It is an
// [ErrNotFound] where the log has none there.
func (c *Client) Entry(ctx context.Context, t Topic, segment uint64, at entry.Position) ([]byte, error) {
	p, err := c.page(ctx, t, segment, "?max=1&from="+url.QueryEscape(at.String()))
	if err != nil {
		return nil, err
	}
	if len(p.Entries) != 1 || p.Entries[0].Position != at {
		return nil, fmt.Errorf("%w: segment %d of %s has no entry %s", ErrNotFound, segment, t, at)
	}
	return p.Entries[0].Raw, nil
}

// pageHead is the size of ledger, entry and length.
const pageHead = 8 + 8 + 4

// Entries reads a page of a segment's log from the position from on ("" is the
// start of the log). Errors wrap [ErrAnswer] where the answer is malformed.
func (c *Client) Entries(ctx context.Context, t Topic, segment uint64, from string) (Page, error) {
	query := ""
	if from != "" {
		query = "?from=" + url.QueryEscape(from)
	}
	return c.page(ctx, t, segment, query)
}

func (c *Client) page(ctx context.Context, t Topic, segment uint64, query string) (Page, error) {
	path := base + "entries/" + t.path() + "/" + strconv.FormatUint(segment, 10) + query
	body, header, err := c.get(ctx, path)
	if err != nil {
		return Page{}, err
	}
	p := Page{Cluster: header.Get("X-Georep-Cluster"), Next: header.Get("X-Georep-Next")}
	if p.Cluster == "" {
		return Page{}, fmt.Errorf("%w: %s: no X-Georep-Cluster header", ErrAnswer, path)
	}
	for at := 0; at < len(body); {
		if len(body)-at < pageHead {
			return Page{}, fmt.Errorf("%w: %s: byte %d: cut short", ErrAnswer, path, at)
		}
		pos := entry.Position{
			Ledger: int64(binary.BigEndian.Uint64(body[at:])),
			Entry:  int64(binary.BigEndian.Uint64(body[at+8:])),
		}
		n := int(binary.BigEndian.Uint32(body[at+16:]))
		at += pageHead
		if n > len(body)-at {
			return Page{}, fmt.Errorf("%w: %s: byte %d: an entry of %d bytes where %d are left",
				ErrAnswer, path, at-4, n, len(body)-at)
		}
		p.Entries = append(p.Entries, Entry{Position: pos, Raw: body[at : at+n : at+n]})
		at += n
	}
	if p.Next != "" && len(p.Entries) == 0 {
		return Page{}, fmt.Errorf("%w: %s: a next position and no entry", ErrAnswer, path)
	}
	return p, nil
}
