// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The peer computes with pointers in a way that the race detector's checks stop.

package keyhash

import (
	"math/rand/v2"
	"testing"

	"github.com/spaolacci/murmur3"
)

func TestSumEqualsPeer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		if got, want := Sum(key), murmur3.Sum32(key); got != want {
			t.Fatalf("length %d: %#x, peer says %#x", n, got, want)
		}
	}
}

func FuzzSum(f *testing.F) {
	for _, s := range []string{"", "k", "k1", "key", "four", "five5", "\x00\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if got, want := Sum(key), murmur3.Sum32(key); got != want {
			t.Fatalf("Sum(%x) = %#x, peer says %#x", key, got, want)
		}
	})
}

var sink uint32

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{8, 24, 100} {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte('a' + i%26)
		}
		name := map[int]string{8: "8B", 24: "24B", 100: "100B"}[n]
		b.Run(name+"/inlined", func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				sink += Sum(key)
			}
		})
		b.Run(name+"/spaolacci", func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				sink += murmur3.Sum32(key)
			}
		})
	}
}
