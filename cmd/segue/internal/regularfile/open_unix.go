//go:build unix

package regularfile

import "golang.org/x/sys/unix"

// OpenAtOnce has a pipe opened without its other end, and a terminal without being made that of the
// process.
const OpenAtOnce = unix.O_NONBLOCK | unix.O_NOCTTY
