// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"georep/core/budget"
	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/pb"
	"georep/core/placement"
	"georep/core/window"
)

func TestWindowConfigTakesEveryField(t *testing.T) {
	m := &pb.WindowConfig{
		Cluster: "eu", Remote: "us", Segment: 3, Range: &pb.Range{Start: 1, End: 2}, Profile: pb.Profile_PROFILE_PIP486,
		Legacy: true, Topic: "topic://a/b/c", Instance: "i", Generation: 4, PlaceEncryptedBatch: true, ParkedPass: true,
		KeepCodec: true, MaxEntryBytes: 5, MaxDecompressedBytes: 6, MaxMessages: 7, MaxInFlightEntries: 8,
		MaxInFlightBytes: 9, MaxOpenUnits: 10, RetryMillis: 11, MaxUnitMillis: 12, SentBefore: &pb.Position{Ledger: 13, Entry: -1},
	}
	got, err := WindowConfig(m)
	want := window.Config{
		Source: placement.Source{Cluster: "eu", Remote: "us", Segment: 3, Range: layout.Range{Start: 1, End: 2},
			Profile: keyhash.PIP486, Legacy: true},
		Topic: "topic://a/b/c", Instance: "i", Generation: 4, PlaceEncryptedBatch: true, ParkedPass: true, KeepCodec: true,
		MaxEntryBytes: 5, MaxDecompressed: 6, MaxMessages: 7, MaxInFlightEntries: 8, MaxInFlightBytes: 9,
		MaxOpenUnits: 10, RetryMillis: 11, MaxUnitMillis: 12, SentBefore: entry.Position{Ledger: 13, Entry: -1},
	}
	if err != nil || got != want {
		t.Errorf("WindowConfig = %+v, %v\nwant %+v", got, err, want)
	}
	v := reflect.ValueOf(got) // a field that is added to the machine must come from the message too
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("window.Config.%s is not set from a message", v.Type().Field(i).Name)
		}
	}
}

func TestWindowConfigRefuses(t *testing.T) {
	for text, m := range map[string]*pb.WindowConfig{
		"range: absent": {},
		"range: 5..4":   {Range: &pb.Range{Start: 5, End: 4}},
		"profile":       {Range: &pb.Range{}},
		"retryMillis":   {Range: &pb.Range{}, Profile: pb.Profile_PROFILE_M1, RetryMillis: 1 << 40},
	} {
		if _, err := WindowConfig(m); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
}

func TestWindowStatus(t *testing.T) {
	c := window.Counters{Verbatim: 2, PartBytes: 300}
	c.DroppedBy[placement.Marker] = 4
	var by window.Status
	by.ParkedBy[placement.Checksum], by.ParkedBy[placement.Overtaken] = 1, 1
	got := WindowStatus(window.Status{ParkedBy: by.ParkedBy,
		State: window.Stopped, Waiting: "parked", ParkedN: 2, Entries: 3, HeldBytes: 100, InFlight: 5, OpenUnits: 6,
		Parked:     []window.ParkedEntry{{Position: entry.Position{Ledger: 1, Entry: 2}, Reason: placement.Checksum}},
		LowestOpen: entry.Position{Ledger: 1, Entry: 2},
	}, c)
	want := &pb.WindowStatus{
		State: "stalled", Reason: "parked", ParkedTotal: 2, Entries: 3, HeldBytes: 100, InFlight: 5, OpenUnits: 6,
		Parked:     []*pb.Parked{{Position: &pb.Position{Ledger: 1, Entry: 2}, Reason: "checksum"}},
		LowestOpen: &pb.Position{Ledger: 1, Entry: 2},
		ParkedBy:   []*pb.Counter{{Name: "checksum", Value: 1}, {Name: "overtaken", Value: 1}},
		Counters: []*pb.Counter{{Name: "verbatim", Value: 2}, {Name: "partBytes", Value: 300},
			{Name: "droppedBy.marker", Value: 4}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("WindowStatus = %v\nwant %v", got, want)
	}
}

// TestCountersAreListed: whatever is added to the machine's counters has a kind
// that the list shows.
func TestCountersAreListed(t *testing.T) {
	var c window.Counters
	v := reflect.ValueOf(&c).Elem()
	want := 0
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint64:
			f.SetUint(1)
			want++
		case reflect.Array:
			f.Index(1).SetUint(1)
			want++
		default:
			t.Errorf("Counters.%s is a %v", v.Type().Field(i).Name, f.Kind())
		}
	}
	if got := counters(c); len(got) != want {
		t.Errorf("%d counters are listed, want %d: %v", len(got), want, got)
	}
}

func TestBudget(t *testing.T) {
	m := &pb.BudgetConfig{BytesPerSecond: 100, BurstBytes: 50, Slots: 2, InFlightBytes: 10, InFlightBytesPerRemote: 5}
	c := BudgetConfig(m)
	if want := (budget.Config{BytesPerSecond: 100, BurstBytes: 50, Slots: 2, InFlightBytes: 10, InFlightBytesPerRemote: 5}); c != want {
		t.Errorf("BudgetConfig = %+v", c)
	}
	b, err := budget.New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.Advance(1)
	b.Request(1, 1, 80)
	b.Request(2, 1, 1)
	b.Granted(nil)
	b.Charge(7, 3)
	b.Hold(7, 4)
	s := BudgetStatus(m, b.Stats())
	if s.GetTokens() != -30 || s.GetSlotsInUse() != 1 || s.GetWaiting() != 1 || s.GetReadBytes() != 4 || !proto.Equal(s.GetConfig(), m) {
		t.Errorf("BudgetStatus = %v", s)
	}
}

func TestDedupStatus(t *testing.T) {
	d := dedup.New("segment://a/b/c/0000-ffff-0", 0)
	for _, k := range []dedup.Key{{Cluster: "us", Segment: 1}, {Cluster: "eu", Segment: 9, Generation: 2}} {
		d.Check(k, entry.Position{Ledger: 5}, 3)
		d.Persisted(k, entry.Position{Ledger: 5}, 3)
	}
	k := OriginKey(&pb.OriginKey{Cluster: "us", Segment: 1})
	d.Persisted(k, entry.Position{Ledger: 6, Entry: 1}, entry.Whole)
	got := DedupStatus(d)
	want := &pb.DedupStatus{BoundTopic: "segment://a/b/c/0000-ffff-0", MaxKeys: dedup.DefaultMaxKeys, Entries: []*pb.DedupEntry{
		{Key: &pb.OriginKey{Cluster: "eu", Segment: 9, Generation: 2}, Position: &pb.Position{Ledger: 5}, Part: proto.Int64(3)},
		{Key: &pb.OriginKey{Cluster: "us", Segment: 1}, Position: &pb.Position{Ledger: 6, Entry: 1}},
	}}
	if !proto.Equal(got, want) {
		t.Errorf("DedupStatus = %v\nwant %v", got, want)
	}
}

func TestEveryMessageGoesThroughJSON(t *testing.T) {
	messages := pb.File_georep_proto.Messages()
	for i := range messages.Len() {
		name := string(messages.Get(i).Name())
		b, err := FromJSON(name, []byte("{}"))
		if err != nil || len(b) != 0 {
			t.Errorf("FromJSON(%s, {}) = %x, %v", name, b, err)
		}
		if text, err := ToJSON(name, nil); err != nil || string(text) != "{}" {
			t.Errorf("ToJSON(%s) = %s, %v", name, text, err)
		}
		_, err = FromJSON(name, []byte(`{"noSuchField":1}`))
		if newer := name == "ExchangeRequest" || name == "ExchangeResponse" || name == "ExchangeEvent"; newer != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), "noSuchField") {
			t.Errorf("FromJSON(%s) with an unknown field: %v", name, err)
		}
		if _, err := ToJSON(name, []byte{0xff}); err == nil {
			t.Errorf("ToJSON(%s) of garbage succeeds", name)
		}
	}
	for _, name := range []string{"", "Nothing", "PeerState.GenerationsEntry", "georep.v1.Range", "../x"} {
		if _, err := New(name); !errors.Is(err, ErrMessage) {
			t.Errorf("New(%q): %v", name, err)
		}
	}
}
