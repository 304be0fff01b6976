// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that keeps the order of its fields.
type object []field

type field struct {
	name  string
	value any
}

func (o *object) put(name string, value any) { *o = append(*o, field{name, value}) }

// set replaces the value of a field that is there, else adds it.
func (o *object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	o.put(name, value)
}

// add appends value to a field that is a list.
func (o *object) add(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = append((*o)[i].value.([]any), value)
			return
		}
	}
	o.put(name, []any{value})
}

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := appendJSON(&b, f.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := appendJSON(&b, f.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// appendJSON writes v without escaping '<', '>' and '&'.
func appendJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline
	return nil
}
