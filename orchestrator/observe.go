package orchestrator

import (
	"context"
	"runtime/debug"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Observation is how one run is observed while this process works on it; see Config.Observe. Nil
// fields are not used.
type Observation struct {
	Context context.Context     // the context of the run from now on, derived from the one given; its values reach middleware, models and tools
	Event   func(machine.Event) // gets each event of the run before the consumer does
	End     func()              // called once, after the last event: the process does not work on the run any more
}

// beginObservation has a run observed, and returns its context.
func (r *run) beginObservation(ctx context.Context, key checkpoint.Key) context.Context {
	observe := r.o.cfg.Observe
	if observe == nil {
		return ctx
	}
	r.observation = new(Observation)
	r.observes(func() { *r.observation = observe(ctx, key) })
	if own := r.observation.Context; own != nil {
		return own
	}
	return ctx
}

// observeEvent tells an event to whoever observes the run.
func (r *run) observeEvent(e machine.Event) {
	if event := r.observation.Event; event != nil {
		r.observes(func() { event(e) })
	}
}

// endObservation says that the run is not in progress here any more.
func (r *run) endObservation() {
	if r.observation != nil && r.observation.End != nil {
		r.observes(r.observation.End)
	}
}

// observes calls a function of the observer. One that panics is not called again, and neither are
// the others of this run, except End.
func (r *run) observes(call func()) {
	defer func() {
		if v := recover(); v != nil {
			r.observation.Event = nil
			ctx := r.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			r.o.panicked(ctx, &machine.PanicReport{Run: r.id, Where: "Config.Observe", Value: v, Stack: debug.Stack()})
		}
	}()
	call()
}
