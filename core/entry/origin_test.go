// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestOriginValue(t *testing.T) {
	for _, c := range []struct {
		o Origin
		v string
	}{
		{sampleOrigin, "1|east|00112233445566778899aabbccddeeff|3|2|17:42|segment://public/default/t/0000-7fff-5"},
		{Origin{"a", "i", 0, 0, Position{0, 0}, 0, "t"}, "1|a|i|0|0|0:0:0|t"},
		{Origin{"a|b%c", "%7C", 1, 1, Position{1, 2}, 3, "|"}, "1|a%7Cb%25c|%257C|1|1|1:2:3|%7C"},
		{Origin{"", "", math.MaxUint64, math.MaxUint64, Position{math.MaxInt64, math.MaxInt64}, math.MaxInt64 - 1, ""},
			"1|||18446744073709551615|18446744073709551615|9223372036854775807:9223372036854775807:9223372036854775806|"},
		{Origin{"größe", "i", 1, 1, Position{1, 2}, Whole, "t"}, "1|größe|i|1|1|1:2|t"},
	} {
		if got := string(c.o.AppendValue([]byte("x"))); got != "x"+c.v {
			t.Errorf("%+v = %s, want %s", c.o, got[1:], c.v)
		}
		if got, err := ParseOrigin([]byte(c.v)); err != nil || got != c.o {
			t.Errorf("ParseOrigin(%s) = %+v, %v", c.v, got, err)
		}
	}
}

func TestOriginBad(t *testing.T) {
	for _, c := range []struct {
		v      string
		offset int
		field  string
	}{
		{"", 0, "origin"},
		{"|east", 0, "origin"},
		{"x|east", 0, "origin"},
		{"01|east", 0, "origin"},
		{"1", 1, "origin"},
		{"1|a|b|1|1|1:1", 13, "origin"},
		{"1|a|b|1|1|1:1|t|more", 15, "origin"},
		{"1|a%|b|1|1|1:1|t", 2, "origin cluster"},
		{"1|a%7c|b|1|1|1:1|t", 2, "origin cluster"},
		{"1|a|%41|1|1|1:1|t", 4, "origin instance"},
		{"1|a|b||1|1:1|t", 6, "origin segment"},
		{"1|a|b|-1|1|1:1|t", 6, "origin segment"},
		{"1|a|b|01|1|1:1|t", 6, "origin segment"},
		{"1|a|b|18446744073709551616|1|1:1|t", 6, "origin segment"},
		{"1|a|b|1|1 |1:1|t", 8, "origin generation"},
		{"1|a|b|1|1|1|t", 11, "position"},
		{"1|a|b|1|1|:1|t", 10, "position"},
		{"1|a|b|1|1|1:|t", 12, "position"},
		{"1|a|b|1|1|1:-1|t", 12, "position"},
		{"1|a|b|1|1|1:1:|t", 14, "position"},
		{"1|a|b|1|1|1:1:1:1|t", 15, "position"},
		{"1|a|b|1|1|9223372036854775808:1|t", 28, "position"},
		{"1|a|b|1|1|1:1:9223372036854775807|t", 32, "position"},
		{"1|a|b|1|1|1:1|%", 14, "origin bound topic"},
	} {
		_, err := ParseOrigin([]byte(c.v))
		var f *FormatError
		if !errors.As(err, &f) || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", c.v, err)
			continue
		}
		if f.Offset != c.offset || f.Field != c.field {
			t.Errorf("%s: byte %d in %s, want byte %d in %s", c.v, f.Offset, f.Field, c.offset, c.field)
		}
	}
	for _, v := range []string{"2", "2|anything", "0|", "10|a|b|1|1|1:1|t"} {
		if _, err := ParseOrigin([]byte(v)); !errors.Is(err, ErrOriginVersion) {
			t.Errorf("%s: error %v, want ErrOriginVersion", v, err)
		}
	}
}

func TestFindOrigin(t *testing.T) {
	none := AppendPropertyField(sampleMetadata(), fieldProperties, "mine", "1|a|b|1|1|1:1|t")
	if _, ok, err := FindOrigin(none); ok || err != nil {
		t.Errorf("without a record: %v, %v", ok, err)
	}
	b := AppendPropertyField(none, fieldProperties, OriginProperty, "1|first|b|1|1|1:1|t")
	b = AppendPropertyField(b, fieldProperties, OriginProperty, "1|last|b|1|1|1:1|t")
	if o, ok, err := FindOrigin(b); !ok || err != nil || o.Cluster != "last" {
		t.Errorf("two records: %+v, %v, %v", o, ok, err)
	}
	b = AppendPropertyField(b, fieldProperties, OriginProperty, "7|later")
	if _, ok, err := FindOrigin(b); ok || !errors.Is(err, ErrOriginVersion) {
		t.Errorf("a later version: %v, %v", ok, err)
	}
	if _, ok, err := FindOrigin(unhex(t, "22020a00")); ok || !errors.Is(err, ErrFormat) {
		t.Errorf("broken metadata: %v, %v", ok, err)
	}
}

func TestPosition(t *testing.T) {
	for _, c := range []struct {
		a, b Position
		want int
	}{
		{Position{1, 9}, Position{2, 0}, -1},
		{Position{2, 0}, Position{1, 9}, 1},
		{Position{2, 1}, Position{2, 2}, -1},
		{Position{2, 2}, Position{2, 2}, 0},
		{Position{-1, -1}, Position{0, 0}, -1},
	} {
		if got := c.a.Compare(c.b); got != c.want {
			t.Errorf("%v against %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	p, err := ParsePosition("12:345")
	if err != nil || p != (Position{12, 345}) || p.String() != "12:345" {
		t.Errorf("%v, %v", p, err)
	}
	if got := (Position{-1, -1}).String(); got != "-1:-1" {
		t.Errorf("the position before the first is %s", got)
	}
	for _, s := range []string{"", ":", "1", "1:", ":1", "1:2:3", "1:2:", "-1:2", "1:-2", "+1:2", " 1:2", "1:2 ", "01:2", "1:9223372036854775808", "a:b"} {
		if p, err := ParsePosition(s); !errors.Is(err, ErrFormat) {
			t.Errorf("ParsePosition(%q) = %v, %v", s, p, err)
		}
	}
	if !strings.Contains((&FormatError{3, "position", "no number", ErrFormat}).Error(), "at byte 3") {
		t.Error("the error does not name the byte")
	}
}
