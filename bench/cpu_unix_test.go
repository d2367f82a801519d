//go:build unix

package bench_test

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time that the process has used, in user and in kernel mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
