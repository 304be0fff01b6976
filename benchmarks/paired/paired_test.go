// SPDX-License-Identifier: Apache-2.0

package paired

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// bench is a clock that only the measured operations move, and a record of them.
type bench struct {
	now   time.Duration
	calls strings.Builder
}

func (b *bench) op(name string, cost func() time.Duration) func() error {
	return func() error {
		b.now += cost()
		if !strings.HasSuffix(b.calls.String(), name) {
			b.calls.WriteString(name)
		}
		return nil
	}
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func (b *bench) runner(rounds int) *Runner {
	return &Runner{Rounds: rounds, Span: time.Millisecond, Clock: func() time.Duration { return b.now }}
}

func TestRunAlternates(t *testing.T) {
	b := &bench{}
	r, err := b.runner(7).Run(b.op("o", always(2*time.Microsecond)), b.op("p", always(6*time.Microsecond)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Result{Ours: 2000, Peer: 6000, Ratio: 3, Rounds: 7}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	// op to warm up, then op po op po op po op; who comes twice in a row is recorded once
	if got, want := b.calls.String(), "opopopopop"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRunIsPaired: what slows the machine down for some rounds slows both, and
// does not show in the ratio.
func TestRunIsPaired(t *testing.T) {
	b := &bench{}
	slow := func(d time.Duration) func() time.Duration {
		return func() time.Duration {
			if b.now > 15*time.Millisecond {
				return 10 * d
			}
			return d
		}
	}
	r, err := b.runner(15).Run(b.op("o", slow(time.Microsecond)), b.op("p", slow(3*time.Microsecond)))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Ratio-3) > 0.01 || r.Spread > 0.01 {
		t.Errorf("%+v", r)
	}
	if r.Ours < 9000 {
		t.Errorf("ours %v: the slow rounds are the most", r.Ours)
	}
}

func TestRunFills(t *testing.T) {
	b := &bench{}
	calls := 0
	count := func() error { calls++; b.now += 10 * time.Microsecond; return nil }
	if _, err := b.runner(7).Run(count, b.op("p", always(time.Hour))); err != nil {
		t.Fatal(err)
	}
	// 100 fill the span; 1, 8, 64 and some more were needed to find that out
	if calls < 7*100+1+8+64 || calls > 7*101+1+8+64+101 {
		t.Errorf("%d calls", calls)
	}
}

func TestRunEndsWithAnError(t *testing.T) {
	b := &bench{}
	broken := errors.New("wrong answer")
	n := 0
	fails := func() error {
		if n++; n > 2000 {
			return broken
		}
		b.now += time.Microsecond
		return nil
	}
	if _, err := b.runner(7).Run(b.op("o", always(time.Microsecond)), fails); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := b.runner(6).Run(fails, fails); !errors.Is(err, ErrRounds) {
		t.Errorf("6 rounds: %v", err)
	}
}

func TestLimit(t *testing.T) {
	b := &bench{}
	r, err := b.runner(7).Limit(b.op("o", always(2*time.Microsecond)), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Result{Ours: 2000, Peer: 1e6, Ratio: 500, Rounds: 7}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	if _, err := b.runner(6).Limit(b.op("o", always(time.Second)), time.Second); !errors.Is(err, ErrRounds) {
		t.Errorf("6 rounds: %v", err)
	}
}

func TestOf(t *testing.T) {
	ours := []float64{1, 1, 1, 1, 1, 1, 1, 1, 100}
	peer := []float64{2, 1, 4, 2, 3, 2, 1, 2, 200}
	r, err := Of(ours, peer)
	if err != nil {
		t.Fatal(err)
	}
	// ratios, sorted: 1 1 2 2 2 2 2 3 4
	if want := (Result{Ours: 1, Peer: 2, Ratio: 2, Rounds: 9}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	if _, err := Of(ours, peer[:8]); !errors.Is(err, ErrRounds) {
		t.Errorf("uneven: %v", err)
	}
}

func TestQuantile(t *testing.T) {
	v := []float64{4, 1, 3, 2}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.25, 1.75}, {0.5, 2.5}, {1, 4}} {
		if got := Quantile(v, c.q); got != c.want {
			t.Errorf("%v: %v, want %v", c.q, got, c.want)
		}
	}
	if v[0] != 4 {
		t.Error("the values were sorted in place")
	}
}

func TestRow(t *testing.T) {
	r := Result{Ours: 2000, Peer: 3000, Ratio: 1.5, Spread: 0.1, Rounds: 7}.Row("c/x", "us", 1000, "floor")
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if *r.Ours != 2 || *r.Peer != 3 || *r.Ratio != 1.5 || *r.Spread != 0.1 || r.Rounds != 7 || r.PeerName != "floor" {
		t.Errorf("%+v", r)
	}
}

// TestCPU: work counts on the clock, and waiting does not.
func TestCPU(t *testing.T) {
	a := CPU()
	for n := uint64(1); CPU()-a < 20*time.Millisecond; n = n*6364136223846793005 + 1 {
	}
	b := CPU()
	time.Sleep(200 * time.Millisecond)
	if slept := CPU() - b; slept > 100*time.Millisecond {
		t.Errorf("%v of 200 ms of sleep", slept)
	}
}
