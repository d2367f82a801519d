package orchestrator

import (
	"github.com/segue-go/segue/machine/bound"
)

// Bound returns how much the run of a task uses at most, before it begins. See package
// machine/bound for what that says and what not. Only the Strategy or Factory, the Limits and the
// Tools of the task matter. Errors are joined [*ConfigError] values, as those of
// [Orchestrator.Run].
func (o *Orchestrator) Bound(task Task, opts bound.Options) (bound.Bound, error) {
	s, err := o.started(&task)
	if err != nil {
		return bound.Bound{}, err
	}
	cfg := &o.full
	if task.Factory != nil {
		cfg = o.withFactory(cfg, s.Strategy, task.Factory)
	}
	return bound.Of(cfg, s, opts)
}
