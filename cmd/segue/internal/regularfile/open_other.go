//go:build !unix

package regularfile

// OpenAtOnce has no meaning here: nothing that has a name in a folder blocks an open.
const OpenAtOnce = 0
