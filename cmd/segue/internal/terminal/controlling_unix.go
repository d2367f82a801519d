//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Controlling opens the terminal that controls this process, to read what the user types. It
// returns nil if there is none, or if the process is in the background, where a read would stop it.
func Controlling() *os.File {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		_ = f.Close()
		return nil
	}
	return f
}
