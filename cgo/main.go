// SPDX-License-Identifier: Apache-2.0

// Command cgo is the C ABI skin of Georep's core (include/georep.h): argument
// checks, handles, panic fences. It decides nothing.
//
//	caller ──► export ──► fence ──► handle ──► core
//	             │          │         └ slot + generation, one mutex per machine
//	             │          └ recover, bad addresses become errors
//	             └ null, length and struct_size checks
//
// It is built as a C archive and linked with the JNI shim into libgeorep.so by
// build/native.sh. It starts no goroutine and keeps no pointer to the caller's
// memory, but for the entries that a window borrows. Its files follow the
// header's tiers.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../include -std=c11
#define GEOREP_TYPES_ONLY 1
#include "georep.h"
*/
import "C"

func main() {} // required by the build mode, never run
