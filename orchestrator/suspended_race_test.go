//go:build race

package orchestrator_test

const suspendedRuns = 2_000 // the race detector makes each ten times as slow
