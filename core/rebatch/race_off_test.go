// SPDX-License-Identifier: Apache-2.0

//go:build !race

package rebatch_test

const raceEnabled = false
