// SPDX-License-Identifier: Apache-2.0

// Package planted arms the mistakes that are planted in core for the simulator
// to catch. In a binary without the build tag mutant there are none to arm: the
// branches are not compiled in.
package planted

import "georep/core/internal/mutant"

// Enabled says whether this binary was built with the tag mutant.
const Enabled = mutant.Enabled

// Names lists the mistakes.
func Names() (out []string) {
	for _, id := range mutant.All() {
		out = append(out, id.String())
	}
	return out
}

// Select arms one mistake for the whole process; "none" arms none. It must be
// called while no machine runs. It returns false for an unknown name.
func Select(name string) bool {
	id, ok := mutant.Parse(name)
	if ok {
		mutant.Select(id)
	}
	return ok
}
