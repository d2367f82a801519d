// Package bench measures what a step of a run costs beside a loop written by hand.
//
// A step is one model call with the tools that it asks for; in the streaming rows it is one delta.
// Models are scripted and answer at once, so that what is left is the cost of the library. Every
// row gives the same answer, makes the same calls and leaves the same history as the loop: a row
// that does not, fails.
//
// The rows, each with a benchmark of that name:
//
//	W1  no tool                      W5  20 rounds of five parallel calls
//	W2  10 rounds of one add(a,b)    W6  a parent that delegates ten sub-tasks of two rounds
//	W3  100 rounds                   W7  1,000 concurrent runs of W2
//	W4  1,000 rounds                 W8  one streamed reply of 2,000 deltas
//	W9  10,000 rounds                H2, H8  W2 and W8 over HTTP on loopback
//
// Growth compares the steps around the 100th with those before the 10,000th of one and the same
// run. Park weighs a run that waits for its model.
//
// Run all of it with make bench in the root of the repository. The program in folder ratios prints
// the medians, holds the gates, and fails if one is broken. The bytes and allocations of a step
// hardly vary, so that a test of this package gates them.
package bench
