// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// client is one implementation, and what it can do.
type client struct {
	name    string
	process *process
	version string
	scheme  string // of the topics it reads and writes
	// the client has no way to say some things
	ordering, keyBytes, nulls, keyValue, orderedSeq bool
}

// batch is one request to a producer.
type batch struct {
	name    string
	request request
}

func key(s string) *string { return &s }

// mixed are messages of every shape that the client can write.
func (c *client) mixed() []sent {
	var out []sent
	add := func(m sent) {
		if c.orderedSeq {
			n := int64(100 + 10*len(out))
			m.Seq = &n
		}
		out = append(out, m)
	}
	for i := range 8 {
		add(sent{
			Key: key(fmt.Sprint("k", i%5)), At: 1_700_000_000_000 + int64(i), Value: []byte(text(fmt.Sprint("mixed-", i), 900)),
			Props: map[string]string{"i": fmt.Sprint(i), "ü": "ä€", "empty": ""},
		})
	}
	add(sent{Value: []byte("no key")})
	add(sent{Key: key("k1"), Value: []byte{}})
	if c.ordering {
		add(sent{Key: key("k2"), Ordering: []byte("o1"), Value: []byte("both keys")})
		add(sent{Ordering: []byte("o2"), Value: []byte("ordering key alone")})
	}
	if c.keyBytes {
		add(sent{KeyBytes: []byte{0, 1}, Value: []byte("binary key")})
	}
	if c.nulls {
		add(sent{Key: key("k3"), Value: nil, Props: map[string]string{"null": "value"}})
	}
	return out
}

const person = `{"type":"record","name":"Person","fields":[{"name":"name","type":"string"}]}`

// batches is what a client writes to one topic.
func (c *client) batches(codec, publicKey string) []batch {
	keyed := func(tag string, n, size int) (out []sent) {
		for i := range n {
			out = append(out, sent{Key: key(fmt.Sprint("k", i)), Value: []byte(text(fmt.Sprint(tag, i), size))})
		}
		return out
	}
	var people []sent
	for i := range 4 {
		people = append(people, sent{Key: key(fmt.Sprint("k", i)), Value: fmt.Appendf(nil, `{"name":"n%d"}`, i)})
	}
	long := make([]byte, 100_000) // incompressible: it is more than one chunk with every codec
	r := rand.New(rand.NewPCG(1, 2))
	for i := range long {
		long[i] = byte(r.Uint32())
	}
	all := []batch{
		{name: "mixed", request: request{Batched: true, Messages: c.mixed()}},
		{name: "unbatched", request: request{Messages: slices.Concat(c.mixed()[:2], keyed("single", 1, 5000))}},
		{name: "one", request: request{Batched: true, Messages: keyed("one", 1, 5000)}},
		{name: "unkeyed", request: request{Batched: true, Messages: []sent{{Value: []byte("a")}, {Value: []byte(text("b", 5000))}}}},
		{name: "schema", request: request{Batched: true, Messages: people, Schema: person}},
		{name: "chunked", request: request{Messages: []sent{{Key: key("long"), Value: long}}, Chunk: 40_000}},
		{name: "encrypted-single", request: request{Messages: keyed("secret", 1, 5000), PublicKey: publicKey}},
		{name: "encrypted-batch", request: request{Batched: true, Messages: keyed("secrets", 3, 2000), PublicKey: publicKey}},
	}
	if c.keyValue {
		all = append(all, batch{name: "key-value", request: request{Batched: true, KeyValue: true, Messages: []sent{
			{KeyBytes: []byte("k1"), Value: []byte("v1")}, {Value: []byte("null key")}, {KeyBytes: []byte("k3")},
		}}})
	}
	for i := range all {
		q := &all[i].request
		q.Op, q.Client, q.Codec = "produce", c.name, codec
	}
	return all
}

// entries is how many entries the batch must have become; 0 leaves it open.
func (b *batch) entries() int {
	switch {
	case b.request.Chunk > 0 || b.request.Client == "java-v5":
		return 0
	case b.request.Batched:
		return 1
	}
	return len(b.request.Messages)
}
