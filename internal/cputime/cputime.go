// Package cputime tells how long a thread or the process has worked. Tests of how costs grow
// measure work, which other programs on the machine do not lengthen, and not time.
package cputime

import "time"

// began is where the clock of systems begins that do not tell work apart.
var began = time.Now()
