//go:build !race

package orchestrator_test

const suspendedRuns = 10_000
