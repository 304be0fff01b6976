// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"georep/core/budget"
	"georep/internal/budgetmodel"
)

// granted takes tokens for the requests whose turn it is, while slots and tokens last.
func granted(m *budgetmodel.Book, tokens *int64) (out []budget.Key) {
	for len(m.Held) < m.Config.Slots {
		i := m.Next()
		if i < 0 || *tokens < min(m.Waiting[i].Bytes, m.Config.BurstBytes) {
			return out
		}
		c := m.Grant(i)
		*tokens -= c.Bytes
		out = append(out, c.Key)
	}
	return out
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := budget.Config{BytesPerSecond: 1 + rng.Int64N(50), BurstBytes: 1 + rng.Int64N(100), Slots: 1 + rng.IntN(3),
			InFlightBytes: 50 + rng.Int64N(200), InFlightBytesPerRemote: 1 + rng.Int64N(120)}
		b, err := budget.New(c)
		if err != nil {
			t.Fatal(err)
		}
		m, tokens := budgetmodel.New(c), c.BurstBytes
		now := int64(1)
		b.Advance(now)
		for step := range 400 {
			k, r := budget.Key(rng.IntN(12)), uint32(rng.IntN(4))
			switch rng.IntN(6) {
			case 0, 1:
				n := rng.Int64N(150)
				b.Request(k, r, n)
				m.Ask(budgetmodel.Claim{Key: k, Remote: r, Bytes: n})
			case 2:
				b.Return(k)
				m.Return(k)
			case 3:
				n := 1 + rng.Int64N(60)
				b.Charge(r, n)
				m.Charge(r, n)
			case 4:
				n := min(m.Flight(r), rng.Int64N(100))
				b.Uncharge(r, n)
				m.Charge(r, -n)
			case 5:
				sec := rng.Int64N(4)
				now += sec * 1_000_000_000
				b.Advance(now)
				tokens = min(tokens+sec*c.BytesPerSecond, c.BurstBytes)
			}
			if wake := b.NextWakeNanos(); wake > now {
				// Due by the clock alone: nothing may be granted before that time.
				if got := b.Granted(nil); len(got) != 0 {
					t.Fatalf("seed %d step %d: wake in the future, yet granted %v", seed, step, got)
				}
			}
			got, want := b.Granted(nil), granted(m, &tokens)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d step %d: granted %v, model %v", seed, step, got, want)
			}
			own, all := m.Used(r)
			room := max(min(c.InFlightBytesPerRemote-own, c.InFlightBytes-all), 0)
			if own == 0 {
				room = max(room, 1)
			}
			if s := b.Stats(); s.Tokens != tokens || s.Held != len(m.Held) || s.Waiting != len(m.Waiting) || s.InFlight != all || b.Room(r) != room {
				t.Fatalf("seed %d step %d: %+v room %d; model tokens %d held %d waiting %d in flight %d room %d",
					seed, step, s, b.Room(r), tokens, len(m.Held), len(m.Waiting), all, room)
			}
		}
	}
}
