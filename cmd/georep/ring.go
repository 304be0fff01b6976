// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"georep/core/layout"
)

// ringWidth is the number of columns that the hash ring is drawn in.
const ringWidth = 64

// ring is one line of a drawing: a layout under its name.
type ring struct {
	name  string
	shape layout.Shape
}

// drawRings draws layouts below each other: a bar where a segment starts, and in
// it the number of its buckets where it has several and there is room.
//
//	B  |4              |               |               |               |  4 segments
func drawRings(rings []ring) string {
	width := 0
	for _, r := range rings {
		width = max(width, len(r.name))
	}
	var out bytes.Buffer
	for _, r := range rings {
		line := []byte(strings.Repeat(" ", ringWidth))
		for i, start := range r.shape.Starts {
			at := int(start) * ringWidth >> 16
			line[at] = '|'
			end := int(r.shape.Range(i).End) * ringWidth >> 16
			if n := len(r.shape.Buckets[i]); n > 0 {
				if text := fmt.Sprint(n + 1); at+len(text) <= end {
					copy(line[at+1:], text)
				}
			}
		}
		fmt.Fprintf(&out, "%-*s  %s|  %d %s\n", width, r.name, line, r.shape.Len(), plural(r.shape.Len(), "segment"))
	}
	return out.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// shapeObject is a shape as the commands print it.
func shapeObject(s layout.Shape) object {
	segments := []any{}
	for i := range s.Starts {
		segments = append(segments, segmentObject(s.Range(i), s.Buckets[i]))
	}
	return object{{"profile", s.Profile.String()}, {"segments", segments}}
}

func segmentObject(r layout.Range, buckets []uint16) object {
	starts := []any{}
	for _, b := range buckets {
		starts = append(starts, b)
	}
	return object{{"hashRange", object{{"start", r.Start}, {"end", r.End}}}, {"entryBucketSplits", starts}}
}
