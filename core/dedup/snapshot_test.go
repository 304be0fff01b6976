// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"testing"

	"georep/core/entry"
)

func filled() *Table {
	tab := New("s", 0)
	for _, k := range []Key{{"b", "i", 1, 1}, {"a", "j", 0, 0}, {"a", "i", 300, 2}} {
		tab.Persisted(k, pos(int64(k.Segment), 1), int64(k.Generation))
	}
	tab.Persisted(Key{"a", "i", 7, 7}, pos(1, 0), entry.Whole)
	tab.Check(Key{"z", "i", 0, 0}, pos(1, 0), 0) // only pushed: not in the snapshot
	return tab
}

func TestSnapshotBytes(t *testing.T) {
	want := "47525731" + "0173" + "04" + // magic, bound topic "s", four records
		"0161" + "0169" + "07" + "07" + "01" + "00" + "ffffffffffffffff7f" + // a i 7 7, 1:0 whole
		"0161" + "0169" + "ac02" + "02" + "ac02" + "01" + "02" + // a i 300 2, 300:1:2
		"0161" + "016a" + "00" + "00" + "00" + "01" + "00" +
		"0162" + "0169" + "01" + "01" + "01" + "01" + "01"
	got := filled().AppendSnapshot([]byte("x"))
	if got[0] != 'x' || hex.EncodeToString(got[1:len(got)-4]) != want {
		t.Errorf("got  %x\nwant %s", got[1:len(got)-4], want)
	}
	tab := New("s", 0)
	if err := tab.LoadSnapshot(got[1:]); err != nil {
		t.Fatal(err)
	}
	if tab.Len() != 4 || show(tab, Key{"a", "i", 300, 2}) != "300:1:2" || show(tab, Key{"a", "i", 7, 7}) != "1:0:whole" {
		t.Errorf("loaded %d keys, %s, %s", tab.Len(), show(tab, Key{"a", "i", 300, 2}), show(tab, Key{"a", "i", 7, 7}))
	}
	if again := tab.AppendSnapshot(nil); !bytes.Equal(again, got[1:]) {
		t.Error("a loaded snapshot is written differently")
	}
}

func TestSnapshotOnlyRaises(t *testing.T) {
	tab := filled()
	old := tab.AppendSnapshot(nil)
	k := Key{"b", "i", 1, 1}
	tab.Persisted(k, pos(8, 8), 8)
	if err := tab.LoadSnapshot(old); err != nil {
		t.Fatal(err)
	}
	if got := show(tab, k); got != "8:8:8" {
		t.Errorf("an older snapshot took the watermark back to %s", got)
	}
}

func signed(body string) []byte {
	b, _ := hex.DecodeString(body)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestBadSnapshotsChangeNothing(t *testing.T) {
	good := filled().AppendSnapshot(nil)
	flipped := bytes.Clone(good)
	flipped[9] ^= 1
	rec := "0161" + "0169" + "01" + "01" + "01" + "01" + "01"
	for name, tc := range map[string]struct {
		b    []byte
		err  error
		text string
	}{
		"empty":            {nil, ErrCorrupt, ""},
		"flipped":          {flipped, ErrCorrupt, "dedup: corrupt snapshot: checksum"},
		"short":            {good[:len(good)-1], ErrCorrupt, ""},
		"other topic":      {New("t", 0).AppendSnapshot(nil), ErrBound, ""},
		"huge count":       {signed("47525731" + "0173" + "ffffffffffffffff7f"), ErrCorrupt, "dedup: corrupt snapshot: count at byte 15"},
		"count too high":   {signed("47525731" + "0173" + "02" + rec), ErrCorrupt, ""},
		"twice the same":   {signed("47525731" + "0173" + "02" + rec + rec), ErrCorrupt, "dedup: corrupt snapshot: order at byte 25"},
		"tail":             {signed("47525731" + "0173" + "01" + rec + "00"), ErrCorrupt, "dedup: corrupt snapshot: tail at byte 16"},
		"negative":         {signed("47525731" + "0173" + "01" + "0161016901" + "01" + "ffffffffffffffffff01" + "01" + "01"), ErrCorrupt, ""},
		"long spelling":    {signed("47525731" + "0173" + "8100"), ErrCorrupt, "dedup: corrupt snapshot: number at byte 6"},
		"text runs over":   {signed("47525731" + "7f73" + "00"), ErrCorrupt, "dedup: corrupt snapshot: length at byte 5"},
		"more than we cap": {signed("47525731" + "0173" + "03" + rec + "0162" + rec[4:] + "0163" + rec[4:]), ErrFull, ""},
	} {
		tab := New("s", 2)
		err := tab.LoadSnapshot(tc.b)
		if !errors.Is(err, tc.err) || tc.text != "" && err.Error() != tc.text {
			t.Errorf("%s: %v, want %v %q", name, err, tc.err, tc.text)
		}
		if tab.Len() != 0 {
			t.Errorf("%s: the table changed", name)
		}
	}
}

func FuzzLoadSnapshot(f *testing.F) {
	good := filled().AppendSnapshot(nil)
	f.Add(good[:len(good)-4])
	f.Add([]byte("GRW1\x01s\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
		tab := New("s", 50)
		if err := tab.LoadSnapshot(b); err != nil {
			if tab.Len() != 0 {
				t.Fatalf("refused (%v), yet %d keys", err, tab.Len())
			}
			return
		}
		if again := tab.AppendSnapshot(nil); !bytes.Equal(again, b) {
			t.Fatalf("accepted %x, wrote %x", b, again)
		}
	})
}

func FuzzReplay(f *testing.F) {
	o := entry.Origin{Cluster: "a", Instance: "i", Segment: 1, Generation: 2, Position: pos(3, 4), Part: 5, BoundTopic: "s"}
	f.Add(o.AppendFields([]byte("\x0a\x01p\x10\x00\x18\x01")))
	f.Add([]byte("\x0a\x01p\x10\x00\x18\x01"))
	f.Fuzz(func(t *testing.T, meta []byte) {
		tab := New("s", 2)
		if err := tab.Replay(meta); err != nil {
			if tab.Len() != 0 {
				t.Fatalf("refused (%v), yet it counts", err)
			}
			return
		}
		if tab.Len() == 0 {
			return
		}
		o, ok, err := entry.FindOrigin(meta)
		k := Key{o.Cluster, o.Instance, o.Segment, o.Generation}
		p, part, known := tab.Watermark(k)
		if err != nil || !ok || !known || o.BoundTopic != "s" || p != o.Position || part != o.Part {
			t.Fatalf("counted %v:%d for %+v", p, part, o)
		}
	})
}
