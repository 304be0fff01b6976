// SPDX-License-Identifier: Apache-2.0

// Package faults keeps what users of software of this kind have reported in
// public from happening here: one test per report, named after its line in
// README.md. What needs a real broker is in java-shim/it, in the classes named
// Fault*Test.
package faults
