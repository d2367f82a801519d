package terminal

import "golang.org/x/sys/unix"

func flushInput(terminal int) { _ = unix.IoctlSetInt(terminal, unix.TCFLSH, unix.TCIFLUSH) }
