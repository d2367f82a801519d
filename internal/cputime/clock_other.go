//go:build !linux

package cputime

import "time"

// Thread returns the time since the program began: the work of one thread is not known here.
func Thread() time.Duration { return time.Since(began) }

// Process returns the time since the program began: the work of the process is not known here.
func Process() time.Duration { return time.Since(began) }
