// SPDX-License-Identifier: Apache-2.0

// Package paired compares the cost of two operations in one run. A round measures
// both, one straight after the other, and who is first changes every round: what
// disturbs a machine for longer than a round disturbs both, so the ratios of the
// rounds differ less than their times do. What is reported are medians.
//
//	round   0            1            2
//	      ours|peer    peer|ours    ours|peer     ratio = peer / ours, of each round
package paired

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"georep/benchmarks/row"
)

// MinRounds is how many rounds a comparison has at least.
const MinRounds = 7

// ErrRounds says that a comparison has too few rounds, or uneven ones.
var ErrRounds = errors.New("paired: rounds")

// Runner says how long to measure. The zero value does not do.
type Runner struct {
	Rounds int                  // at least MinRounds
	Span   time.Duration        // that each side takes in a round, about
	Clock  func() time.Duration // CPU, but in tests
}

// Result is medians over the rounds.
type Result struct {
	Ours, Peer float64 // nanoseconds of one operation
	Ratio      float64 // peer's cost / ours, of a round
	Spread     float64 // (p75 - p25) / median of the rounds' ratios
	Rounds     int
}

// side is one of the two operations.
type side struct {
	once    func() error
	batch   int       // operations of one measurement
	samples []float64 // nanoseconds of one operation, of each round
}

// Run measures ours and peer, each one operation that does the same work however
// often it was called before. First both run for a span and are not counted. An
// error of either ends it.
func (r *Runner) Run(ours, peer func() error) (Result, error) {
	if r.Rounds < MinRounds {
		return Result{}, fmt.Errorf("%w: %d, at least %d", ErrRounds, r.Rounds, MinRounds)
	}
	a, b := side{once: ours}, side{once: peer}
	for _, s := range []*side{&a, &b} {
		if err := r.warm(s); err != nil {
			return Result{}, err
		}
	}
	for round := range r.Rounds {
		order := []*side{&a, &b}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			took, err := r.time(s)
			if err != nil {
				return Result{}, err
			}
			s.samples = append(s.samples, float64(took)/float64(s.batch))
		}
	}
	return Of(a.samples, b.samples)
}

// Limit measures ours alone, against nanoseconds that one operation may take.
func (r *Runner) Limit(ours func() error, limit time.Duration) (Result, error) {
	if r.Rounds < MinRounds {
		return Result{}, fmt.Errorf("%w: %d, at least %d", ErrRounds, r.Rounds, MinRounds)
	}
	s := side{once: ours}
	if err := r.warm(&s); err != nil {
		return Result{}, err
	}
	limits := make([]float64, r.Rounds)
	for round := range limits {
		took, err := r.time(&s)
		if err != nil {
			return Result{}, err
		}
		s.samples = append(s.samples, float64(took)/float64(s.batch))
		limits[round] = float64(limit)
	}
	return Of(s.samples, limits)
}

// warm finds how many operations fill the span, by running that many.
func (r *Runner) warm(s *side) error {
	for s.batch = 1; ; {
		took, err := r.time(s)
		switch {
		case err != nil:
			return err
		case took >= r.Span:
			return nil
		case took*16 < r.Span:
			s.batch *= 8
		default:
			s.batch = int(float64(s.batch)*float64(r.Span)/float64(took)) + 1
		}
	}
}

func (r *Runner) time(s *side) (time.Duration, error) {
	began := r.Clock()
	for range s.batch {
		if err := s.once(); err != nil {
			return 0, err
		}
	}
	return r.Clock() - began, nil
}

// Of returns the medians of samples that were measured in the same rounds.
func Of(ours, peer []float64) (Result, error) {
	if len(ours) != len(peer) || len(ours) < MinRounds {
		return Result{}, fmt.Errorf("%w: %d of ours, %d of the peer, at least %d", ErrRounds, len(ours), len(peer), MinRounds)
	}
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = peer[i] / ours[i]
	}
	ratio := Quantile(ratios, 0.5)
	return Result{Ours: Quantile(ours, 0.5), Peer: Quantile(peer, 0.5), Ratio: ratio,
		Spread: (Quantile(ratios, 0.75) - Quantile(ratios, 0.25)) / ratio, Rounds: len(ours)}, nil
}

// Quantile returns the value below which the part q of the values lies, between
// two of them where that is so.
func Quantile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	at := q * float64(len(v)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(v)-1)
	return v[low] + (v[high]-v[low])*(at-float64(low))
}

// Row returns the result as a row, in a unit of so many nanoseconds.
func (r Result) Row(name, unit string, nanos float64, peerName string) row.Row {
	return row.Row{Name: name, Unit: unit, Ours: row.Of(r.Ours / nanos), Peer: row.Of(r.Peer / nanos), PeerName: peerName,
		Ratio: row.Of(r.Ratio), Spread: row.Of(r.Spread), Rounds: r.Rounds}
}
