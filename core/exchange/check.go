// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors about what a peer says; the text names the field as it is in JSON.
var (
	ErrRequest  = errors.New("exchange: bad request")
	ErrResponse = errors.New("exchange: bad response")
	ErrField    = errors.New("exchange: bad field")
)

// Check finds what no honest caller says. caller is whom the call was authenticated
// as, empty where that is no cluster's name. A version above [Version] is welcome: it
// is answered in ours. What a state says of its layout is the topic's machine's to
// judge, see [Item.Bad].
func (r *Request[S]) Check(us, caller string) error {
	if err := r.check(us, caller); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

func (r *Request[S]) check(us, caller string) error {
	if r.Version < 1 {
		return fmt.Errorf("%w: protocolVersion: absent", ErrField)
	}
	if err := checkName("cluster", r.Cluster); err != nil {
		return err
	}
	switch {
	case r.Cluster == us:
		return fmt.Errorf("%w: cluster: %q is this cluster's own name", ErrField, us)
	case caller != "" && r.Cluster != caller:
		return fmt.Errorf("%w: cluster: %q is said by %q", ErrField, r.Cluster, caller)
	case len(r.States) > MaxStates:
		return fmt.Errorf("%w: states: %d are above the cap of %d", ErrField, len(r.States), MaxStates)
	}
	first := make(map[string]int, len(r.States))
	for i := range r.States {
		s := &r.States[i]
		if err := CheckTopic(s.Topic); err != nil {
			return fmt.Errorf("states[%d].%w", i, err)
		}
		if j, twice := first[s.Topic]; twice {
			return fmt.Errorf("%w: states[%d].topic: %s is in states[%d], too", ErrField, i, s.Topic, j)
		}
		first[s.Topic] = i
		if s.Cluster != r.Cluster {
			return fmt.Errorf("%w: states[%d].cluster: %q in a request of %q", ErrField, i, s.Cluster, r.Cluster)
		}
	}
	return nil
}

// check finds an answer that is not the one to a call with these topics.
func (r *Response[S]) check(cluster string, sent []*push[S]) error {
	switch {
	case r.Version < 1:
		return fmt.Errorf("%w: protocolVersion: absent", ErrResponse)
	case r.Cluster != cluster:
		return fmt.Errorf("%w: cluster: %q answers for %q", ErrResponse, clip(r.Cluster), cluster)
	case len(r.Answers) != len(sent):
		return fmt.Errorf("%w: answers: %d to %d states", ErrResponse, len(r.Answers), len(sent))
	}
	for i, p := range sent {
		if r.Answers[i].Topic != p.Topic {
			return fmt.Errorf("%w: answers[%d].topic: %q, asked was %s", ErrResponse, i, clip(r.Answers[i].Topic), p.Topic)
		}
	}
	return nil
}

// CheckTopic wants topic://tenant/namespace/name. Errors wrap [ErrField].
func CheckTopic(topic string) error {
	bad := func(why string) error { return fmt.Errorf("topic: %w: %q %s", ErrField, clip(topic), why) }
	if len(topic) > MaxTopic {
		return bad("is too long")
	}
	if !utf8.ValidString(topic) || strings.IndexFunc(topic, unicode.IsControl) >= 0 {
		return bad("has control characters, or is no UTF-8")
	}
	path, scalable := strings.CutPrefix(topic, "topic://")
	tenant, rest, both := strings.Cut(path, "/")
	namespace, name, all := strings.Cut(rest, "/")
	if !scalable || !both || !all || tenant == "" || namespace == "" || name == "" {
		return bad("is not topic://tenant/namespace/name")
	}
	return nil
}

// checkName wants a name of a cluster.
func checkName(field, name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("%w: %s: %d bytes", ErrField, field, len(name))
	}
	if !utf8.ValidString(name) || strings.IndexFunc(name, unicode.IsControl) >= 0 {
		return fmt.Errorf("%w: %s: %q has control characters, or is no UTF-8", ErrField, field, name)
	}
	return nil
}

// clip shortens what a peer said for an error text.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
