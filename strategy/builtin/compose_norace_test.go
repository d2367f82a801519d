//go:build !race

package builtin_test

const compositions = 10_000
