// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"

	"georep/cmd/georep/internal/adminclient"
	"georep/core/layout"
)

// ErrMoving says that the layout changed under every attempt to read the topic.
var ErrMoving = errors.New("verify: the layout keeps changing")

// attempts is how often a topic is read from the start because its layout
// changed meanwhile.
const attempts = 3

// Source is what a log is read from; [adminclient.Client] is one.
type Source interface {
	Layout(ctx context.Context, t adminclient.Topic) ([]byte, error)
	Entries(ctx context.Context, t adminclient.Topic, segment uint64, from string) (adminclient.Page, error)
}

// Read reads every segment of the topic, sealed ones too. It starts again where
// the layout changed while it read, so that no child is read without its
// parents.
func Read(ctx context.Context, s Source, t adminclient.Topic, k *Keys) (*Log, error) {
	for range attempts {
		before, err := readLayout(ctx, s, t)
		if err != nil {
			return nil, err
		}
		log, err := readSegments(ctx, s, t, before, k)
		if err != nil && !errors.Is(err, adminclient.ErrNotFound) {
			return nil, err
		}
		after, err2 := readLayout(ctx, s, t)
		if err2 != nil {
			return nil, err2
		}
		if after.Epoch() == before.Epoch() {
			return log, err
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrMoving, t)
}

func readLayout(ctx context.Context, s Source, t adminclient.Topic) (*layout.Layout, error) {
	b, err := s.Layout(ctx, t)
	if err != nil {
		return nil, err
	}
	return layout.ParsePulsar(b)
}

func readSegments(ctx context.Context, s Source, t adminclient.Topic, l *layout.Layout, k *Keys) (*Log, error) {
	var log *Log
	for _, segment := range l.Segments() {
		for from := ""; ; {
			page, err := s.Entries(ctx, t, segment.ID, from)
			if err != nil {
				return nil, fmt.Errorf("segment %d: %w", segment.ID, err)
			}
			if log == nil {
				log = NewLog(page.Cluster, l, k)
			}
			for _, e := range page.Entries {
				log.Add(segment.ID, e.Position, e.Raw)
			}
			if from = page.Next; from == "" {
				break
			}
		}
	}
	return log, nil
}

// Layout returns the layout that the log was read by.
func (l *Log) Layout() *layout.Layout { return l.layout }
