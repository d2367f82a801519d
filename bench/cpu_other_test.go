//go:build !unix

package bench_test

import "time"

var began = time.Now()

// cpuTime falls back to wall time: on an idle machine with one processor they are the same.
func cpuTime() time.Duration { return time.Since(began) }
