// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"georep/core/converge"
)

// desk is a sender of cluster a whose states are words; it says what it sees in words.
type desk struct {
	t *testing.T
	s *Sender[string]
}

func newDesk(t *testing.T, change func(c *Config)) *desk {
	t.Helper()
	c := DefaultConfig("a")
	if change != nil {
		change(&c)
	}
	s, err := NewSender[string](c)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, s}
}

// push sends word to b; its topic is topic://t/n/<topic>, its size that of the word.
func (d *desk) push(now int64, topic string, token uint64, word string) {
	d.s.Push(now, Push[string]{Cluster: "b", Topic: "topic://t/n/" + topic, Token: token, State: word, Bytes: len(word)})
}

// want compares what there is to do: "1@address:x,y" is call 1 with states x and y,
// "x=7 ok" the outcome of topic x's token 7.
func (d *desk) want(what string) {
	d.t.Helper()
	var got []string
	for _, a := range d.s.Ready() {
		if c := a.Call; c != nil {
			got = append(got, fmt.Sprintf("%d@%s:%s", c.ID, c.Address, strings.Join(c.States, ",")))
			continue
		}
		o := a.Outcome
		end := "failed"
		if o.Answer != nil {
			end = o.Answer.Code.String()
		}
		got = append(got, fmt.Sprintf("%s=%d %s", strings.TrimPrefix(o.Topic, "topic://t/n/"), o.Token, end))
	}
	if s := strings.Join(got, "; "); s != what {
		d.t.Fatalf("%q, want %q", s, what)
	}
}

// returned answers a call; each answer is topic=code, or topic=>leader.
func (d *desk) returned(now int64, call uint64, answers ...string) {
	r := &Response[string]{Version: 1, Cluster: "b"}
	for _, text := range answers {
		topic, what, _ := strings.Cut(text, "=")
		a := Answer[string]{Topic: "topic://t/n/" + topic, Code: converge.OK}
		if leader, moved := strings.CutPrefix(what, ">"); moved {
			a.Code, a.Leader = converge.NotLeader, leader
		}
		r.Answers = append(r.Answers, a)
	}
	d.s.Returned(now, call, r)
}

func TestPushesGoTogether(t *testing.T) {
	d := newDesk(t, nil)
	d.push(1000, "x", 1, "x1")
	d.push(1020, "y", 1, "y1")
	d.want("")
	if at := d.s.WakeAt(); at != 1050 {
		t.Errorf("wakes at %d", at)
	}
	d.s.Tick(1050)
	d.want("1@:x1,y1")
	d.push(1060, "z", 5, "z1")
	d.s.Tick(2000)
	d.want("") // one call at a time
	d.returned(2001, 1, "x=ok", "y=ok")
	d.want("x=1 ok; y=1 ok; 2@:z1")
	d.returned(2002, 1, "x=ok", "y=ok") // once more
	d.want("")
	d.s.Failed(2003, 2, Failure{Text: "503"})
	d.want("z=5 failed")
	if st := d.s.Status(3000); len(st) != 1 || st[0].Count != (Counters{Calls: 1, Failures: 1, States: 3}) || st[0].UnderWay != 0 {
		t.Errorf("%+v", st)
	}
	if at := d.s.WakeAt(); at != -1 {
		t.Errorf("wakes at %d", at)
	}
}

func TestFullCallsDoNotWait(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxStates, c.MaxBytes = 3, 10 })
	for i, topic := range []string{"p", "q", "r", "s"} {
		d.push(0, topic, uint64(i), topic)
	}
	d.want("1@:p,q,r")
	d.returned(1, 1, "p", "q", "r")
	d.want("p=0 ok; q=1 ok; r=2 ok")
	d.push(2, "t", 4, "ten letters")
	d.want("2@:s") // more than fits is there
	d.returned(3, 2, "s")
	d.want("s=3 ok")
	d.push(4, "u", 5, "u")
	d.want("3@:ten letters") // alone, and not never
}

func TestNewestPushCounts(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxStates = 2 })
	d.push(0, "x", 1, "x1")
	d.push(0, "y", 1, "y1")
	d.want("1@:x1,y1")
	d.push(1, "x", 1, "x of a new machine")
	d.push(1, "z", 1, "z1")
	d.push(2, "x", 2, "x2") // in the place of the one before
	d.want("")
	d.returned(3, 1, "x=ok", "y=ok")
	d.want("y=1 ok; 2@:x2,z1") // nothing of x: its token 1 is another one by now
	d.returned(4, 2, "x=ok", "z=ok")
	d.want("x=2 ok; z=1 ok")
	if c := d.s.Status(5)[0].Count; c.Replaced != 2 {
		t.Errorf("%+v", c)
	}
}

// TestLoudTopicWaitsItsTurn: who pushes again and again is not served before those
// who waited.
func TestLoudTopicWaitsItsTurn(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxStates = 1 })
	d.push(0, "loud", 1, "l1")
	d.want("1@:l1")
	d.push(1, "p", 1, "p1")
	d.push(1, "q", 1, "q1")
	d.push(1, "loud", 2, "l2")
	d.push(2, "loud", 3, "l3")
	for i, turn := range []string{"p", "q", "loud"} {
		d.s.Failed(int64(3+i), uint64(1+i), Failure{})
		for _, a := range d.s.Ready() {
			if a.Call != nil && a.Call.States[0][0] != turn[0] {
				t.Errorf("turn of %s: %v", turn, a.Call.States)
			}
		}
	}
}

func TestPushIsPassedOnToTheLeader(t *testing.T) {
	d := newDesk(t, nil)
	for _, topic := range []string{"x", "y", "z"} {
		d.push(0, topic, 1, topic+"1")
	}
	d.s.Tick(50)
	d.want("1@:x1,y1,z1")
	d.returned(60, 1, "x=>b2", "y=ok", "z=>b2")
	d.want("y=1 ok; 2@b2:x1,z1")
	d.returned(70, 2, "x=ok", "z=>b3") // z moved meanwhile: its machine tries again
	d.want("x=1 ok; z=1 not-leader")
	d.push(100, "x", 2, "x2")
	d.push(100, "z", 2, "z2")
	d.s.Tick(150)
	d.want("3@b2:x2; 4@b3:z2") // the ways are known
	d.s.Failed(160, 3, Failure{Text: "connection refused"})
	d.returned(160, 4, "z=>") // nobody leads z, says b3
	d.want("x=2 failed; z=2 not-leader")
	d.push(200, "x", 3, "x3")
	d.push(200, "z", 3, "z3")
	d.s.Tick(250)
	d.want("5@:x3,z3") // and forgotten
	if st := d.s.Status(250)[0]; st.Count.Moved != 2 || st.RememberedWay != 0 {
		t.Errorf("%+v", st)
	}
}

func TestCallsEndByThemselves(t *testing.T) {
	d := newDesk(t, nil)
	d.push(0, "x", 1, "x1")
	d.s.Tick(50)
	d.want("1@:x1")
	if at := d.s.WakeAt(); at != 30_050 {
		t.Errorf("wakes at %d", at)
	}
	d.s.Tick(30_050)
	d.want("x=1 failed")
	d.returned(30_060, 1, "x=ok")
	d.want("")
}

func TestForgottenTopicHearsNothing(t *testing.T) {
	d := newDesk(t, nil)
	d.push(0, "x", 1, "x1")
	d.push(0, "y", 1, "y1")
	d.s.Forget(1, "topic://t/n/x")
	d.s.Tick(50)
	d.want("1@:y1")
	d.s.Forget(51, "topic://t/n/y")
	d.returned(60, 1, "y=ok")
	d.want("")
	for _, p := range d.s.peers {
		if len(p.newest)+len(p.leaders)+len(p.lanes) != 0 {
			t.Errorf("something is kept: %+v", p)
		}
	}
}

func TestResponseHasToFitTheCall(t *testing.T) {
	for want, change := range map[string]func(r *Response[string]){
		"protocolVersion: absent":          func(r *Response[string]) { r.Version = 0 },
		`cluster: "c" answers for "b"`:     func(r *Response[string]) { r.Cluster = "c" },
		"answers: 1 to 2 states":           func(r *Response[string]) { r.Answers = r.Answers[:1] },
		`answers[0].topic: "topic://t/n/y`: func(r *Response[string]) { r.Answers[0] = r.Answers[1] },
	} {
		d := newDesk(t, nil)
		d.push(0, "x", 1, "x1")
		d.push(0, "y", 1, "y1")
		d.s.Tick(50)
		d.s.Ready()
		r := &Response[string]{Version: 9, Cluster: "b", Answers: []Answer[string]{{Topic: "topic://t/n/x"}, {Topic: "topic://t/n/y"}}}
		change(r)
		d.s.Returned(60, 1, r)
		out := d.s.Ready()
		if len(out) != 2 || out[0].Outcome == nil || out[0].Outcome.Answer != nil ||
			!strings.Contains(out[0].Outcome.Failure.Text, want) {
			t.Errorf("want %s: %+v", want, out)
		}
	}
}

// TestThousandTopicsAreFewCalls is anti-entropy: all push within a moment.
func TestThousandTopicsAreFewCalls(t *testing.T) {
	d := newDesk(t, nil)
	calls, states := 0, 0
	for i := range 1000 {
		d.push(int64(i/25), fmt.Sprint("t", i), 1, "some state")
	}
	for now := int64(40); d.s.WakeAt() >= 0; now++ {
		d.s.Tick(now)
		for _, a := range d.s.Ready() {
			if a.Call != nil {
				calls, states = calls+1, states+len(a.Call.States)
				d.s.Failed(now, a.Call.ID, Failure{})
			}
		}
	}
	if calls != 2 || states != 1000 {
		t.Errorf("%d calls with %d states", calls, states)
	}
}

func TestConfigNamesItsField(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"cluster: 0 bytes":                     func(c *Config) { c.Cluster = "" },
		`cluster: "a\x00" has control`:         func(c *Config) { c.Cluster = "a\x00" },
		"max states: 1001 is not in 1..1000":   func(c *Config) { c.MaxStates = MaxStates + 1 },
		"max bytes: 0 is not in 1..1572864":    func(c *Config) { c.MaxBytes = 0 },
		"gather: -1 is not in 0..60000":        func(c *Config) { c.GatherMillis = -1 },
		"call: 0 is not in 1..3600000":         func(c *Config) { c.CallMillis = 0 },
		"answer: 3600001 is not in 1..3600000": func(c *Config) { c.AnswerMillis = 3_600_001 },
		"max open: 1 is not in 2..65536":       func(c *Config) { c.MaxOpen = 1 },
	} {
		c := DefaultConfig("a")
		change(&c)
		_, err := NewSender[string](c)
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := NewAnswerer[string](c); !errors.Is(err, ErrConfig) {
			t.Errorf("answerer: %v", err)
		}
	}
}
