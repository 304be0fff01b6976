// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"georep/core/pb"
)

// many is a Layout of n segments without a byte inside.
func many(n int) []byte { return bytes.Repeat([]byte{0x12, 0}, n) }

func TestUnmarshalRefusesBeforeItBuilds(t *testing.T) {
	var before, after runtime.MemStats
	state := protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), many(MaxNested))
	for name, refused := range map[string]func() error{
		"layout":    func() error { return Unmarshal(many(MaxNested+1), new(pb.Layout)) },
		"in a peer": func() error { return Unmarshal(state, new(pb.PeerState)) },
		"bytes":     func() error { return Unmarshal(make([]byte, MaxBytes+1), new(pb.Layout)) },
		"json": func() error {
			text := append([]byte(`{"segments":[{}`), bytes.Repeat([]byte(",{}"), MaxNested)...)
			_, err := FromJSON("Layout", append(text, "]}"...))
			return err
		},
		"to json": func() error { _, err := ToJSON("Layout", many(MaxNested+1)); return err },
	} {
		runtime.ReadMemStats(&before)
		err := refused()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 3*MaxBytes { // the texts above are part of it
			t.Errorf("%s: %d bytes were allocated", name, grown)
		}
	}
}

func TestUnmarshalTakesWhatIsBelow(t *testing.T) {
	var l pb.Layout
	if err := Unmarshal(many(1000), &l); err != nil || len(l.GetSegments()) != 1000 {
		t.Errorf("%d segments, %v", len(l.GetSegments()), err)
	}
	if n := nested(many(1000), l.ProtoReflect().Descriptor(), 0, 0); n != 1000 {
		t.Errorf("nested = %d", n)
	}
	if err := Unmarshal([]byte{0xff}, &l); err == nil || errors.Is(err, ErrLimit) {
		t.Errorf("garbage: %v", err)
	}
}
