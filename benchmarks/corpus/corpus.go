// SPDX-License-Identifier: Apache-2.0

// Package corpus makes the messages that benchmarks compress: JSON as services
// publish it, different in every message, and the same in every run.
package corpus

import (
	"fmt"
	"math/rand/v2"

	"georep/internal/entrytest"
)

// Keys is how many different keys the messages have.
const Keys = 500

var (
	kinds  = []string{"order.created", "order.updated", "payment.captured", "shipment.sent", "session.ended"}
	names  = []string{"Maria", "Jonas", "Aiko", "Pedro", "Lena", "Tomasz", "Fatima", "Noah", "Ines", "Oluwaseun"}
	family = []string{"Keller", "Tanaka", "Silva", "Nowak", "Okafor", "Garcia", "Larsson", "Rossi", "Dubois", "Haddad"}
	words  = []string{"delivered", "to", "the", "neighbour", "because", "nobody", "answered", "door", "parcel", "left",
		"with", "customer", "asked", "for", "refund", "invoice", "was", "sent", "again", "after", "second", "reminder",
		"please", "call", "before", "noon", "warehouse", "north", "shelf", "empty", "reordered", "by", "supplier"}
)

// Messages returns n keyed messages with JSON bodies of exactly size bytes, at
// least 100.
func Messages(n, size int) []entrytest.Message {
	r := rand.New(rand.NewPCG(495, uint64(size)))
	out := make([]entrytest.Message, n)
	for i := range out {
		out[i] = entrytest.Keyed(fmt.Sprintf("customer-%05d", r.IntN(Keys)), int64(i), body(r, i, size))
	}
	return out
}

// body returns one document: an event with as many items as fit, then a note of
// words that fills the size.
func body(r *rand.Rand, i, size int) []byte {
	b := fmt.Appendf(nil, `{"id":"%08x","type":%q,"ts":%d`, r.Uint32(), kinds[r.IntN(len(kinds))], 1_764_541_234_000+i*17+r.IntN(17))
	if size >= 512 {
		name, last := names[r.IntN(len(names))], family[r.IntN(len(family))]
		b = fmt.Appendf(b, `,"user":{"id":%d,"name":"%s %s","email":"%s.%s%d@example.org","vip":%t},"items":[`,
			10_000+r.IntN(90_000), name, last, name, last, r.IntN(100), r.IntN(8) == 0)
		for k := 0; len(b) < size*3/5; k++ {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"sku":"KX-%05d","qty":%d,"price":%d.%02d,"currency":"EUR"}`, r.IntN(100_000), 1+r.IntN(9),
				r.IntN(200), r.IntN(100))
		}
		b = append(b, ']')
	}
	const end = `"}`
	b = append(b, `,"note":"`...)
	for len(b) < size-len(end) {
		b = append(append(b, words[r.IntN(len(words))]...), ' ')
	}
	return append(b[:size-len(end)], end...)
}
