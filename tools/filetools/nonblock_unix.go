//go:build unix

package filetools

import "syscall"

// nonblock keeps the opening of a pipe from waiting for whoever writes into it.
const nonblock = syscall.O_NONBLOCK
