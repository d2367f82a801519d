//go:build !race

package machine

// raceDetector says whether the tests run under it: pools forget there, so that allocations are no
// measure.
const raceDetector = false
