//go:build !linux

package markdownpolicy_test

import "time"

var started = time.Now()

// workTime is the time since the test began: the time of one thread is not known here.
func workTime() time.Duration { return time.Since(started) }
