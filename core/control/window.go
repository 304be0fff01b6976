// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unicode"
	"unicode/utf8"

	"georep/core/entry"
	"georep/core/pb"
	"georep/core/peer"
	"georep/core/placement"
	"georep/core/window"
)

// ErrConfig marks a configuration with a field that can not be taken.
var ErrConfig = errors.New("control: bad configuration")

// WindowConfig returns the machine's configuration; window.New checks the rest.
func WindowConfig(c *pb.WindowConfig) (out window.Config, err error) {
	r, err := peer.ToRange(c.GetRange())
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	profile, err := peer.ToProfile(c.GetProfile())
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.GetMaxInFlightBytes() > math.MaxInt64 || c.GetRetryMillis() > math.MaxInt32 || c.GetMaxUnitMillis() > math.MaxInt64 {
		return out, fmt.Errorf("%w: maxInFlightBytes, retryMillis or maxUnitMillis is too large", ErrConfig)
	}
	return window.Config{
		Source: placement.Source{Cluster: c.GetCluster(), Remote: c.GetRemote(), Segment: c.GetSegment(),
			Range: r, Profile: profile, Legacy: c.GetLegacy()},
		Topic:               c.GetTopic(),
		Instance:            c.GetInstance(),
		Generation:          c.GetGeneration(),
		PlaceEncryptedBatch: c.GetPlaceEncryptedBatch(),
		ParkedPass:          c.GetParkedPass(),
		KeepCodec:           c.GetKeepCodec(),
		MaxEntryBytes:       int(c.GetMaxEntryBytes()),
		MaxDecompressed:     int(c.GetMaxDecompressedBytes()),
		MaxMessages:         int(c.GetMaxMessages()),
		MaxInFlightEntries:  int(c.GetMaxInFlightEntries()),
		MaxInFlightBytes:    int64(c.GetMaxInFlightBytes()),
		MaxOpenUnits:        int(c.GetMaxOpenUnits()),
		RetryMillis:         int64(c.GetRetryMillis()),
		MaxUnitMillis:       int64(c.GetMaxUnitMillis()),
		SentBefore:          entry.Position{Ledger: c.GetSentBefore().GetLedger(), Entry: c.GetSentBefore().GetEntry()},
	}, nil
}

// WindowStatus returns what an operator sees of a window.
func WindowStatus(s window.Status, c window.Counters) *pb.WindowStatus {
	out := &pb.WindowStatus{
		State:       s.State.String(),
		Reason:      s.Waiting,
		Counters:    counters(c),
		InFlight:    uint64(max(0, s.InFlight)),
		HeldBytes:   uint64(max(0, s.HeldBytes)),
		Entries:     uint64(max(0, s.Entries)),
		ParkedTotal: uint64(max(0, s.ParkedN)),
		OpenUnits:   uint64(max(0, s.OpenUnits)),
		PassedTotal: uint64(max(0, s.PassedN)),
	}
	for _, p := range s.Parked {
		out.Parked = append(out.Parked, &pb.Parked{Position: Position(p.Position), Reason: p.Reason.String()})
	}
	for r, n := range s.ParkedBy {
		out.ParkedBy = appendCounter(out.ParkedBy, placement.Reason(r).String(), uint64(n))
	}
	if s.Entries > 0 {
		out.LowestOpen = Position(s.LowestOpen)
	}
	if s.Lapsed > 0 {
		out.Lapsed, out.Horizon = s.Lapsed, Position(s.Horizon)
	}
	return out
}

// Position returns the message of a position.
func Position(p entry.Position) *pb.Position { return &pb.Position{Ledger: p.Ledger, Entry: p.Entry} }

// counters lists the fields of a struct of counters that are not zero, in the
// order of the fields. An array of them is one by placement reason.
func counters(c window.Counters) []*pb.Counter {
	var out []*pb.Counter
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name := lowerFirst(v.Type().Field(i).Name)
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint64:
			out = appendCounter(out, name, f.Uint())
		case reflect.Array:
			for r := range f.Len() {
				out = appendCounter(out, name+"."+placement.Reason(r).String(), f.Index(r).Uint())
			}
		}
	}
	return out
}

func appendCounter(out []*pb.Counter, name string, value uint64) []*pb.Counter {
	if value == 0 {
		return out
	}
	return append(out, &pb.Counter{Name: name, Value: value})
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}
