//go:build !unix

package filetools

// nonblock is for platforms on which the opening of a file waits for nobody.
const nonblock = 0
