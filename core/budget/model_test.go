// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// model is the budget again, deliberately dumb: one slice, whole seconds.
type model struct {
	c       Config
	tokens  int64
	waiting []entry
	held    map[Key]entry
	flight  map[uint32]int64
}

type entry struct {
	k      Key
	remote uint32
	bytes  int64
}

func (m *model) used(r uint32) (own, all int64) {
	for id, n := range m.flight {
		all += n
		if id == r {
			own += n
		}
	}
	for _, e := range m.held {
		all += e.bytes
		if e.remote == r {
			own += e.bytes
		}
	}
	return own, all
}

func (m *model) known(k Key) bool {
	_, ok := m.held[k]
	return ok || slices.ContainsFunc(m.waiting, func(e entry) bool { return e.k == k })
}

func (m *model) granted() (out []Key) {
	for len(m.held) < m.c.Slots {
		i := slices.IndexFunc(m.waiting, func(e entry) bool {
			own, all := m.used(e.remote)
			return own == 0 || (own < m.c.InFlightBytesPerRemote && all < m.c.InFlightBytes)
		})
		if i < 0 || m.tokens < min(m.waiting[i].bytes, m.c.BurstBytes) {
			return out
		}
		e := m.waiting[i]
		m.waiting = slices.Delete(m.waiting, i, i+1)
		m.held[e.k] = e
		m.tokens -= e.bytes
		out = append(out, e.k)
	}
	return out
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := Config{BytesPerSecond: 1 + rng.Int64N(50), BurstBytes: 1 + rng.Int64N(100), Slots: 1 + rng.IntN(3),
			InFlightBytes: 50 + rng.Int64N(200), InFlightBytesPerRemote: 1 + rng.Int64N(120)}
		b := newBudget(t, c)
		m := &model{c: c, tokens: c.BurstBytes, held: map[Key]entry{}, flight: map[uint32]int64{}}
		now := int64(1)
		b.Advance(now)
		m.tokens = c.BurstBytes
		for step := range 400 {
			k, r := Key(rng.IntN(12)), uint32(rng.IntN(4))
			switch rng.IntN(6) {
			case 0, 1:
				n := rng.Int64N(150)
				b.Request(k, r, n)
				if !m.known(k) {
					m.waiting = append(m.waiting, entry{k, r, n})
				}
			case 2:
				b.Return(k)
				delete(m.held, k)
				m.waiting = slices.DeleteFunc(m.waiting, func(e entry) bool { return e.k == k })
			case 3:
				n := 1 + rng.Int64N(60)
				b.Charge(r, n)
				m.flight[r] += n
			case 4:
				n := min(m.flight[r], rng.Int64N(100))
				b.Uncharge(r, n)
				m.flight[r] -= n
			case 5:
				sec := rng.Int64N(4)
				now += sec * 1_000_000_000
				b.Advance(now)
				m.tokens = min(m.tokens+sec*c.BytesPerSecond, c.BurstBytes)
			}
			if wake := b.NextWakeNanos(); wake > now {
				// Due by the clock alone: nothing may be granted before that time.
				if got := b.Granted(nil); len(got) != 0 {
					t.Fatalf("seed %d step %d: wake in the future, yet granted %v", seed, step, got)
				}
			}
			got, want := b.Granted(nil), m.granted()
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d step %d: granted %v, model %v", seed, step, got, want)
			}
			own, all := m.used(r)
			room := max(min(c.InFlightBytesPerRemote-own, c.InFlightBytes-all), 0)
			if own == 0 {
				room = max(room, 1)
			}
			if s := b.Stats(); s.Tokens != m.tokens || s.Held != len(m.held) || s.Waiting != len(m.waiting) || s.InFlight != all || b.Room(r) != room {
				t.Fatalf("seed %d step %d: %+v room %d; model tokens %d held %d waiting %d in flight %d room %d",
					seed, step, s, b.Room(r), m.tokens, len(m.held), len(m.waiting), all, room)
			}
		}
	}
}
