//go:build race

package builtin_test

const compositions = 1_000 // the race detector makes each ten times as slow; make test runs all of them without it, too
