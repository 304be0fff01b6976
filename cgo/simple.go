// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"georep/core/entry"
	"georep/core/keyhash"
)

// version is the library's, as the build's packages carry it.
const version = "0.1.0"

// limits are the process-wide caps of georep_options with defaults filled in.
type limits struct {
	entry, decompressed, messages int
	tagMin, tagMax                int
}

const (
	defaultEntry        = 16 << 20
	defaultDecompressed = 128 << 20
	defaultMessages     = 100_000
	defaultProcs        = 16
	highestCap          = 1 << 30 // of bytes; lengths of the format are 32 bits, signed in places
)

var (
	caps     atomic.Pointer[limits]
	initLock sync.Mutex
	inUse    atomic.Bool // a window or dedup was made: caps and tags are settled
)

func init() {
	caps.Store(&limits{defaultEntry, defaultDecompressed, defaultMessages, entry.TagHashMin, entry.TagHashMax})
	runtime.GOMAXPROCS(max(defaultProcs, runtime.NumCPU()))
}

//export georep_version
func georep_version(buf unsafe.Pointer, capacity C.uint64_t, size *C.uint64_t) status {
	return fenced(nil, func() error {
		if size == nil {
			return bad(C.GEOREP_E_ARG, "len: null")
		}
		*size = C.uint64_t(len(version))
		if uint64(capacity) <= uint64(len(version)) {
			return bad(C.GEOREP_E_SPACE, "%d bytes are too few", uint64(capacity))
		}
		dst, err := view("buf", buf, uint64(capacity), maxOutBytes)
		if err != nil {
			return err
		}
		dst[copy(dst, version)] = 0
		return nil
	})
}

//export georep_init
func georep_init(o *C.georep_options, e *errText) status {
	return fenced(e, func() error {
		initLock.Lock()
		defer initLock.Unlock()
		var opt C.georep_options
		if o != nil {
			var err error
			if opt, err = options("georep_options", o, unsafe.Sizeof(opt)); err != nil {
				return err
			}
		}
		return configure(&opt)
	})
}

func configure(o *C.georep_options) error {
	l, err := limitsOf(o)
	if err != nil {
		return err
	}
	if inUse.Load() && *l != *caps.Load() {
		return bad(C.GEOREP_E_STATE, "caps and hash tags can not change any more: a window or dedup has been created")
	}
	if o.gc_percent > 1<<20 || o.max_procs > 1<<14 || uint64(o.memory_limit) > 1<<62 {
		return bad(C.GEOREP_E_ARG, "max_procs, gc_percent or memory_limit out of range")
	}
	if tagMin, tagMax := entry.HashTags(); l.tagMin != tagMin || l.tagMax != tagMax {
		if err := entry.SetHashTags(l.tagMin, l.tagMax); err != nil {
			return withCode(C.GEOREP_E_ARG, err)
		}
	}
	caps.Store(l)
	if o.max_procs > 0 {
		runtime.GOMAXPROCS(int(o.max_procs))
	}
	if o.gc_percent > 0 {
		debug.SetGCPercent(int(o.gc_percent))
	}
	if o.memory_limit > 0 {
		debug.SetMemoryLimit(int64(o.memory_limit))
	}
	return nil
}

// limitsOf checks the caps of o and fills in the defaults.
func limitsOf(o *C.georep_options) (*limits, error) {
	if o.max_entry_bytes > highestCap || o.max_decompressed_bytes > highestCap || o.max_messages > maxMaskBytes*8 {
		return nil, bad(C.GEOREP_E_LIMIT, "max_entry_bytes, max_decompressed_bytes or max_messages is too large")
	}
	pick := func(v uint64, def int) int {
		if v == 0 {
			return def
		}
		return int(v)
	}
	l := &limits{
		entry:        pick(uint64(o.max_entry_bytes), defaultEntry),
		decompressed: pick(uint64(o.max_decompressed_bytes), defaultDecompressed),
		messages:     pick(uint64(o.max_messages), defaultMessages),
		tagMin:       pick(uint64(o.hash_tag_min), entry.TagHashMin),
		tagMax:       pick(uint64(o.hash_tag_max), entry.TagHashMax),
	}
	return l, nil
}

//export georep_key_hash
func georep_key_hash(key unsafe.Pointer, n, profile C.uint32_t, hash, segment, bucket *C.uint32_t, e *errText) status {
	return fenced(e, func() error {
		k, err := view("key", key, uint64(n), maxControlBytes)
		if err != nil {
			return err
		}
		p, err := profileOf(profile)
		if err != nil {
			return err
		}
		h := keyhash.Sum(k)
		if hash != nil {
			*hash = C.uint32_t(h)
		}
		if segment != nil {
			*segment = C.uint32_t(p.Segment(h))
		}
		if bucket != nil {
			*bucket = C.uint32_t(keyhash.Bucket(h))
		}
		return nil
	})
}

func profileOf(p C.uint32_t) (keyhash.Profile, error) {
	if p != C.GEOREP_PROFILE_M1 && p != C.GEOREP_PROFILE_PIP486 {
		return 0, bad(C.GEOREP_E_ARG, "profile: %d", p)
	}
	return keyhash.Profile(p), nil
}
