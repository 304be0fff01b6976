// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/base64"
	"fmt"

	"georep/core/keyhash"
	"georep/core/layout"
)

// key is a partition key of the pool.
type key struct {
	text string
	b64  bool // text is base64 of the bytes that the user gave
	hash uint32
}

// makeKeys fills the pool: few enough that keys repeat, the empty key and
// base64 ones among them.
func (w *World) makeKeys() {
	w.pool = append(w.pool, w.newKey(""))
	for i := range 47 {
		w.pool = append(w.pool, w.newKey(fmt.Sprintf("k%d-%x", i, w.rng.Uint32N(1<<20))))
	}
	for i := range w.pool {
		if i%5 == 4 {
			w.pool[i] = w.newKey(base64.StdEncoding.EncodeToString([]byte(w.pool[i].text)))
			w.pool[i].b64 = true
		}
	}
}

func (w *World) newKey(text string) key {
	return key{text: text, hash: keyhash.Sum([]byte(text))}
}

// keyIn returns a key that routes into r.
func (w *World) keyIn(r layout.Range) key {
	start := w.rng.IntN(len(w.pool))
	for i := range w.pool {
		if k := w.pool[(start+i)%len(w.pool)]; r.Contains(w.opt.profile.Segment(k.hash)) {
			return k
		}
	}
	for i := 0; ; i++ {
		if k := w.newKey(fmt.Sprintf("x%d", w.rng.Uint64N(1<<40))); r.Contains(w.opt.profile.Segment(k.hash)) {
			w.pool = append(w.pool, k)
			return k
		}
	}
}
