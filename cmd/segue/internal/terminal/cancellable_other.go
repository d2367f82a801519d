//go:build !unix

package terminal

import "io"

// Cancellable returns r itself: a read from a console cannot be cancelled without changing how the
// console reads. A line that is typed after release is lost if somebody still waits for it.
func Cancellable(r io.Reader) (input io.Reader, release func()) { return r, func() {} }
