// SPDX-License-Identifier: Apache-2.0

//go:build !panics

package main

// injected does nothing in the shipped library; see panics_on.go.
func injected() {}
