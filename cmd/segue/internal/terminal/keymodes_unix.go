//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
)

// keyModes are the modes of a terminal that passes each key on at once, and shows none.
type keyModes struct {
	fd      int
	all     bool           // Ctrl-C is a key as well
	stops   chan os.Signal // Ctrl-Z; it is asked for before the modes are set, or else they would outlive a stop
	resized chan os.Signal
	early   int // bytes that were typed before the modes were set, and are not read yet

	mu     sync.Mutex
	before unix.Termios
	over   bool
}

// quietKeys sets these modes; outlive must follow. It returns nil if f is no terminal, or if
// this process is in the background there, where a change would stop it.
func quietKeys(f *os.File, all bool) *keyModes {
	m := &keyModes{all: all, fd: int(f.Fd()), stops: make(chan os.Signal, 1), resized: make(chan os.Signal, 1)}
	if !m.inForeground() {
		return nil
	}
	before, err := unix.IoctlGetTermios(m.fd, getModes)
	if err != nil {
		return nil
	}
	m.before = *before
	m.awaitStops()
	signal.Notify(m.resized, syscall.SIGWINCH)
	m.set()
	if m.early, err = unix.IoctlGetInt(m.fd, getUnread); err != nil {
		m.early = 0
	}
	return m
}

// inForeground reports whether what is typed at the terminal is for this process.
func (m *keyModes) inForeground() bool {
	group, err := unix.IoctlGetInt(m.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// set sets the modes, unless they are over.
func (m *keyModes) set() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return
	}
	now := m.before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if m.all {
		now.Cc[unix.VINTR] = noKey
	}
	_ = unix.IoctlSetTermios(m.fd, setModes, &now) // without them no key begins anything
}

// restore sets the modes that were there before.
func (m *keyModes) restore() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over && m.inForeground() {
		_ = unix.IoctlSetTermios(m.fd, setModes, &m.before) // there is nothing else to try
	}
}

// end restores the modes for good.
func (m *keyModes) end() {
	m.restore()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
}

// mend puts a Ctrl-D in the place of each that was typed before the modes were set: the terminal
// has kept a mark for the end of a line there.
func (m *keyModes) mend(read []byte) {
	for i := range min(m.early, len(read)) {
		if read[i] == 0 {
			read[i] = '\x04'
		}
	}
	m.early = max(0, m.early-len(read))
}

// awaitStops has Ctrl-Z wait for outlive, unless it has no effect.
func (m *keyModes) awaitStops() {
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(m.stops, syscall.SIGTSTP)
	}
}

// stopWait is how long a stop may take. A process that nobody can continue does not stop.
const stopWait = 100 * time.Millisecond

// outlive restores the terminal when Ctrl-Z stops the process, and sets the modes again when it
// goes on at the terminal. It says so, and when the terminal has another size. It returns true when
// over is closed, and false when the process goes on in the background: what is typed is not for it
// any more.
func (m *keyModes) outlive(over <-chan struct{}, say func(error)) bool {
	goesOn := make(chan os.Signal, 1)
	defer signal.Stop(m.stops)
	defer signal.Stop(m.resized)
	defer signal.Stop(goesOn)
	for {
		select {
		case <-over:
			return true
		case <-m.resized:
			say(lineedit.ErrResized)
			continue
		case <-m.stops:
		}
		m.restore()
		signal.Notify(goesOn, syscall.SIGCONT)
		signal.Stop(m.stops)
		// SIGTSTP has no effect of its own any more once the program has asked for it. This one
		// stops the process as well, and as little where nobody could continue it.
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGTTIN) // to itself it may
		select {
		case <-goesOn:
		case <-time.After(stopWait):
		}
		signal.Stop(goesOn)
		if !m.inForeground() {
			return false
		}
		m.awaitStops()
		m.set()
		say(lineedit.ErrAnew)
	}
}
