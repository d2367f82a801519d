//go:build !unix

package bench_test

import "time"

var began = time.Now()

// cpuTime returns wall time instead: on an idle machine with one processor they are the same.
func cpuTime() time.Duration { return time.Since(began) }
