// SPDX-License-Identifier: Apache-2.0

//go:build !mutant

package mutant

// Enabled says whether this binary can plant a mistake.
const Enabled = false

// On is false: the branches behind it are not compiled in.
func On(ID) bool { return false }

// Select does nothing in a binary without the tag.
func Select(ID) {}
