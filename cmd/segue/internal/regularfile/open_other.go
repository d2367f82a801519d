//go:build !unix

package regularfile

// OpenAtOnce is not needed on this system: opening a file never blocks.
const OpenAtOnce = 0
