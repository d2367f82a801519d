package orchestrator

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"sync/atomic"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
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

// Counters counts what happens in runs, for programs without OpenTelemetry:
//
//	var counters orchestrator.Counters
//	o, err := orchestrator.New(orchestrator.Config{Observe: counters.Observe, …})
//	…
//	expvar.Publish("segue", &counters)
//
// Events that were told before a run was resumed are not counted again. The zero value is ready,
// and safe for concurrent use by any number of Orchestrators. It must not be copied.
type Counters struct {
	Open    atomic.Int64 // runs that this process works on now
	Started atomic.Int64 // runs that it started
	Resumed atomic.Int64 // runs that it resumed

	// How runs ended here. Others were broken off by their consumer.
	Done, Failed, Limit, Stopped, Waiting, Interrupted, TakenOver atomic.Int64

	Steps        atomic.Int64
	FailedSteps  atomic.Int64
	ModelCalls   atomic.Int64 // steps that asked a model
	ToolCalls    atomic.Int64 // calls that started
	FailedTools  atomic.Int64 // calls with another status than ok, started or not
	InputTokens  atomic.Int64
	OutputTokens atomic.Int64
	Cost         atomic.Int64 // in millionths of a dollar
	Retries      atomic.Int64 // of models: waits, retries and fallbacks
	Waits        atomic.Int64 // that began
}

// Observe is for Config.Observe.
func (c *Counters) Observe(context.Context, checkpoint.Key) Observation {
	c.Open.Add(1)
	return Observation{Event: c.count, End: func() { c.Open.Add(-1) }}
}

func (c *Counters) count(e machine.Event) {
	switch d := e.Detail.(type) {
	case machine.RunStarted:
		c.Started.Add(1)
	case machine.RunResumed:
		c.Resumed.Add(1)
	case machine.StepTaken:
		c.step(&d)
	case machine.ToolStarted:
		c.ToolCalls.Add(1)
	case machine.ToolFinished:
		if !d.Output.OK() {
			c.FailedTools.Add(1)
		}
	case machine.RetryWaiting:
		c.Retries.Add(1)
	case machine.WaitStarted:
		c.Waits.Add(1)
	case machine.RunFinished:
		if n := c.of(d.Status); n != nil {
			n.Add(1)
		}
	default: // it is counted by another event
	}
}

func (c *Counters) step(d *machine.StepTaken) {
	c.Steps.Add(1)
	if d.Err != nil {
		c.FailedSteps.Add(1)
	}
	if d.Kind == nextstep.KindGetChatCompletion {
		c.ModelCalls.Add(1)
	}
	c.InputTokens.Add(d.Usage.Input)
	c.OutputTokens.Add(d.Usage.Output)
	c.Cost.Add(int64(d.Cost))
}

// of returns the counter of a status.
func (c *Counters) of(s machine.Status) *atomic.Int64 {
	return map[machine.Status]*atomic.Int64{
		machine.StatusDone: &c.Done, machine.StatusFailed: &c.Failed, machine.StatusLimit: &c.Limit, machine.StatusStopped: &c.Stopped,
		machine.StatusWaiting: &c.Waiting, machine.StatusInterrupted: &c.Interrupted, machine.StatusTakenOver: &c.TakenOver,
	}[s]
}

// String returns the counts as a JSON object, as expvar wants it.
func (c *Counters) String() string {
	text, _ := json.Marshal(map[string]int64{
		"open": c.Open.Load(), "started": c.Started.Load(), "resumed": c.Resumed.Load(),
		"done": c.Done.Load(), "failed": c.Failed.Load(), "limit": c.Limit.Load(), "stopped": c.Stopped.Load(),
		"waiting": c.Waiting.Load(), "interrupted": c.Interrupted.Load(), "taken_over": c.TakenOver.Load(),
		"steps": c.Steps.Load(), "failed_steps": c.FailedSteps.Load(), "model_calls": c.ModelCalls.Load(),
		"tool_calls": c.ToolCalls.Load(), "failed_tools": c.FailedTools.Load(),
		"input_tokens": c.InputTokens.Load(), "output_tokens": c.OutputTokens.Load(), "cost": c.Cost.Load(),
		"retries": c.Retries.Load(), "waits": c.Waits.Load(),
	})
	return string(text)
}
