// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"unsafe"

	"georep/core/control"
	"georep/core/pb"
	"georep/core/peer"
)

//export georep_proto_to_json
func georep_proto_to_json(name unsafe.Pointer, nameLen C.uint32_t, bytes unsafe.Pointer, n C.uint32_t,
	out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return convert(name, nameLen, bytes, n, out, capacity, size, e, control.ToJSON)
}

//export georep_proto_from_json
func georep_proto_from_json(name unsafe.Pointer, nameLen C.uint32_t, json unsafe.Pointer, n C.uint32_t,
	out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return convert(name, nameLen, json, n, out, capacity, size, e, control.FromJSON)
}

func convert(name unsafe.Pointer, nameLen C.uint32_t, in unsafe.Pointer, n C.uint32_t, out unsafe.Pointer,
	capacity C.uint64_t, size *C.uint64_t, e *errText, f func(name string, b []byte) ([]byte, error)) status {
	return fenced(e, func() error {
		m, err := view("name", name, uint64(nameLen), maxNameBytes)
		if err != nil {
			return err
		}
		b, err := view("input", in, uint64(n), maxControlBytes)
		if err != nil {
			return err
		}
		got, err := f(string(m), b)
		if err != nil {
			return controlError(err)
		}
		return give(got, out, capacity, size)
	})
}

//export georep_state_build
func georep_state_build(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		r := new(pb.StateRequest)
		if err := message("request", request, n, r); err != nil {
			return err
		}
		s, err := peer.BuildState(r)
		if err != nil {
			return withCode(C.GEOREP_E_FORMAT, err)
		}
		return giveMessage(s, out, capacity, size)
	})
}

//export georep_peer_check
func georep_peer_check(local unsafe.Pointer, localLen C.uint32_t, remote unsafe.Pointer, remoteLen C.uint32_t,
	out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		l, r := new(pb.PeerState), new(pb.PeerState)
		if err := message("local", local, localLen, l); err != nil {
			return err
		}
		if err := message("remote", remote, remoteLen, r); err != nil {
			return err
		}
		return giveMessage(peer.Check(l, r), out, capacity, size)
	})
}

//export georep_topic_filter
func georep_topic_filter(request unsafe.Pointer, n C.uint32_t, out unsafe.Pointer, capacity C.uint64_t,
	size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		f := new(pb.TopicFilter)
		if err := message("request", request, n, f); err != nil {
			return err
		}
		return giveMessage(peer.FilterTopic(f), out, capacity, size)
	})
}

//export georep_peer_gone
func georep_peer_gone(state unsafe.Pointer, stateLen C.uint32_t, held unsafe.Pointer, heldLen C.uint32_t,
	out unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t, e *errText) status {
	return fenced(e, func() error {
		s, h := new(pb.PeerState), new(pb.DedupStatus)
		if err := message("state", state, stateLen, s); err != nil {
			return err
		}
		if err := message("held", held, heldLen, h); err != nil {
			return err
		}
		gone, err := peer.Gone(s, h)
		if err != nil {
			return withCode(C.GEOREP_E_FORMAT, err)
		}
		return giveMessage(gone, out, capacity, size)
	})
}
