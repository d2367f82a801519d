package strategytest

import (
	"maps"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// restored makes the run with copies of its strategies. A strategy that cannot be snapshot has no
// copy. The end is not compared: without an ability, a shadow ends only nearly like its strategy.
func (w *ways) restored(m *model) {
	w.t.Helper()
	run := *w.storyRun
	run.config.Strategies = maps.Clone(run.config.Strategies)
	for name, factory := range run.config.Strategies {
		run.config.Strategies[name] = func() strategy.Strategy {
			s := newShadow(factory, func(problem string) { w.t.Errorf("the run of %q: strategy %q: %s", w.task.Strategy, name, problem) })
			if s == nil {
				return factory()
			}
			return s.strategy()
		}
	}
	p := newProcess(w.t, &run, m, false)
	p.known, p.comes = w.known, w.comes
	_, _ = orchestrator.Collect(p.stream(nil))
}
