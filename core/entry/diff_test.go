// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"fmt"
	"reflect"
)

// diffMetadata names the fields in which two structs differ; nil and empty
// slices are the same.
func diffMetadata(got, want any) string {
	g, w := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	out := ""
	for i := range g.NumField() {
		a, b := g.Field(i), w.Field(i)
		name := g.Type().Field(i).Name
		if name == "fields" || name == "ownProperties" {
			continue // what they are for is tested by the splice
		}
		if a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Uint8 {
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				out += fmt.Sprintf("%s %q, want %q; ", name, a.Bytes(), b.Bytes())
			}
			continue
		}
		if !a.Equal(b) {
			out += fmt.Sprintf("%s %v, want %v; ", name, a, b)
		}
	}
	return out
}
