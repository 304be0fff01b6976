// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// base is where the plugin's calls live.
const base = "/admin/v2/scalable-repl/"

// ParseTarget reads a topic's name like [ParseTopic], or "tenant/namespace":
// then Name is empty. Errors wrap [ErrTopic].
func ParseTarget(s string) (Topic, error) {
	p := strings.Split(s, "/")
	if len(p) == 2 && p[0] != "" && p[1] != "" && !strings.Contains(s, ":") {
		return Topic{Tenant: p[0], Namespace: p[1]}, nil
	}
	return ParseTopic(s)
}

// Status returns the plugin's JSON on the replication of a topic, or of every
// scalable topic of a namespace where t has no name.
func (c *Client) Status(ctx context.Context, t Topic) ([]byte, error) {
	body, _, err := c.get(ctx, base+"status/"+t.path())
	return body, err
}

// Parked returns the plugin's JSON on the parked entries of a topic; remote
// narrows it to one remote cluster where it is not empty.
func (c *Client) Parked(ctx context.Context, t Topic, remote string) ([]byte, error) {
	path := base + t.path() + "/parked"
	if remote != "" {
		path += "?remote=" + url.QueryEscape(remote)
	}
	body, _, err := c.get(ctx, path)
	return body, err
}

// Bootstrap returns the plugin's JSON on where the replication of a topic began;
// remote narrows it to one remote cluster where it is not empty.
func (c *Client) Bootstrap(ctx context.Context, t Topic, remote string) ([]byte, error) {
	path := base + t.path() + "/bootstrap"
	if remote != "" {
		path += "?remote=" + url.QueryEscape(remote)
	}
	body, _, err := c.get(ctx, path)
	return body, err
}

// Operate makes a call that changes the replication of a topic, such as "pause",
// or, where t has no name, of a namespace, and returns the plugin's JSON.
func (c *Client) Operate(ctx context.Context, t Topic, call string, arguments map[string]any) ([]byte, error) {
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	path := base + t.path() + "/" + call
	if t.Name == "" {
		path = base + call + "/" + t.path()
	}
	answer, _, err := c.call(ctx, http.MethodPost, path, body)
	return answer, err
}
