// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/tests/sim/check"
)

// draft is a message before it is framed.
type draft struct {
	key      key
	keyed    bool
	nullKey  bool
	ordering string
	ordered  bool
	out      bool // compacted out
}

// body returns a value that no other message has: its UID and some filling.
func (w *World) body(uid uint64) []byte {
	n := 8 + w.rng.IntN(32)
	if w.rng.IntN(24) == 0 {
		n += w.rng.IntN(400)
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, n), uid)
	for len(b) < n {
		b = append(b, "the quick brown fox jumps over the lazy dog"[(len(b)*7+int(uid))%43])
	}
	return b
}

// message books a draft as the next message of seg and returns it without Raw.
func (w *World) message(seg *segment, d *draft) *check.Message {
	w.uid++
	m := &check.Message{UID: w.uid, HasKey: d.keyed, Segment: seg.info.Range.Start}
	if d.keyed {
		m.Key = d.key.text
		m.Segment = w.opt.profile.Segment(d.key.hash)
		m.Bucket = keyhash.Bucket(d.key.hash)
		m.Stream = "k/" + d.key.text
	} else {
		m.Stream = "s/" + string(rune('a'+seg.info.ID))
	}
	if d.ordered {
		m.Bucket = keyhash.Bucket(keyhash.Sum([]byte(d.ordering)))
		m.Stream += "/o/" + d.ordering
	}
	return m
}

// framed returns the message as it stands in a batch: size, metadata, body.
func (w *World) framed(uid uint64, d *draft) []byte {
	body := w.body(uid)
	if w.rng.IntN(20) == 0 && !d.out {
		body = body[:8] // close to nothing
	}
	var m []byte
	if w.rng.IntN(4) == 0 {
		m = entry.AppendPropertyField(m, 1, "p", "v")
	}
	if d.keyed {
		m = entry.AppendStringField(m, 2, d.key.text)
	}
	m = entry.AppendVarintField(m, 3, uint64(len(body)))
	if d.out {
		m = entry.AppendVarintField(m, 4, 1)
	}
	if d.key.b64 && d.keyed {
		m = entry.AppendVarintField(m, 6, 1)
	}
	if d.ordered {
		m = entry.AppendStringField(m, 7, d.ordering)
	}
	m = entry.AppendVarintField(m, 8, uid)
	if d.nullKey {
		m = entry.AppendVarintField(m, 10, 1)
	}
	if w.rng.IntN(8) == 0 {
		m = entry.AppendStringField(m, 50, "unknown")
	}
	return entry.AppendMessage(nil, m, body)
}

// drafts returns n messages for seg in the given style.
func (w *World) drafts(seg *segment, n int, style string) []draft {
	out := make([]draft, n)
	for i := range out {
		d := &out[i]
		switch style {
		case "keyed":
			d.keyed = true
		case "mixed":
			d.keyed = w.rng.IntN(3) > 0
			d.nullKey = !d.keyed && w.rng.IntN(2) == 0
		case "ordering":
			d.ordered = true
		case "one-key":
			d.keyed = true
			if i > 0 {
				d.key = out[0].key
				continue
			}
		}
		if d.keyed {
			d.key = w.keyIn(seg.info.Range)
			d.ordered = w.rng.IntN(12) == 0
		}
		if d.ordered {
			d.ordering = w.pool[w.rng.IntN(12)].text
		}
		if style == "keyed" && w.rng.IntN(30) == 0 {
			d.out = true
		}
	}
	return out
}
