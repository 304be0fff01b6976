// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrConfig reports a configuration that could stop replication for ever.
var ErrConfig = errors.New("budget: illegal configuration")

// DefaultInFlightBytes is the broker-wide cap where none is configured.
const DefaultInFlightBytes = 256 << 20

const nanosPerSecond = 1_000_000_000

// maxBytes keeps all sums far from overflow; one request counts at most so.
const maxBytes = 1 << 50

// Config holds the limits. BytesPerSecond (decompressed bytes) and Slots must
// be positive. BurstBytes 0 is one second's worth. InFlightBytes 0 is
// DefaultInFlightBytes, InFlightBytesPerRemote 0 is half of InFlightBytes.
type Config struct {
	BytesPerSecond, BurstBytes            int64
	Slots                                 int
	InFlightBytes, InFlightBytesPerRemote int64
}

// Key is a window's number, chosen by the driver and unique among the windows
// that share the budget.
type Key uint64

// Budget is the machine; see the package comment. Not safe for concurrent use.
type Budget struct {
	c         Config
	started   bool
	now       int64 // nanoseconds, as last advanced
	tokens    int64 // bytes; negative is debt
	rest      uint64
	held      int
	ticket    uint64
	keys      map[Key]*claim
	byID      map[uint32]*remote
	remotes   []*remote // those with any state, in order of appearance
	total     int64     // bytes in flight and reserved over all remotes
	heldBytes int64     // bytes of entries read and not released, over all remotes
	stats     Stats
}

// New returns a budget with a full bucket, or an error that wraps ErrConfig
// and names the field.
func New(c Config) (*Budget, error) {
	if c.BurstBytes == 0 {
		c.BurstBytes = c.BytesPerSecond
	}
	if c.InFlightBytes == 0 {
		c.InFlightBytes = DefaultInFlightBytes
	}
	if c.InFlightBytesPerRemote == 0 {
		c.InFlightBytesPerRemote = max(c.InFlightBytes/2, 1)
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"BytesPerSecond", c.BytesPerSecond}, {"BurstBytes", c.BurstBytes}, {"Slots", int64(c.Slots)},
		{"InFlightBytes", c.InFlightBytes}, {"InFlightBytesPerRemote", c.InFlightBytesPerRemote},
	} {
		if f.value <= 0 || f.value > maxBytes {
			return nil, fmt.Errorf("%w: %s is %d, must be in 1..%d", ErrConfig, f.name, f.value, int64(maxBytes))
		}
	}
	return &Budget{c: c, tokens: c.BurstBytes, keys: map[Key]*claim{}, byID: map[uint32]*remote{}}, nil
}

// Advance moves the clock; the first call sets its origin and a time before
// the last one is ignored. Call it before Granted and NextWakeNanos.
func (b *Budget) Advance(nowNanos int64) {
	if !b.started {
		b.started, b.now = true, nowNanos
		return
	}
	if nowNanos <= b.now {
		return
	}
	elapsed := uint64(nowNanos) - uint64(b.now)
	b.now = nowNanos
	hi, lo := bits.Mul64(elapsed, uint64(b.c.BytesPerSecond))
	lo, carry := bits.Add64(lo, b.rest, 0)
	hi += carry
	missing := uint64(b.c.BurstBytes - b.tokens)
	if hi >= nanosPerSecond {
		b.fill()
		return
	}
	gained, rest := bits.Div64(hi, lo, nanosPerSecond)
	if gained >= missing {
		b.fill()
		return
	}
	b.tokens += int64(gained)
	b.rest = rest
}

func (b *Budget) fill() { b.tokens, b.rest = b.c.BurstBytes, 0 }

// NextWakeNanos returns the time at which the next grant falls due by the
// clock alone, on Advance's scale. 0 means that time changes nothing: nobody
// waits, no slot is free, or all that wait are at their remote's cap.
func (b *Budget) NextWakeNanos() int64 {
	r := b.next()
	if r == nil || b.held >= b.c.Slots {
		return 0
	}
	lack := b.need(r.head()) - b.tokens
	if lack <= 0 {
		return max(b.now, 1)
	}
	hi, lo := bits.Mul64(uint64(lack), nanosPerSecond)
	lo, borrow := bits.Sub64(lo, b.rest, 0)
	hi -= borrow
	rate := uint64(b.c.BytesPerSecond)
	if hi >= rate {
		return math.MaxInt64
	}
	wait, rem := bits.Div64(hi, lo, rate)
	if rem > 0 {
		wait++
	}
	if wait > uint64(math.MaxInt64-max(b.now, 0)) {
		return math.MaxInt64
	}
	return max(b.now+int64(wait), 1)
}

// need returns the tokens that must be there before the claim is served.
func (b *Budget) need(c *claim) int64 { return min(c.bytes, b.c.BurstBytes) }
