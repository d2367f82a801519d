//go:build unix

package main

import "golang.org/x/sys/unix"

// openAtOnce has a pipe opened without its other end, and a terminal without being made that of the
// process.
const openAtOnce = unix.O_NONBLOCK | unix.O_NOCTTY
