// SPDX-License-Identifier: Apache-2.0

package paired

import (
	"syscall"
	"time"
)

// CPU is the processor time that this process has used, of all its threads: the
// collector's work counts, and waiting for a processor does not.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for bad arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
