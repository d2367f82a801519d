package strategytest

import (
	"maps"
	"testing"

	"github.com/segue-go/segue/strategy"
)

// newRestored makes a process that makes runs with copies of the strategies. A strategy that cannot
// be snapshot has no copy. The end of such a run is not compared: without an ability, a shadow ends
// only nearly like its strategy.
func newRestored(t *testing.T, r *storyRun) *process {
	t.Helper()
	run := *r
	run.config.Strategies = maps.Clone(run.config.Strategies)
	for name, factory := range run.config.Strategies {
		run.config.Strategies[name] = func() strategy.Strategy {
			s := newShadow(factory, func(problem string) { t.Errorf("the run of %q: strategy %q: %s", r.task.Strategy, name, problem) })
			if s == nil {
				return factory()
			}
			return s.strategy()
		}
	}
	return newProcess(t, &run, false)
}
