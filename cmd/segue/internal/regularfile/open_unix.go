//go:build unix

package regularfile

import "golang.org/x/sys/unix"

// OpenAtOnce opens a pipe without waiting for its other end, and a terminal without making it the
// controlling terminal of the process.
const OpenAtOnce = unix.O_NONBLOCK | unix.O_NOCTTY
