// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"georep/core/converge"
)

// counter is an answerer of cluster b whose states are words.
type counter struct {
	t *testing.T
	a *Answerer[string]
}

func newCounter(t *testing.T, change func(c *Config)) *counter {
	t.Helper()
	c := DefaultConfig("b")
	if change != nil {
		change(&c)
	}
	a, err := NewAnswerer[string](c)
	if err != nil {
		t.Fatal(err)
	}
	return &counter{t, a}
}

func request(cluster string, topics ...string) *Request[string] {
	r := &Request[string]{Version: 1, Cluster: cluster}
	for _, topic := range topics {
		r.States = append(r.States, Item[string]{Topic: "topic://t/n/" + topic, Cluster: cluster, State: topic})
	}
	return r
}

func (c *counter) receive(now int64, call uint64, r *Request[string]) {
	c.t.Helper()
	if err := c.a.Receive(now, call, "", r); err != nil {
		c.t.Fatal(err)
	}
}

func (c *counter) reply(now int64, token uint64, text string) {
	c.a.Replied(now, token, Answer[string]{Code: converge.OK, Text: text, Bytes: 10})
}

// want compares what there is to do: "x 1" hands x to its topic with token 1,
// "7:x ok text, y busy" is the response to call 7.
func (c *counter) want(what string) {
	c.t.Helper()
	var got []string
	for _, a := range c.a.Ready() {
		if d := a.Deliver; d != nil {
			got = append(got, fmt.Sprintf("%s %d", d.State, d.Token))
			continue
		}
		var list []string
		for _, x := range a.Respond.Response.Answers {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.TrimPrefix(x.Topic, "topic://t/n/"), x.Code, x.Text)))
		}
		got = append(got, fmt.Sprintf("%d:%s", a.Respond.Call, strings.Join(list, ", ")))
		if r := a.Respond.Response; r.Version != 1 || r.Cluster != "b" {
			c.t.Errorf("%+v", r)
		}
	}
	if s := strings.Join(got, "; "); s != what {
		c.t.Fatalf("%q, want %q", s, what)
	}
}

func TestAnswersComeInTheOrderOfTheRequest(t *testing.T) {
	c := newCounter(t, nil)
	r := request("a", "x", "y", "z")
	r.Version = 7 // a newer caller
	r.States[1].Bad = "cold[0]: no boundary at 5"
	c.receive(0, 7, r)
	c.want("x 1; z 2")
	c.reply(1, 2, "of z")
	c.reply(2, 2, "once more")
	c.want("")
	c.reply(3, 1, "of x")
	c.want("7:x ok of x, y bad-state cold[0]: no boundary at 5, z ok of z")
	c.reply(4, 1, "too late")
	c.want("")
	if c.a.WakeAt() != -1 || len(c.a.waits) != 0 {
		t.Errorf("something waits: %v", c.a.waits)
	}
	c.receive(5, 8, request("a"))
	c.want("8:")
}

func TestSlowTopicIsBusy(t *testing.T) {
	c := newCounter(t, nil)
	c.receive(1000, 1, request("a", "x", "y"))
	c.want("x 1; y 2")
	c.reply(1001, 1, "")
	if at := c.a.WakeAt(); at != 6000 {
		t.Errorf("wakes at %d", at)
	}
	c.a.Tick(5999)
	c.want("")
	c.a.Tick(6000)
	c.want("1:x ok, y busy the topic has not answered in time")
	c.reply(6001, 2, "")
	c.want("")
}

func TestAnswersOfOneResponseAreBounded(t *testing.T) {
	c := newCounter(t, nil)
	c.receive(0, 1, request("a", "x", "y", "z"))
	c.want("x 1; y 2; z 3")
	c.a.Replied(1, 1, Answer[string]{Code: converge.OK, Bytes: 2 * MaxBytes}) // the first always fits
	c.a.Replied(1, 2, Answer[string]{Code: converge.OK, Bytes: 1})
	c.a.Replied(1, 3, Answer[string]{Code: converge.NotLeader})
	c.want("1:x ok, y busy the answers are too large for one response, z busy the answers are too large for one response")
}

func TestAbandonedAndForgotten(t *testing.T) {
	c := newCounter(t, nil)
	c.receive(0, 1, request("a", "x"))
	c.receive(0, 2, request("a", "x", "y"))
	c.want("x 1; x 2; y 3")
	c.a.Abandon(1, 1)
	c.a.Forget(2, "topic://t/n/x")
	c.reply(3, 3, "")
	c.want("2:x not-leader the topic's controller moved, y ok")
	if c.a.Open() != 0 || len(c.a.waits) != 0 {
		t.Errorf("%d open, waiting %v", c.a.Open(), c.a.waits)
	}
}

// TestOneClusterLeavesRoomForOthers: what is open is bounded, for each cluster too.
func TestOneClusterLeavesRoomForOthers(t *testing.T) {
	c := newCounter(t, func(c *Config) { c.MaxOpen = 4 })
	c.receive(0, 1, request("a", "x"))
	c.receive(0, 2, request("a", "y"))
	err := c.a.Receive(0, 3, "", request("a", "z"))
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "2, 2 of them from a") {
		t.Errorf("a third one: %v", err)
	}
	c.receive(0, 3, request("c", "x"))
	c.receive(0, 4, request("c", "y"))
	if err := c.a.Receive(0, 5, "", request("d", "x")); !errors.Is(err, ErrBusy) {
		t.Errorf("a fifth one: %v", err)
	}
	for _, cluster := range []string{"a", "d"} {
		if err := c.a.Offer(0, "", request(cluster, "x")); !errors.Is(err, ErrBusy) {
			t.Errorf("offered by %s: %v", cluster, err)
		}
	}
	c.want("x 1; y 2; x 3; y 4")
	c.reply(1, 1, "")
	c.want("1:x ok")
	c.receive(1, 6, request("d", "x"))
}

func TestRequestNamesItsField(t *testing.T) {
	many := make([]string, MaxStates+1)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	for want, change := range map[string]func(r *Request[string]){
		"protocolVersion: absent":                             func(r *Request[string]) { r.Version = 0 },
		"cluster: 0 bytes":                                    func(r *Request[string]) { r.Cluster = "" },
		"cluster: 257 bytes":                                  func(r *Request[string]) { r.Cluster = strings.Repeat("a", 257) },
		`cluster: "b" is this cluster's own name`:             func(r *Request[string]) { r.Cluster = "b" },
		`cluster: "c" is said by "a"`:                         func(r *Request[string]) { r.Cluster = "c" },
		"states: 1001 are above the cap of 1000":              func(r *Request[string]) { *r = *request("a", many...) },
		`states[1].cluster: "c" in a request of "a"`:          func(r *Request[string]) { r.States[1].Cluster = "c" },
		"states[1].topic: topic://t/n/x is in states[0], too": func(r *Request[string]) { r.States[1].Topic = "topic://t/n/x" },
		`states[1].topic: exchange: bad field: "" is not`:     func(r *Request[string]) { r.States[1].Topic = "" },
		`"persistent://t/n/y" is not topic://`:                func(r *Request[string]) { r.States[1].Topic = "persistent://t/n/y" },
		`"topic://t/y" is not topic://tenant/namespace/name`:  func(r *Request[string]) { r.States[1].Topic = "topic://t/y" },
		`"topic://t//y" is not`:                               func(r *Request[string]) { r.States[1].Topic = "topic://t//y" },
		`"topic://t/n/y\n" has control characters`:            func(r *Request[string]) { r.States[1].Topic = "topic://t/n/y\n" },
		`y\xff" has control characters, or is no UTF-8`:       func(r *Request[string]) { r.States[1].Topic = "topic://t/n/y\xff" },
		"yyyyy…\" is too long":                                func(r *Request[string]) { r.States[1].Topic += strings.Repeat("y", MaxTopic) },
	} {
		c := newCounter(t, nil)
		r := request("a", "x", "y")
		change(r)
		offered, err := c.a.Offer(0, "a", r), c.a.Receive(0, 1, "a", r)
		if offered == nil || err == nil || offered.Error() != err.Error() {
			t.Errorf("offered: %v, received: %v", offered, err)
		}
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%v, want %s", err, want)
		}
		if c.a.Open() != 0 || len(c.a.Ready()) != 0 {
			t.Errorf("%s: something was done", want)
		}
	}
	c := newCounter(t, nil)
	if err := c.a.Offer(0, "a", request("a", "x")); err != nil || c.a.Open() != 0 || len(c.a.Ready()) != 0 {
		t.Errorf("offered: %v, %d open", err, c.a.Open())
	}
	c.receive(0, 1, request("a", "x"))
	if err := c.a.Receive(0, 1, "", request("c", "x")); err == nil || !strings.Contains(err.Error(), "call: 1 is being answered") {
		t.Errorf("a number twice: %v", err)
	}
}

// TestBothEndsTogether lets three topics of two clusters push through both machines
// until each has what the other has said last.
func TestBothEndsTogether(t *testing.T) {
	d, c := newDesk(t, func(c *Config) { c.MaxStates = 2 }), newCounter(t, nil)
	topics := []string{"x", "y", "z"}
	for i, topic := range topics {
		d.push(0, topic, uint64(i), topic+" state")
	}
	got, ends := map[string]string{}, []string{}
	for now := int64(0); now < 1000; now += 10 {
		d.s.Tick(now)
		for _, a := range d.s.Ready() {
			if a.Outcome != nil {
				ends = append(ends, fmt.Sprint(a.Outcome.Token, a.Outcome.Answer.State))
				continue
			}
			r := &Request[string]{Version: 1, Cluster: "a"}
			for _, s := range a.Call.States {
				r.States = append(r.States, Item[string]{Topic: "topic://t/n/" + s[:1], Cluster: "a", State: s})
			}
			c.receive(now, a.Call.ID, r)
		}
		for _, a := range slices.Backward(c.a.Ready()) {
			if a.Deliver != nil {
				got[a.Deliver.Topic] = a.Deliver.State
				c.a.Replied(now, a.Deliver.Token, Answer[string]{Code: converge.OK, State: "of " + a.Deliver.State})
			} else {
				d.s.Returned(now, a.Respond.Call, a.Respond.Response)
			}
		}
	}
	if len(got) != 3 || got["topic://t/n/y"] != "y state" {
		t.Errorf("received %v", got)
	}
	if want := []string{"0of x state", "1of y state", "2of z state"}; !slices.Equal(ends, want) {
		t.Errorf("%q, want %q", ends, want)
	}
}
