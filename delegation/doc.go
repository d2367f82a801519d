// Package delegation holds what passes between a strategy and whoever started it: the [Input], the
// [Output], errors as data, limits, and the stack of frames. It is pure: data and arithmetic, no
// I/O.
package delegation
