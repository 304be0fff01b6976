// SPDX-License-Identifier: Apache-2.0

//go:build panics

package main

// injected makes every export panic, for the test that none of them takes the
// host's process with it.
func injected() { panic("injected") }
