// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"georep/core/pb"
)

// TestGeneratedCodeIsOfThisProto compares every message, field and enum value in
// include/georep.proto with what core/pb was generated from (build/proto.sh).
func TestGeneratedCodeIsOfThisProto(t *testing.T) {
	b, err := os.ReadFile("../../include/georep.proto")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int) // "Message.field" or "Enum.VALUE" to its number
	block := ""
	open := regexp.MustCompile(`^(message|enum) (\w+) \{`)
	field := regexp.MustCompile(`^(?:  ){1,2}(?:repeated |optional )?(?:map<[^>]*>|[\w.]+) (\w+) = (\d+);`)
	value := regexp.MustCompile(`^  ([A-Z0-9_]+) = (\d+);`)
	for line := range strings.Lines(string(b)) {
		if m := open.FindStringSubmatch(line); m != nil {
			block = m[2]
			continue
		}
		m := field.FindStringSubmatch(line)
		if m == nil {
			m = value.FindStringSubmatch(line)
		}
		if m != nil {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			want[block+"."+m[1]] = n
		}
	}
	got := make(map[string]int)
	file := pb.File_georep_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			got[join(m, f)] = int(f.Number())
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for j := range e.Values().Len() {
			got[join(e, e.Values().Get(j))] = int(e.Values().Get(j).Number())
		}
	}
	for name, n := range want {
		if got[name] != n || (n == 0 && !has(got, name)) {
			t.Errorf("%s = %d in the .proto, %d in core/pb: run build/proto.sh", name, n, got[name])
		}
	}
	for name, n := range got {
		if !has(want, name) {
			t.Errorf("%s = %d is in core/pb and not in the .proto", name, n)
		}
	}
	if len(want) < 90 {
		t.Errorf("only %d names were found", len(want))
	}
}

func join(a, b protoreflect.Descriptor) string { return string(a.Name()) + "." + string(b.Name()) }

func has(m map[string]int, k string) bool { _, ok := m[k]; return ok }
