// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Point{
		"earliest": {At: Earliest}, "latest": {At: Latest}, "earliestNotOffloaded": {At: EarliestNotOffloaded},
		"0:0": {At: AtPosition}, "12:34": {At: AtPosition, Position: at(12, 34)},
		"0": {At: AtTime}, "1700000000123": {At: AtTime, Millis: 1700000000123},
		"2023-11-14T22:13:20Z": {At: AtTime, Millis: 1700000000000}, "2023-11-14T23:13:20.5+01:00": {At: AtTime, Millis: 1700000000500},
	} {
		p, err := Parse(text)
		if err != nil || p != want {
			t.Errorf("%q: %+v %v, want %+v", text, p, err, want)
		}
		if again, err := Parse(p.String()); err != nil || again != p {
			t.Errorf("%q is written %q, which reads as %+v %v", text, p, again, err)
		}
	}
	for _, text := range []string{"", "oldest", "Earliest", "earliest ", "-1", "-1:0", "1:-1", "1:2:3", "1.5", "01:2", "2023-11-14", "1900-01-01T00:00:00Z",
		"9223372036854775808", strings.Repeat("x", 1<<16)} {
		if p, err := Parse(text); !errors.Is(err, ErrStart) || len(err.Error()) > 400 {
			t.Errorf("%.20q: %v %v", text, p, err)
		}
	}
}

func TestChoose(t *testing.T) {
	type props = map[string]string
	all := Policy{Remote: "b", ReplicationStartAt: "earliest",
		Topic:     props{"georep.startAt.b": "1:1", "georep.startAt": "2:2", "georep.startAt.c": "9:9", "other": "x"},
		Namespace: props{"georep.startAt.b": "3:3", "georep.startAt": "4:4"}}
	without := func(topic, namespace int) Policy {
		p := Policy{Remote: "b", ReplicationStartAt: "earliest", Topic: props{"georep.startAt.c": "9:9"}, Namespace: props{}}
		for i, name := range []string{"georep.startAt.b", "georep.startAt"} {
			if i >= topic {
				p.Topic[name] = all.Topic[name]
			}
			if i >= namespace {
				p.Namespace[name] = all.Namespace[name]
			}
		}
		return p
	}
	bad := without(1, 0)
	bad.Topic["georep.startAt"] = "soon"
	for _, c := range []struct {
		p    Policy
		want Choice
	}{
		{all, Choice{Start: Point{At: AtPosition, Position: at(1, 1)}, Source: "topic georep.startAt.b", Ordinary: Earliest}},
		{without(1, 0), Choice{Start: Point{At: AtPosition, Position: at(2, 2)}, Source: "topic georep.startAt", Ordinary: Earliest}},
		{without(2, 0), Choice{Start: Point{At: AtPosition, Position: at(3, 3)}, Source: "namespace georep.startAt.b", Ordinary: Earliest}},
		{without(2, 1), Choice{Start: Point{At: AtPosition, Position: at(4, 4)}, Source: "namespace georep.startAt", Ordinary: Earliest}},
		{without(2, 2), Choice{Start: Point{At: Earliest}, Source: "replicationStartAt", Ordinary: Earliest}},
		{Policy{Remote: "b"}, Choice{Start: Point{At: Latest}, Source: "replicationStartAt", Ordinary: Latest}},
		{Policy{Remote: "b", ReplicationStartAt: "latest"}, Choice{Start: Point{At: Latest}, Source: "replicationStartAt", Ordinary: Latest}},
		{Policy{Remote: "b", ReplicationStartAt: "never"}, Choice{Source: "replicationStartAt", Ordinary: Latest,
			Trouble: `replicationStartAt: "never" is none of earliest, latest`}},
	} {
		if got := Choose(c.p); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	// a bad value is named, and the namespace's good one does not step in
	got := Choose(bad)
	if got.Start != (Point{}) || !strings.HasPrefix(got.Trouble, `topic georep.startAt: "soon" is none of earliest, latest, `) {
		t.Errorf("%+v", got)
	}
	// a good value makes up for what the broker's file says wrong
	if got := Choose(Policy{Remote: "b", ReplicationStartAt: "never", Topic: props{"georep.startAt": "latest"}}); got.Trouble != "" ||
		got.Start.At != Latest {
		t.Errorf("%+v", got)
	}
}
