package strategytest

import (
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
)

// Explore explores the strategy that the factory makes with everything that the world can answer,
// see [explore.Run], and fails the test with each violation of a law. It logs what was explored.
func Explore(t testing.TB, factory func() strategy.Strategy, o explore.Options) *explore.Report {
	t.Helper()
	r, err := explore.Run(factory, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Violations {
		t.Error(r.Violations[i].Error())
	}
	t.Log(r)
	return r
}
