// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"georep/core/codec"
	"georep/core/entry"
)

// piece is what b stores of one of a's entries: all of it, or some messages.
type piece struct {
	record
	keys []string
}

// randomStory publishes entries on a and cuts them for b as replication may:
// whole, or in parts of whole keys, in any order that keeps every key's.
func randomStory(t *testing.T, r *rand.Rand) (a []record, b []piece) {
	t.Helper()
	l := split(t)
	var keys []string
	for i := range 6 {
		keys = append(keys, keyIn(l, uint64(1+i%2), i/2))
	}
	number := 0
	for e := range 4 + r.IntN(12) {
		var msgs []published
		for range 1 + r.IntN(8) {
			number++
			// Few bodies, so that many messages look alike but for their number in the batch.
			msgs = append(msgs, published{keys[r.IntN(len(keys))], fmt.Sprint(r.IntN(3)), uint64(r.IntN(2))})
		}
		raw := publish(t, codec.Codec(r.IntN(5)), nil, msgs...)
		a = append(a, record{0, raw})
		if r.IntN(2) == 0 {
			b = append(b, piece{record{0, whole(t, raw, "a", 0, at(int64(e)))}, keysOf(msgs)})
			continue
		}
		for i, k := range keysOf(msgs) {
			var some []published
			for _, m := range msgs {
				if m.key == k {
					some = append(some, m)
				}
			}
			raw := part(t, codec.Codec(r.IntN(5)), "a", 0, at(int64(e)), int64(i), some...)
			b = append(b, piece{record{0, raw}, []string{k}})
		}
	}
	shuffle(r, b)
	return a, b
}

func keysOf(msgs []published) []string {
	var out []string
	for _, m := range msgs {
		if !slices.Contains(out, m.key) {
			out = append(out, m.key)
		}
	}
	return out
}

// shuffle swaps neighbours that have no key in common.
func shuffle(r *rand.Rand, b []piece) {
	for range 3 * len(b) {
		if len(b) < 2 {
			return
		}
		i := r.IntN(len(b) - 1)
		if !share(b[i], b[i+1]) {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
}

func share(x, y piece) bool {
	return slices.ContainsFunc(x.keys, func(k string) bool { return slices.Contains(y.keys, k) })
}

func records(b []piece) []record {
	var out []record
	for _, p := range b {
		out = append(out, p.record)
	}
	return out
}

func TestRandomCopiesAreEqual(t *testing.T) {
	for seed := range uint64(300) {
		a, b := randomStory(t, rand.New(rand.NewPCG(seed, 1)))
		if r := compare(t, a, records(b)); !r.Equal {
			t.Fatalf("seed %d: a legal copy differs: %+v", seed, r)
		}
	}
}

func TestRandomFaultsAreFound(t *testing.T) {
	var done [3]int
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := randomStory(t, r)
		i := r.IntN(len(b))
		n := messagesIn(t, b[i].raw)
		switch kind := r.IntN(3); kind {
		case 0:
			got := compare(t, a, records(slices.Delete(b, i, i+1)))
			if got.Total.Lost != n || got.Total.Differences() != n {
				t.Fatalf("seed %d: %d messages removed: %+v", seed, n, got.Total)
			}
			done[kind]++
		case 1:
			got := compare(t, a, append(records(b), b[i].record))
			if got.Total.Duplicates != n || got.Total.Differences() != n {
				t.Fatalf("seed %d: %d messages repeated: %+v", seed, n, got.Total)
			}
			done[kind]++
		case 2:
			if i == 0 || !share(b[i-1], b[i]) {
				continue
			}
			b[i-1], b[i] = b[i], b[i-1]
			got := compare(t, a, records(b))
			if got.Total.OrderViolations == 0 || got.Total.Lost+got.Total.Duplicates != 0 {
				t.Fatalf("seed %d: neighbours with a common key swapped: %+v", seed, got.Total)
			}
			done[kind]++
		}
	}
	if min(done[0], done[1], done[2]) < 20 {
		t.Errorf("faults made: %v", done)
	}
}

func messagesIn(t *testing.T, raw []byte) int {
	t.Helper()
	f, err := entry.ParseFrame(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	var m entry.Metadata
	if err := m.Parse(f.Metadata); err != nil {
		t.Fatal(err)
	}
	return int(m.NumMessages)
}
