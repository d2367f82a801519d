package markdownpolicy_test

import (
	"syscall"
	"time"
	"unsafe"
)

// workTime is the time that the calling thread has worked, which other work on the machine does not lengthen.
func workTime() time.Duration {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)
	var t syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
