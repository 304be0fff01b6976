// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
)

// TestChange: each cluster tells each other its layout once, and is answered with one.
func TestChange(t *testing.T) {
	for n := 2; n <= 7; n++ {
		got, err := Change(n, 4)
		if err != nil {
			t.Fatalf("%d clusters: %v", n, err)
		}
		calls := n * (n - 1)
		if got.Calls != calls || got.States != 2*calls {
			t.Errorf("%d clusters: %+v; want %d calls, %d states", n, got, calls, 2*calls)
		}
		// A call and its answer name two states of five segments with three bucket starts each.
		if got.Protobuf < calls*300 || got.JSON < 2*got.Protobuf || got.JSON > 4*got.Protobuf {
			t.Errorf("%d clusters: %+v", n, got)
		}
		if again, err := Change(n, 4); err != nil || again != got {
			t.Errorf("%d clusters: %+v, then %+v, %v", n, got, again, err)
		}
	}
}

func TestChangeThatIsRefused(t *testing.T) {
	if got, err := Change(2, 64); err == nil || !strings.Contains(err.Error(), "cap") {
		t.Errorf("%+v, %v: the default cap is 64 segments", got, err)
	}
}
