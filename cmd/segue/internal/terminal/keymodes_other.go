//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package terminal

import "os"

// keyModes are the modes of a terminal that passes each key on at once. This system has none that
// are known.
type keyModes struct{}

// quietKeys returns nil.
func quietKeys(*os.File, bool) *keyModes { return nil }

func (*keyModes) end() {}

func (*keyModes) mend([]byte) {}

func (*keyModes) outlive(<-chan struct{}, func(error)) bool { return true }
