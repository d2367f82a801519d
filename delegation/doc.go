// Package delegation defines what a strategy and its caller exchange: the [Input], the [Output],
// errors as data, limits, and the stack of frames. It is pure: data and arithmetic, no I/O.
package delegation
