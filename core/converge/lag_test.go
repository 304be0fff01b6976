// SPDX-License-Identifier: Apache-2.0

package converge

import (
	"slices"
	"strings"
	"testing"

	"georep/core/layout"
)

func (r *rig) lag(now, want int64) {
	r.t.Helper()
	if got := r.m.Status(now).Peers[0].LagMillis; got != want {
		r.t.Errorf("at %d a lag of %d ms, want %d", now, got, want)
	}
}

// TestLagEndsWithTheDrain: what was drained before a fold says nothing of what the fold
// seals, and a lag lasts until that is drained.
func TestLagEndsWithTheDrain(t *testing.T) {
	r := newRig(t)
	r.met()
	r.m.Drained(100, true)
	r.lag(900, 0)
	r.m.Received(1000, 1, state(1, 0x8000))
	r.want("mutate-fold")
	r.lag(1200, 200)
	r.commit(1500)
	r.take()
	r.lag(5000, 4000)
	r.m.Drained(6000, false)
	r.lag(6000, 5000)
	r.m.Drained(9000, true)
	r.lag(9000, 8000)
	r.lag(20_000, 8000)
}

// TestLagOfTwoChanges: the second comes before the first is drained, and is one difference with it; a third, later,
// is another one.
func TestLagOfTwoChanges(t *testing.T) {
	r := newRig(t)
	r.met()
	r.m.Received(1000, 1, state(1, 0x8000))
	r.commitFold(1500)
	r.m.Received(3000, 2, state(2, 0x4000, 0x8000))
	r.commitFold(3500)
	r.m.Drained(9000, true)
	r.lag(9500, 8000)
	r.m.Received(10_000, 3, state(3, 0x4000, 0x8000, 0xc000))
	r.commitFold(10_100)
	r.lag(10_500, 500)
	r.m.Drained(10_700, true)
	r.lag(11_000, 700)
}

func (r *rig) commitFold(now int64) {
	r.t.Helper()
	r.want("mutate-fold")
	r.commit(now)
	r.take()
}

// TestLagOfALayoutThatWasReadAgain: it is not this machine's change that has what the peer
// needs, and it has sealed something all the same.
func TestLagOfALayoutThatWasReadAgain(t *testing.T) {
	twin := newRig(t)
	twin.met()
	twin.m.Received(1, 1, state(1, 0x8000))
	twin.commitFold(2)
	r := newRig(t)
	r.met()
	r.m.Drained(100, true)
	r.m.Received(1000, 1, state(1, 0x8000))
	r.want("mutate-fold")
	r.m.Store(1300, twin.store)
	r.lag(4000, 3000)
	r.m.Drained(5000, true)
	r.lag(6000, 4000)
}

// TestLagWithoutAChange: the peer has merged again before anything was sealed here. A mark
// is no layout: what was drained is.
func TestLagWithoutAChange(t *testing.T) {
	r := newRig(t, 0x8000)
	r.met(0x8000)
	r.store.Splits = layout.SplitLog{{At: 0x8000, Parent: layout.Ring}}
	r.m.Store(1, r.store)
	r.take()
	r.m.Drained(100, true)
	r.m.WishMerge(200, 9, 0, 1)
	if got := r.take(); !strings.HasSuffix(got, "mutate-mark") {
		t.Fatal(got)
	}
	r.commit(300)
	r.take()
	r.m.Received(1000, 2, state(2, 0x8000, 0xc000))
	r.want("mutate-fold")
	r.m.Received(1200, 3, state(3, 0x8000))
	r.lag(5000, 200)
}

func (r *rig) silent(now int64, want ...int64) {
	r.t.Helper()
	var got []int64
	for _, p := range r.m.Status(now).Peers {
		got = append(got, p.SilentMillis)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("at %d silent for %v ms, want %v", now, got, want)
	}
}

// TestSilenceOfAPeerThatWasNeverHeard grows, as that of one that has fallen silent does.
func TestSilenceOfAPeerThatWasNeverHeard(t *testing.T) {
	r := newRig(t)
	r.silent(5000, 5000)
	r.m.Received(6000, 1, state(1))
	r.silent(7000, 1000)
	r.m.Members(8000, []string{"a", "b", "c"})
	r.silent(9000, 3000, 1000)
	r.m.Lead(20_000, 2)
	r.silent(21_000, 1000, 1000)
	r.take()
	r.m.PushFailed(21_500, "c", r.last.Token, true, "no such call", 0)
	r.silent(22_000, 2000, 0)
	r.m.Resign(23_000)
	r.silent(24_000, 0, 0)
}
