//go:build !unix

package filetools

// nonblock is for platforms on which opening a file never blocks.
const nonblock = 0
