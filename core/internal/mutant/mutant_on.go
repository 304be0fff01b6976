// SPDX-License-Identifier: Apache-2.0

//go:build mutant

package mutant

// Enabled says whether this binary can plant a mistake.
const Enabled = true

var selected ID

// On says whether the mistake is armed.
func On(id ID) bool { return selected == id }

// Select arms one mistake (None: none) for the whole process.
func Select(id ID) { selected = id }
