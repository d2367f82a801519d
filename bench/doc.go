// Package bench measures the cost of a step of a run, compared with a loop written by hand.
//
// A step is one model call with its tool calls; in the streaming rows it is one delta. Models are
// scripted and answer at once, so that only the cost of the library remains. Every row must give
// the same answer, make the same calls and leave the same history as the loop; otherwise it fails.
//
// The rows, each with a benchmark of that name:
//
//	W1  no tool                      W5  20 rounds of five parallel calls
//	W2  10 rounds of one add(a,b)    W6  a parent that delegates ten sub-tasks of two rounds
//	W3  100 rounds                   W7  1,000 concurrent runs of W2
//	W4  1,000 rounds                 W8  one streamed reply of 2,000 deltas
//	W9  10,000 rounds                H2, H8  W2 and W8 over HTTP on loopback
//
// Growth compares the steps around the 100th with those before the 10,000th of the same run. Park
// measures the memory of a run that waits for its model.
//
// Run all of them with make bench in the root of the repository, which also runs the benchmarks of
// the durable stores: they are in the modules of these. The program in folder ratios
// prints the medians, checks the gates, and fails if one is broken. The bytes and allocations of a
// step hardly vary, so a test of this package checks them.
package bench
