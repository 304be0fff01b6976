// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func newBudget(t *testing.T, c Config) *Budget {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.Advance(0)
	return b
}

func TestConfigRefusesWhatWouldStopReplication(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		name string
	}{
		{Config{Slots: 1}, "BytesPerSecond"},
		{Config{BytesPerSecond: -1, Slots: 1}, "BytesPerSecond"},
		{Config{BytesPerSecond: 1}, "Slots"},
		{Config{BytesPerSecond: 1, Slots: -4}, "Slots"},
		{Config{BytesPerSecond: 1, Slots: 1, BurstBytes: -1}, "BurstBytes"},
		{Config{BytesPerSecond: 1, Slots: 1, InFlightBytes: -1}, "InFlightBytes"},
		{Config{BytesPerSecond: 1, Slots: 1, InFlightBytesPerRemote: -1}, "InFlightBytesPerRemote"},
		{Config{BytesPerSecond: math.MaxInt64, Slots: 1}, "BytesPerSecond"},
	} {
		_, err := New(tc.c)
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.name+" is") {
			t.Errorf("%+v: error %v, want one that names %s", tc.c, err, tc.name)
		}
	}
}

// script runs one command a line and returns what Granted gave, so that each
// case reads as a story: "req k r n", "ret k", "at n", "chg r n", "unc r n",
// "go" (prints the grants), "wake", "room r".
func script(t *testing.T, b *Budget, lines string) string {
	t.Helper()
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		for cmd := range strings.SplitSeq(line, ";") {
			var op string
			var x, y, z int64
			n, _ := fmt.Sscan(cmd, &op, &x, &y, &z)
			if n == 0 {
				continue
			}
			switch op {
			case "req":
				b.Request(Key(x), uint32(y), z)
			case "ret":
				b.Return(Key(x))
			case "at":
				b.Advance(x)
			case "chg":
				b.Charge(uint32(x), y)
			case "unc":
				b.Uncharge(uint32(x), y)
			case "go":
				out = append(out, fmt.Sprint(b.Granted(nil)))
			case "wake":
				out = append(out, fmt.Sprintf("wake=%d", b.NextWakeNanos()))
			case "room":
				out = append(out, fmt.Sprintf("room=%d", b.Room(uint32(x))))
			default:
				t.Fatalf("unknown command %q", op)
			}
		}
	}
	return strings.Join(out, " ")
}

func TestScripts(t *testing.T) {
	small := Config{BytesPerSecond: 1000, BurstBytes: 100, Slots: 2, InFlightBytes: 1000, InFlightBytesPerRemote: 300}
	for _, tc := range []struct {
		name, in, want string
	}{
		{"slots bound what runs at once",
			"req 1 1 10; req 2 1 10; req 3 1 10; go; go; ret 1; go", "[1 2] [] [3]"},
		{"served round-robin: who was served queues behind who waits",
			"req 1 1 1; req 2 1 1; req 3 1 1; go; ret 1; ret 2; req 1 1 1; req 2 1 1; go; ret 3; ret 1; go",
			"[1 2] [3 1] [2]"},
		{"a repeated request is the same request",
			"req 1 1 10; req 1 1 90; go; req 1 1 10; ret 1; go", "[1] []"},
		{"tokens come back with time, to the nanosecond",
			"req 1 1 100; go; ret 1; req 2 1 50; go; wake; at 49999999; go; wake; at 50000000; go", "[1] [] wake=50000000 [] wake=50000000 [2]"},
		{"larger than the bucket goes into debt and is not refused",
			"req 1 1 1100; go; ret 1; req 2 1 10; go; wake; at 1009999999; go; at 1010000000; go", "[1] [] wake=1010000000 [] [2]"},
		{"a large head is not overtaken by small ones behind it",
			"req 1 1 60; go; ret 1; req 2 1 500; req 3 1 1; go; at 60000000; go", "[1] [] [2]"},
		{"a remote at its cap gets no slot and holds back nobody",
			"chg 1 300; req 1 1 10; req 2 2 10; req 3 1 10; go; unc 1 1; go", "[2] [1]"},
		{"a held slot counts against its remote",
			"chg 1 290; req 1 1 20; req 2 1 20; go; ret 1; go", "[1] [2]"},
		{"at the broker's cap a remote with nothing in flight still gets one",
			"chg 1 300; chg 2 300; chg 3 300; chg 4 300; req 1 4 1; req 2 5 1; req 3 5 1; go", "[2]"},
		{"room is what both caps leave, never negative, 1 when idle",
			"room 1; chg 1 299; room 1; chg 1 9; room 1; chg 2 300; chg 3 300; chg 4 300; room 5; unc 1 308; room 1",
			"room=300 room=1 room=0 room=1 room=100"},
		{"cancelled while waiting",
			"req 1 1 1; req 2 1 1; ret 1; go; wake", "[2] wake=0"},
		{"time does not run back",
			"at 1000; req 1 1 100; go; ret 1; at 10; req 2 1 1; go; at 1001000; go", "[1] [] [2]"},
		{"waiting for a slot is not waiting for time",
			"req 1 1 1; req 2 1 1; req 3 1 1; go; wake", "[1 2] wake=0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := script(t, newBudget(t, small), tc.in); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestNothingIsKeptForWhoHoldsNothing(t *testing.T) {
	b := newBudget(t, Config{BytesPerSecond: 1 << 30, Slots: 4})
	for i := range Key(10_000) {
		b.Request(i, uint32(i%100), 100)
		if i%3 == 0 {
			b.Return(i)
		}
		b.Advance(int64(i) * 1_000_000)
		for _, k := range b.Granted(nil) {
			b.Charge(uint32(k%100), 50)
			b.Return(k)
			b.Uncharge(uint32(k%100), 50)
		}
	}
	if s := b.Stats(); s.Waiting != 0 || s.Held != 0 || s.Remotes != 0 || s.InFlight != 0 || s.Miscounted != 0 {
		t.Errorf("left over: %+v", s)
	}
	if len(b.keys) != 0 || len(b.byID) != 0 {
		t.Errorf("%d keys, %d remotes kept", len(b.keys), len(b.byID))
	}
	b.Uncharge(7, 1)
	if got := b.Stats().Miscounted; got != 1 {
		t.Errorf("Miscounted %d, want 1", got)
	}
}

func TestLongPauseFillsTheBucketOnce(t *testing.T) {
	b := newBudget(t, Config{BytesPerSecond: 1 << 40, BurstBytes: 5, Slots: 1})
	b.Request(1, 1, 1<<62)
	if got := b.Granted(nil); len(got) != 1 {
		t.Fatal("a huge request was refused")
	}
	b.Return(1)
	b.Advance(math.MaxInt64)
	if got := b.Stats().Tokens; got != 5 {
		t.Errorf("tokens %d after an endless pause, want the burst of 5", got)
	}
}
