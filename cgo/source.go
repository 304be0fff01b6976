// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"georep/core/entry"
	"georep/core/layout"
	"georep/core/placement"
	"georep/core/window"
)

// source is a georep_source in the core's terms. Its strings alias the caller's
// memory: it is good for one call and nothing of it may be kept.
type source struct {
	src    placement.Source
	policy placement.Policy
	topic  string
	splice entry.Splice
	to     *layout.Segment   // that splice is bound to
	bound  []byte            // memory of splice.Origin.BoundTopic
	origin entry.BoundOrigin // splice.Origin's text
}

func (s *source) read(c *C.georep_source) error {
	if c == nil {
		return bad(C.GEOREP_E_ARG, "georep_source: null")
	}
	o, err := options("georep_source", c, unsafe.Sizeof(*c))
	if err != nil {
		return err
	}
	p, err := profileOf(o.profile)
	if err != nil {
		return err
	}
	if o.range_start > o.range_end || o.range_end > 0xFFFF {
		return bad(C.GEOREP_E_ARG, "range %d..%d", o.range_start, o.range_end)
	}
	var names [4]string
	for i, b := range [4]C.georep_bytes{o.cluster, o.remote, o.topic, o.instance} {
		v, err := viewBytes("a name in georep_source", b, maxNameBytes)
		if err != nil {
			return err
		}
		names[i] = unsafe.String(unsafe.SliceData(v), len(v))
	}
	if !strings.HasPrefix(names[2], "topic://") || names[0] == "" || names[1] == "" || names[3] == "" {
		return bad(C.GEOREP_E_ARG, "georep_source: cluster, remote or instance is empty, or topic is no topic:// name")
	}
	s.src = placement.Source{Cluster: names[0], Remote: names[1], Segment: uint64(o.segment), Profile: p,
		Range: layout.Range{Start: uint16(o.range_start), End: uint16(o.range_end)}, Legacy: o.legacy != 0}
	s.policy = placement.Policy{PlaceEncryptedBatch: o.place_encrypted_batch != 0, MaxMessageBytes: int(o.max_message_bytes)}
	s.topic, s.to = names[2], nil
	s.splice = entry.Splice{Origin: entry.Origin{Cluster: names[0], Instance: names[3], Segment: uint64(o.segment),
		Generation: uint64(o.generation)}}
	return nil
}

// forget drops what aliases the caller's memory.
func (s *source) forget() { *s = source{bound: s.bound[:0], origin: s.origin} }

// bind sets the origin record for one destination.
func (s *source) bind(e *C.georep_entry, d *layout.Segment, part int64) *entry.Origin {
	o := &s.splice.Origin
	if s.to != d {
		s.bound = window.AppendSegmentTopic(s.bound[:0], s.topic, d)
		o.BoundTopic = unsafe.String(unsafe.SliceData(s.bound), len(s.bound))
		s.origin.Set(o)
		s.to, s.splice.Bound = d, &s.origin
	}
	o.Position = entry.Position{Ledger: int64(e.ledger), Entry: int64(e.entry)}
	o.Part = part
	return o
}
