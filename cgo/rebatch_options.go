// SPDX-License-Identifier: Apache-2.0

package main

/*
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

import (
	"unsafe"

	"georep/core/rebatch"
)

func (c *cutter) readOptions(p *C.georep_rebatch_options) (*rebatch.Options, error) {
	opt := &rebatch.Options{MaxMessageBytes: c.policy.MaxMessageBytes}
	if p == nil {
		return opt, nil
	}
	o, err := options("georep_rebatch_options", p, unsafe.Sizeof(*p))
	if err != nil {
		return nil, err
	}
	opt.KeepCodec = o.keep_codec != 0
	if o.max_message_bytes > 0 {
		opt.MaxMessageBytes = int(o.max_message_bytes)
	}
	if o.set_schema_version != 0 {
		opt.SetSchemaVersion = true
		opt.SchemaVersion, err = viewBytes("schema_version", o.schema_version, maxSchemaBytes)
	}
	return opt, err
}

// readMask turns the caller's bits into a mask; nil is all messages.
func (c *cutter) readMask(p *C.georep_rebatch_options) (rebatch.Mask, error) {
	if p == nil {
		return nil, nil
	}
	o, err := options("georep_rebatch_options", p, unsafe.Sizeof(*p))
	if err != nil {
		return nil, err
	}
	bits, err := viewBytes("mask", o.mask, maxMaskBytes)
	if err != nil || len(bits) == 0 {
		return nil, err
	}
	n := c.batch.Len()
	if len(bits) != (n+7)/8 {
		return nil, bad(C.GEOREP_E_ARG, "mask of %d bytes for %d messages", len(bits), n)
	}
	c.mask = rebatch.NewMask(n)
	for i := range n {
		if bits[i/8]>>(i%8)&1 != 0 {
			c.mask.Set(i)
		}
	}
	return c.mask, nil
}
