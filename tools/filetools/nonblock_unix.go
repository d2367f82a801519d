//go:build unix

package filetools

import "syscall"

// nonblock keeps the opening of a pipe from blocking until the pipe has a writer.
const nonblock = syscall.O_NONBLOCK
