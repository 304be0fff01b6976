// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
)

// ErrConfig marks a configuration that nothing is made from.
var ErrConfig = errors.New("exchange: bad configuration")

// Caps of every call, whatever is configured: both sides know them.
const (
	Version   = 1       // of the protocol
	MaxStates = 1000    // states of a call
	MaxBytes  = 3 << 19 // of a call or an answer, as protobuf; as JSON it is below the cap of control.FromJSON
	MaxName   = 256     // bytes of a cluster's name, or of a broker's address
	MaxTopic  = 2048    // bytes of a topic's name
)

// maxLanes bounds the brokers of one cluster that calls go to.
const maxLanes = 256

// Config is fixed for life. Times are milliseconds.
type Config struct {
	Cluster      string // our own
	MaxStates    int    // states that a call of ours carries
	MaxBytes     int    // bytes of states that it carries; a larger state goes alone
	GatherMillis int64  // a push waits so long for others that may go with it
	CallMillis   int64  // a call that has not ended after so long has failed
	AnswerMillis int64  // what a topic has not answered after so long is answered "busy"
	MaxOpen      int    // calls of others that are answered at the same time; half of them from one cluster
}

// DefaultConfig returns what the broker plugin uses where nothing else is configured.
// A slow topic holds up the others of its call, so answers are not waited for as
// long as one topic's machine would.
func DefaultConfig(cluster string) Config {
	return Config{Cluster: cluster, MaxStates: 500, MaxBytes: 1 << 20, GatherMillis: 50, CallMillis: 30_000,
		AnswerMillis: 5_000, MaxOpen: 256}
}

func (c *Config) check() error {
	if err := checkName("cluster", c.Cluster); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for _, v := range []struct {
		name         string
		n, low, high int64
	}{
		{"max states", int64(c.MaxStates), 1, MaxStates}, {"max bytes", int64(c.MaxBytes), 1, MaxBytes},
		{"gather", c.GatherMillis, 0, 60_000}, {"call", c.CallMillis, 1, 3_600_000},
		{"answer", c.AnswerMillis, 1, 3_600_000}, {"max open", int64(c.MaxOpen), 2, 1 << 16},
	} {
		if v.n < v.low || v.n > v.high {
			return fmt.Errorf("%w: %s: %d is not in %d..%d", ErrConfig, v.name, v.n, v.low, v.high)
		}
	}
	return nil
}
