package terminal

import "golang.org/x/sys/unix"

// What reads the modes of a terminal, sets them at once, and counts what is typed and not read; and
// what stands in them for no key.
const (
	getModes  = unix.TCGETS
	setModes  = unix.TCSETS
	getUnread = unix.TIOCINQ
	noKey     = 0
)

func flushInput(terminal int) { _ = unix.IoctlSetInt(terminal, unix.TCFLSH, unix.TCIFLUSH) }
