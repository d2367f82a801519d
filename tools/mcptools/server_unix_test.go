//go:build unix

package mcptools_test

import (
	"os/signal"
	"syscall"
)

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

func processLives(pid int) bool { return syscall.Kill(pid, 0) == nil }
