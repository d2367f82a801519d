package segue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// Agent is a model with instructions and tools. It works on a task until the model answers without
// calling a tool, as package completetask says, or as its Strategy says.
//
// Set the fields before the first call, and leave them as they are then. An Agent may be used by
// any number of goroutines at once; it must not be copied after its first use.
type Agent struct {
	Model  llmclient.Client // required; such as an openaichat.Client
	System string           // the system prompt
	Tools  []tools.Tool     // what the model may call

	// Strategy says how the agent works, such as planreviseexecute.New(…); nil means
	// completetask.New with System and Compact, which are for nil alone.
	Strategy func() strategy.Strategy

	// Compact keeps the conversation within the window of the model, as package compaction says;
	// nil means never. It is for an Agent without a Strategy.
	Compact *compaction.Config

	// Configure changes what an orchestrator is made with, for all that this struct has no field
	// for: limits, time-outs, a store, approval, middleware, a logger. It may be nil.
	Configure func(*orchestrator.Config)

	once      sync.Once
	made      *orchestrator.Orchestrator
	err       error
	finalTool string   // whose arguments may be an answer of a type; "": that name is one of a tool of its own
	typed     sync.Map // from reflect.Type to *answers
}

// The names of an agent's strategies: its own, and the one of a task whose answer has a type.
const (
	root  = "agent"
	typed = "typed-agent"
)

// Orchestrator returns the orchestrator that the agent works with, one for all calls. It is the way
// to all that an Agent does not show: events, usage, stops, waits, resumption.
func (a *Agent) Orchestrator() (*orchestrator.Orchestrator, error) {
	if a == nil {
		return nil, errNoAgent
	}
	a.once.Do(func() {
		how := a.Strategy
		switch {
		case how == nil:
			how = completetask.New(completetask.Config{System: a.System, Compact: a.Compact})
		case a.Compact != nil:
			a.err = errors.New("segue: Agent.Compact: is for an Agent without a Strategy: give it to the Strategy")
			return
		case a.System != "":
			a.err = errors.New("segue: Agent.System: is for an Agent without a Strategy: give the prompt to the Strategy")
			return
		}
		a.made, a.err = a.orchestrator(how)
	})
	return a.made, a.err
}

// orchestrator makes one, whose streams tell the arguments of calls, too.
func (a *Agent) orchestrator(how func() strategy.Strategy) (*orchestrator.Orchestrator, error) {
	cfg := orchestrator.Config{Client: a.Model, Tools: a.Tools, Strategies: strategy.Set{root: how}, Default: root}
	if a.Configure != nil {
		a.err = errors.New("segue: Agent.Configure: panicked when it was called first") // unless it returns
		a.Configure(&cfg)
	}
	if cfg.Client == nil {
		return nil, errors.New("segue: Agent.Model: is nil: give it the Client of a model, such as openaichat.New returns")
	}
	cfg.CallDeltas = true
	taken := func(o tools.Tool) bool { return o != nil && o.Definition().Name == completetask.FinalTool }
	if !slices.ContainsFunc(cfg.Tools, taken) {
		a.finalTool = completetask.FinalTool
	}
	return orchestrator.New(cfg)
}

// errNoAgent is what each method of a nil Agent returns.
var errNoAgent = errors.New("segue: the *Agent is nil: make one, such as &segue.Agent{Model: model}")

// Ask has the agent work on a task, and returns the answer. Where there is none the error says why,
// and the text is what there was by then. A task that waits for somebody is an
// [*orchestrator.UnansweredError], or with a store a [*WaitingError]. An empty answer, such as of a
// model that only thought, is a [*delegation.Error], although the run itself succeeds.
//
// Below it: [orchestrator.Orchestrator.Run], which returns the conversation and what it has cost as
// well.
func (a *Agent) Ask(ctx context.Context, task string) (string, error) {
	o, err := a.Orchestrator()
	if err != nil {
		return "", err
	}
	return answer(o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: task}}))
}

// answer returns the answer of a run, and why there is none.
func answer(res orchestrator.Result, err error) (string, error) {
	text := res.Output.Text()
	if err = unlessWaiting(res, err); err != nil || res.Output.Data != nil || strings.TrimSpace(text) != "" {
		return text, err
	}
	came := "nothing at all"
	switch last, ok := res.Output.Messages.Last().(messages.Assistant); {
	case text != "":
		came = "blanks alone"
	case ok && last.Text() != "":
		came = "not the answer of the strategy"
	case ok:
		came = "thoughts alone"
	}
	return text, &delegation.Error{Code: delegation.CodeFailed, Message: "segue: the answer is empty: the last reply was " + came + ": ask again, as completetask does with EmptyAsk"}
}

func unlessWaiting(res orchestrator.Result, err error) error {
	if err == nil && res.Status == machine.StatusWaiting {
		return &WaitingError{Run: res.Run, Waits: res.Waits}
	}
	return err
}

// WaitingError says that a task waits for somebody. The run goes on with
// [orchestrator.Orchestrator.Resume].
type WaitingError struct {
	Run   string
	Waits []machine.Wait
}

// Error says what is waited for.
func (e *WaitingError) Error() string {
	texts := make([]string, len(e.Waits))
	for i, w := range e.Waits {
		texts[i] = w.Text
	}
	return fmt.Sprintf("segue: run %s waits: %s", e.Run, strings.Join(texts, "; "))
}

// Stream is Ask for who wants to see the answer as it is written: it yields the model's text in
// pieces, what the model says between calls of tools included. The last error, if there is one, is
// that of Ask, with the text "". Breaking out ends the work. Text of agents that are called as
// tools is not among it, and thoughts are not. A reply that broke off and is asked for again comes
// again.
//
// Below it: [orchestrator.Orchestrator.Stream], which yields every event.
func (a *Agent) Stream(ctx context.Context, task string) iter.Seq2[string, error] {
	return a.stream(ctx, orchestrator.Task{Input: delegation.Input{Goal: task}}, nil)
}

// stream is Stream for any task; the output, unless the run waits, goes to done, whose error is one
// of the stream. Nil does nothing.
func (a *Agent) stream(ctx context.Context, task orchestrator.Task, done func(delegation.Output) error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		o, err := a.Orchestrator()
		if err != nil {
			yield("", err)
			return
		}
		branches := map[string]bool{}
		for e, err := range o.Stream(ctx, task) {
			switch d := e.Detail.(type) {
			case machine.FrameEntered:
				branches[e.Frame] = d.CallID != "" || branches[parent(e.Frame)]
			case machine.RunFinished:
				_, err = answer(orchestrator.Result{Run: e.Run, Status: d.Status, Output: d.Output, Waits: d.Waits}, err)
				if done != nil && d.Status != machine.StatusWaiting {
					if kept := done(d.Output); kept != nil {
						err = errors.Join(err, kept)
					}
				}
			}
			if err != nil {
				yield("", err)
				return
			}
			if e.Kind == machine.EventTextDelta && !branches[e.Frame] && !yield(e.Text, nil) {
				return
			}
		}
	}
}

// parent is the name of the frame above one.
func parent(frame string) string { return frame[:max(0, strings.LastIndexByte(frame, '.'))] }
