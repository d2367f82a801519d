// Package counted counts the steps of the parsers. It is part of no program: linear tests build the
// package anew with it, see counted_test.go.
package counted

var steps int

// Steps returns the number of steps so far.
func Steps() int { return steps }

// Step counts one step: the beginning of a function or of a turn of a loop.
func Step() { steps++ }

// Read counts bytes that were looked at.
func Read(n int) { steps += n }

// Copied counts the bytes of a text that is copied, and returns the text.
func Copied[T any](v T) T {
	switch s := any(v).(type) {
	case string:
		steps += len(s)
	case []byte:
		steps += len(s)
	}
	return v
}

// Added counts the bytes of a text that another is added to, and returns that other.
func Added[T any](to, v T) T {
	Copied(to)
	return Copied(v)
}
