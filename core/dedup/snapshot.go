// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"georep/core/entry"
	"georep/core/internal/mutant"
)

// A snapshot, all numbers unsigned varints but the checksum (CRC32C, big-endian,
// of everything before it):
//
//	"GRW1" | len, bound topic | n | n × (len, cluster | len, instance | segment |
//	generation | ledger | entry | part) | u32 checksum
//
// Records rise by key, so equal tables give equal bytes.
const magic = "GRW1"

// minRecord is the least number of bytes that one record takes.
const minRecord = 7

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendSnapshot appends what is persisted, never what is only pushed: what
// fails later must not look stored after a crash. The driver stores it together
// with a log position at or below everything it covers; Replay does the rest.
func (t *Table) AppendSnapshot(dst []byte) []byte {
	keys := make([]Key, 0, len(t.marks))
	for k, m := range t.marks {
		if m.persisted.valid || mutant.On(mutant.SnapshotPushed) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, Key.compare)
	start := len(dst)
	dst = append(dst, magic...)
	dst = appendText(dst, t.bound)
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	for _, k := range keys {
		p := t.marks[k].persisted
		if mutant.On(mutant.SnapshotPushed) {
			p = t.marks[k].pushed
		}
		dst = appendText(appendText(dst, k.Cluster), k.Instance)
		for _, v := range [...]uint64{k.Segment, k.Generation, uint64(p.pos.Ledger), uint64(p.pos.Entry), uint64(p.part)} {
			dst = binary.AppendUvarint(dst, v)
		}
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// LoadSnapshot raises the watermarks to those of a snapshot of the same topic.
// b is not kept. On an error nothing changes: ErrCorrupt with the byte, ErrBound
// for another topic's, ErrFull beyond the cap of keys. The caller then replays
// the whole log instead.
func (t *Table) LoadSnapshot(b []byte) error {
	if len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return fmt.Errorf("%w: no header", ErrCorrupt)
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[len(body):]) {
		return fmt.Errorf("%w: checksum", ErrCorrupt)
	}
	r := reader{b: body, i: len(magic)}
	bound := r.text()
	n := r.number()
	if r.bad == "" && n > uint64(len(body)-r.i)/minRecord {
		r.fail("count")
	}
	if r.bad != "" {
		return r.err()
	}
	if bound != t.bound {
		return fmt.Errorf("%w: %q", ErrBound, clip(bound))
	}
	if n > uint64(t.maxKeys) {
		return fmt.Errorf("%w: %d in the snapshot, cap %d", ErrFull, n, t.maxKeys)
	}
	loaded := make([]record, 0, n)
	fresh := 0
	for range n {
		rec := r.record()
		if len(loaded) > 0 && loaded[len(loaded)-1].key.compare(rec.key) >= 0 {
			r.fail("order")
		}
		if r.bad != "" {
			return r.err()
		}
		if t.marks[rec.key] == nil {
			fresh++
		}
		loaded = append(loaded, rec)
	}
	if r.i != len(body) {
		r.fail("tail")
		return r.err()
	}
	if len(t.marks)+fresh > t.maxKeys {
		return fmt.Errorf("%w: cap %d", ErrFull, t.maxKeys)
	}
	for _, rec := range loaded {
		t.get(rec.key).raise(rec.at)
	}
	return nil
}

type record struct {
	key Key
	at  place
}

// reader turns bad at the first fault and is asked once at the end.
type reader struct {
	b   []byte
	i   int
	bad string
}

func (r *reader) fail(what string) {
	if r.bad == "" {
		r.bad = what
	}
}

func (r *reader) err() error { return fmt.Errorf("%w: %s at byte %d", ErrCorrupt, r.bad, r.i) }

func (r *reader) number() uint64 {
	if r.bad != "" {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.i:])
	if n <= 0 || n > 1 && r.b[r.i+n-1] == 0 { // only the shortest spelling
		r.fail("number")
		return 0
	}
	r.i += n
	return v
}

func (r *reader) signed() int64 {
	v := r.number()
	if v > math.MaxInt64 {
		r.fail("number out of range")
		return 0
	}
	return int64(v)
}

func (r *reader) text() string {
	n := r.number()
	if r.bad == "" && n > uint64(len(r.b)-r.i) {
		r.fail("length")
	}
	if r.bad != "" {
		return ""
	}
	s := string(r.b[r.i : r.i+int(n)])
	r.i += int(n)
	return s
}

func (r *reader) record() record {
	k := Key{Cluster: r.text(), Instance: r.text(), Segment: r.number(), Generation: r.number()}
	pos := entry.Position{Ledger: r.signed(), Entry: r.signed()}
	return record{key: k, at: at(pos, r.signed())}
}

func clip(s string) string { return s[:min(len(s), 100)] }
