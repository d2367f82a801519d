// Package soak shows what outlives a crash, with real processes over real stores: its tests start
// themselves again as workers and as people who answer, kill, freeze and fill them up, and compare
// what is left with what was acknowledged and with runs that nothing happened to.
//
// Beside the store, every process keeps files of its own as a witness: what the store acknowledged,
// which effects the tools had, and what people said. Each line is flushed before the process goes
// on.
//
// go test takes less than a minute. make soak SOAK=1h goes on for an hour and writes the figures to
// docs/internal/durability-tests.md. A seed is printed; SOAK_SEED sets it.
package soak
