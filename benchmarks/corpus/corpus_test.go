// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"reflect"
	"testing"

	"georep/core/codec"
)

func TestMessages(t *testing.T) {
	for _, size := range []int{100, 1024} {
		all := Messages(1000, size)
		keys := map[string]bool{}
		var plain []byte
		for _, m := range all {
			if len(m.Body) != size || !json.Valid(m.Body) {
				t.Fatalf("%d: %s", size, m.Body)
			}
			keys[m.Key] = true
			plain = append(plain, m.Body...)
		}
		if len(keys) < Keys*3/4 {
			t.Errorf("%d: %d keys", size, len(keys))
		}
		// Like the JSON of services: neither noise nor one message a thousand times.
		packed, err := codec.Zlib.AppendEncode(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(len(plain)) / float64(len(packed)); f < 2.5 || f > 6 {
			t.Errorf("%d: zlib makes it %.1f times smaller", size, f)
		}
		if !reflect.DeepEqual(all, Messages(1000, size)) {
			t.Errorf("%d: not the same again", size)
		}
	}
}
