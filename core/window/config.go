// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"
	"strings"

	"georep/core/entry"
	"georep/core/placement"
)

// Errors of this package. ErrConfig marks a configuration that New refuses,
// ErrOrder a position that was offered out of cursor order, ErrNotParked a
// position that Skip was asked to release although it is not parked.
var (
	ErrConfig    = errors.New("window: bad configuration")
	ErrOrder     = errors.New("window: position offered out of order")
	ErrNotParked = errors.New("window: position is not parked")
)

// Config is fixed for the life of a Window.
type Config struct {
	Source     placement.Source // the segment that is read and the two cluster names
	Topic      string           // parent, topic://tenant/namespace/name
	Instance   string           // instance id of the source topic
	Generation uint64           // replication generation towards the remote
	// SentBefore is the end of the log when this owner began: what lies beyond was
	// certainly not sent by an earlier one. Zero: unknown, so everything may have been.
	SentBefore entry.Position

	PlaceEncryptedBatch bool // encryptedBatchPolicy=place (default: park)
	ParkedPass          bool // parkedPolicy=pass (default: stop)
	KeepCodec           bool // re-compress parts with the source entry's codec

	MaxEntryBytes      int   // refuse to parse entries above this size; bytes
	MaxDecompressed    int   // cap for one decompressed batch; bytes
	MaxMessages        int   // cap for the messages of one batch
	MaxInFlightEntries int   // entries held at a time
	MaxInFlightBytes   int64 // bytes of entries held at a time
	MaxOpenUnits       int   // chunked messages open at a time
	MaxUnitMillis      int64 // longest wait for the next chunk of a message before what is there is parked
	RetryMillis        int64 // first back-off after a failure; doubles up to 64 times
}

// spanFactor bounds the list of entries between the oldest one that is not
// deleted and the newest one that was read, in multiples of MaxInFlightEntries:
// a single stuck destination must not let it grow without a cap.
const spanFactor = 10

// unitFactor bounds the bytes of one chunked message, in multiples of
// MaxInFlightBytes: its chunks are held until the last one is stored.
const unitFactor = 16

func (c *Config) setDefaults() {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&c.MaxEntryBytes, 128<<20)
	def(&c.MaxDecompressed, 64<<20)
	def(&c.MaxMessages, 1<<20)
	def(&c.MaxInFlightEntries, 1000)
	def(&c.MaxOpenUnits, 100)
	if c.MaxInFlightBytes == 0 {
		c.MaxInFlightBytes = 64 << 20
	}
	if c.MaxUnitMillis == 0 {
		c.MaxUnitMillis = 600_000
	}
	if c.RetryMillis == 0 {
		c.RetryMillis = 100
	}
}

func (c *Config) validate() error {
	switch {
	case c.Source.Cluster == "" || c.Source.Remote == "":
		return fmt.Errorf("%w: source and remote cluster must be named", ErrConfig)
	case !strings.HasPrefix(c.Topic, topicScheme):
		return fmt.Errorf("%w: topic %q does not start with %s", ErrConfig, c.Topic, topicScheme)
	case c.Instance == "":
		return fmt.Errorf("%w: no topic instance", ErrConfig)
	case c.MaxEntryBytes < 0 || c.MaxDecompressed < 0 || c.MaxMessages < 0 || c.MaxInFlightEntries < 0 ||
		c.MaxInFlightBytes < 0 || c.MaxOpenUnits < 0 || c.MaxUnitMillis < 0 || c.RetryMillis < 0:
		return fmt.Errorf("%w: negative limit", ErrConfig)
	}
	return nil
}
