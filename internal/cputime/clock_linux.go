package cputime

import (
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2).
const (
	processClock = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadClock  = 3 // CLOCK_THREAD_CPUTIME_ID
)

// Thread returns how long the calling thread has worked. Lock the goroutine to it, with
// runtime.LockOSThread, from the first reading to the last.
func Thread() time.Duration { return read(threadClock) }

// Process returns how long all threads of the process have worked, added up.
func Process() time.Duration { return read(processClock) }

func read(clock uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
