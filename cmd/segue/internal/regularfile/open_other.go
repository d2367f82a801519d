//go:build !unix

package main

// openAtOnce has no meaning here: nothing that has a name in a folder blocks an open.
const openAtOnce = 0
