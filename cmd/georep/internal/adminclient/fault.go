// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	Method string
	URL    string // of the broker that answered
	Text   string // what it said, at most 4 KiB
	Server bool   // the web server said it, not an admin call
}

// Error returns one line: call, status, the server's words, and what to do
// where that is plain.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Text != "" && e.Text != http.StatusText(e.Status) {
		s += ": " + e.Text
	}
	switch e.Status {
	case http.StatusUnauthorized:
		s += " (give a super-user's token with --token-file or --token)"
	case http.StatusForbidden:
		s += " (the token is not a super-user's)"
	case http.StatusNotFound:
		if e.Server {
			s += " (the broker has no such call: is georep.nar configured there?)"
		}
	}
	return s
}

// Unwrap returns [ErrNotFound] for 404 and [ErrConflict] for 409.
func (e *StatusError) Unwrap() error {
	switch e.Status {
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrConflict
	}
	return nil
}

// passing says whether another try may help. A call that changes something is
// sent again only where the first one has not arrived.
func passing(method string, err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Status == http.StatusServiceUnavailable || s.Status == http.StatusTooManyRequests
	}
	if errors.Is(err, ErrRedirect) {
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	u, ok := errors.AsType[*url.Error](err)
	return ok && method == http.MethodGet && !u.Timeout()
}

// tlsAlert is how net/http quotes the answer of a TLS port to a plain request.
const tlsAlert = `malformed HTTP response "\x15`

// hint adds what to do to an error of the connection.
func hint(err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w (--tls-ca names the certificates to trust)", err)
	}
	if strings.Contains(err.Error(), tlsAlert) {
		return fmt.Errorf("%w (does this port speak TLS? https://)", err)
	}
	return err
}

var (
	jettyMessage = regexp.MustCompile(`(?s)<th>MESSAGE:</th>\s*<td>(.*?)</td>`)
	htmlTitle    = regexp.MustCompile(`(?s)<title>(.*?)</title>`)
)

// message finds what a broker wants to say: {"reason": …} from an admin call,
// else from the web server around it an HTML page or text.
func message(body []byte) (text string, server bool) {
	var r struct{ Reason string }
	if json.Unmarshal(body, &r) == nil && r.Reason != "" {
		return r.Reason, false
	}
	text = string(body)
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		found := jettyMessage.FindStringSubmatch(text)
		if found == nil {
			found = htmlTitle.FindStringSubmatch(text)
		}
		if found == nil {
			return "", true
		}
		text = html.UnescapeString(found[1])
	}
	return strings.Join(strings.Fields(text), " "), true
}
