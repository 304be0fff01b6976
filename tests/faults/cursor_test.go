// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/window"
)

// TestFault49TrimmedBelowTheCursor: a random cursor that others move past entries
// which were not sent: what they took is counted once, exactly, and announced;
// what the window holds arrives all the same and is not counted.
func TestFault49TrimmedBelowTheCursor(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(49, seed))
		r := newRig(t, ring(t, keyhash.M1, 1), nil)
		var left, taken uint64 // positions that have left the cursor; those of them that the window never had
		mark := entry.Position{Ledger: 1, Entry: -1}
		gone := map[entry.Position]bool{}
		leaves := func(p entry.Position) bool {
			if !gone[p] {
				gone[p] = true
				left++
			}
			return true
		}
		r.deletes = func(p entry.Position) bool { return rng.IntN(8) != 0 && leaves(p) }
		announced := uint64(0)
		r.lapse = func(n uint64, at entry.Position) {
			announced += n
			if at != mark {
				t.Fatalf("seed %d: a lapse is announced at %v, the cursor stands at %v", seed, at, mark)
			}
		}
		for range 300 {
			switch rng.IntN(6) {
			case 0, 1:
				r.offer(single("k1", fmt.Sprint(r.next)))
			case 2, 3:
				if len(r.sends) > 0 {
					r.store()
				}
			case 4:
				r.tick(100)
			default: // an eviction up to somewhere, read or not
				to := mark.Entry + int64(rng.IntN(6))
				for mark.Entry < to {
					mark.Entry++
					if p := mark; !gone[p] {
						gone[p] = true
						left++
						if p.Entry >= r.next {
							taken++
						}
					}
				}
				r.next = max(r.next, mark.Entry+1)
			}
			r.w.CursorAt(mark, left)
			r.pump()
			if s := r.w.Status(); s.Lapsed > taken || s.Lapsed != announced {
				t.Fatalf("seed %d: %d counted, %d announced, %d taken", seed, s.Lapsed, announced, taken)
			}
		}
		r.deletes = leaves
		r.storeAll()
		for r.w.NeedsTick() {
			r.tick(100)
		}
		r.drained()
		r.w.CursorAt(mark, left)
		r.pump()
		if s := r.w.Status(); s.Lapsed != taken || s.Lapsed != announced {
			t.Fatalf("seed %d: %d counted, %d announced, %d were taken", seed, s.Lapsed, announced, taken)
		}
	}
}

// TestFault53StallIsNoLag: a window that stands says so and why, whatever its
// lag reads; one without anything to do does not.
func TestFault53StallIsNoLag(t *testing.T) {
	r := newRig(t, ring(t, keyhash.M1, 1), nil)
	if s := r.w.Status(); s.State != window.Replicating || s.Waiting != "" {
		t.Errorf("idle: %v, waits for %q", s.State, s.Waiting)
	}
	p := r.offer([]byte{0, 0, 0, 99, 1}) // no publish time: its age can not be known
	if s := r.w.Status(); s.State != window.Stopped || s.Waiting != "parked" || s.Entries != 1 || s.LowestOpen != p {
		t.Errorf("%+v", s)
	}
	if err := r.w.Skip(p); err != nil {
		t.Fatal(err)
	}
	r.pump()
	r.broke = true
	two := newRig(t, ring(t, keyhash.M1, 2), nil)
	two.broke = true
	two.offer(spread(keyhash.M1).Bytes())
	if s := two.w.Status(); s.State != window.Replicating || s.Waiting != "budget" || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
}
