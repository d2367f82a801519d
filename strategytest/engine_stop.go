package strategytest

import (
	"context"
	"slices"

	"github.com/segue-go/segue/machine"
)

// breakpoint is the place where an engine stops its run: where an Orchestrator has stopped it
// before.
type breakpoint struct {
	spot
	now     bool
	stopped bool
	held    []machine.Effect // effects that end only when nothing else is left: the one at which the run is stopped, and those cut off then
}

// holds puts an effect aside if it ends with the stop, and reports whether it did.
func (e *engine) holds(key string, x *machine.Effect) bool {
	s := &e.stops
	said, _ := e.model.recall(key)
	holds := !s.stopped && (s.spot == spot{key: key} && x.ID.Index <= 1 || x.Kind == machine.EffectModel && said.cutOff)
	if holds {
		s.held = append(s.held, *x)
	}
	return holds
}

// record returns the record of the stop.
func (s *breakpoint) record() machine.Stopped {
	s.stopped = true
	if s.now {
		return machine.Stopped{Reason: errNow.Error(), Now: true}
	}
	return machine.Stopped{Reason: "stop was asked for"}
}

// stop stops the run, and then performs the effects that were put aside.
func (e *engine) stop() error {
	s := &e.stops
	err := e.apply(s.record())
	for i := 0; i < len(s.held) && err == nil; i++ {
		x := &s.held[i]
		ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), keyed{}, e.keys.of(x.Frame, x.ID.Seq)))
		if s.now {
			cancel(errNow)
		}
		err = e.perform(ctx, x)
		cancel(nil)
	}
	s.held = nil
	return err
}

// stopBefore stops the run if the agents have begun at which it is stopped; these take no step.
func (e *engine) stopBefore(events []machine.Event) error {
	s := &e.stops
	begins := func(v machine.Event) bool { return s.agent != "" && v.Frame == s.agent }
	if s.stopped || !slices.ContainsFunc(events, begins) {
		return nil
	}
	err := e.apply(s.record())
	open := e.open
	e.open = nil
	for i := 0; i < len(open) && err == nil; i++ {
		err = e.apply(machine.Answered{Effect: open[i].ID, NotBegun: true})
	}
	return err
}
