package segue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
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
	// completetask.New with System. System is for nil alone.
	Strategy func() strategy.Strategy

	// Configure changes what an orchestrator is made with, for all that this struct has no field
	// for: limits, time-outs, a store, approval, middleware, a logger. It may be nil.
	Configure func(*orchestrator.Config)

	once  sync.Once
	made  *orchestrator.Orchestrator
	err   error
	typed sync.Map // from reflect.Type to *answers
}

// The names of an agent's strategies: its own, and the one of a task whose answer has a type.
const (
	root  = "agent"
	typed = "typed-agent"
)

// Orchestrator returns the orchestrator that the agent works with, one for all calls. It is the way
// to all that an Agent does not show: events, usage, stops, waits, resumption.
func (a *Agent) Orchestrator() (*orchestrator.Orchestrator, error) {
	a.once.Do(func() {
		how := a.Strategy
		switch {
		case how == nil:
			how = completetask.New(completetask.Config{System: a.System})
		case a.System != "":
			a.err = &ConfigError{Field: "System", Err: errors.New("is for an Agent without a Strategy: give the prompt to the Strategy")}
			return
		}
		a.made, a.err = a.orchestrator(how)
	})
	return a.made, a.err
}

func (a *Agent) orchestrator(how func() strategy.Strategy) (*orchestrator.Orchestrator, error) {
	cfg := orchestrator.Config{Client: a.Model, Tools: a.Tools, Strategies: strategy.Set{root: how}, Default: root}
	if a.Configure != nil {
		a.Configure(&cfg)
	}
	if cfg.Client == nil {
		return nil, &ConfigError{Field: "Model", Err: errors.New("is nil: give it the Client of a model, such as openaichat.New returns")}
	}
	return orchestrator.New(cfg)
}

// ConfigError says which field of an [Agent] cannot be used, why, and what to do. What an
// orchestrator has against the Agent is an [*orchestrator.ConfigError].
type ConfigError struct {
	Field string // "T" for the type that [Ask] is to read an answer into
	Err   error
}

// Error names the field.
func (e *ConfigError) Error() string {
	problem := strings.TrimPrefix(e.Err.Error(), "tools: ") // one prefix is enough
	if e.Field == "T" {
		return "segue: Ask[T]: " + problem
	}
	return "segue: Agent." + e.Field + ": " + problem
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Ask has the agent work on a task, and returns the answer. Where there is none the error says why,
// and the text is what there was by then. A task that waits for somebody is an
// [*orchestrator.UnansweredError], or with a store a [*WaitingError].
//
// Below it: [orchestrator.Orchestrator.Run], which returns the conversation and what it has cost as
// well.
func (a *Agent) Ask(ctx context.Context, task string) (string, error) {
	o, err := a.Orchestrator()
	if err != nil {
		return "", err
	}
	res, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: task}})
	return res.Output.Text(), unlessWaiting(res, err)
}

func unlessWaiting(res orchestrator.Result, err error) error {
	if err == nil && res.Status == orchestrator.StatusWaiting {
		return &WaitingError{Run: res.Run, Waits: res.Waits}
	}
	return err
}

// WaitingError says that a task waits for somebody. The run goes on with
// [orchestrator.Orchestrator.Resume].
type WaitingError struct {
	Run   string
	Waits []orchestrator.Wait
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
	return a.stream(ctx, delegation.Input{Goal: task}, func(delegation.Output) {})
}

// stream is Stream for any input; the output, unless the run waits, goes to done.
func (a *Agent) stream(ctx context.Context, in delegation.Input, done func(delegation.Output)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		o, err := a.Orchestrator()
		if err != nil {
			yield("", err)
			return
		}
		branches := map[string]bool{}
		for e, err := range o.Stream(ctx, orchestrator.Task{Input: in}) {
			switch d := e.Detail.(type) {
			case orchestrator.FrameEntered:
				branches[e.Frame] = d.CallID != "" || branches[parent(e.Frame)]
			case orchestrator.RunFinished:
				if d.Status != orchestrator.StatusWaiting {
					done(d.Output)
				}
				err = unlessWaiting(orchestrator.Result{Run: e.Run, Status: d.Status, Waits: d.Waits}, err)
			}
			if err != nil {
				yield("", err)
				return
			}
			if e.Kind == orchestrator.EventTextDelta && !branches[e.Frame] && !yield(e.Text, nil) {
				return
			}
		}
	}
}

// parent is the name of the frame above one.
func parent(frame string) string { return frame[:max(0, strings.LastIndexByte(frame, '.'))] }

// answers makes the strategy of tasks whose answers are read into a type.
type answers struct {
	once    sync.Once
	factory func() strategy.Strategy
	err     error
}

// Ask has an agent work on a task whose answer is read into a T, a struct: the model is told its
// JSON Schema ([llmclient.SchemaOf]), the answer is held against the schema here, and a model whose
// answer is not of the schema is told what is wrong, twice at most. The agent must be without a
// Strategy.
//
// Below it: [orchestrator.Task.Factory], completetask.Config.Schema and [delegation.Output.Decode].
// A task that waits for somebody is resumed with such a Factory.
func Ask[T any](ctx context.Context, a *Agent, task string) (T, error) {
	var v T
	kept, _ := a.typed.LoadOrStore(reflect.TypeFor[T](), new(answers))
	t := kept.(*answers)
	t.once.Do(func() {
		schema, err := llmclient.SchemaOf[T]()
		switch {
		case err != nil:
			t.err = &ConfigError{Field: "T", Err: err}
		case a.Strategy != nil:
			t.err = &ConfigError{Field: "Strategy", Err: errors.New("must be nil for segue.Ask, and the Agent has a Strategy of its own: give that the schema of llmclient.SchemaOf, and read the answer with Output.Decode")}
		default:
			t.factory = completetask.New(completetask.Config{System: a.System, Schema: schema, Validate: readable[T]})
		}
	})
	if t.err != nil {
		return v, t.err
	}
	o, err := a.Orchestrator()
	if err != nil {
		return v, err
	}
	res, err := o.Run(ctx, orchestrator.Task{Strategy: typed, Factory: t.factory, Input: delegation.Input{Goal: task}})
	if err = unlessWaiting(res, err); err == nil {
		err = res.Output.Decode(&v)
	}
	return v, err
}

// readable says why an answer that fits the schema of a T cannot be read into one, as a date that
// is none.
func readable[T any](answer json.RawMessage) error {
	var v T
	return json.Unmarshal(answer, &v)
}

// Chat is a conversation with an agent, turn by turn. It is not safe for concurrent use.
//
// To go on in another process, write History as JSON, and hand it to [Agent.Chat] there.
type Chat struct {
	agent *Agent

	// History is the conversation so far. It obeys the laws of [messages.History.Validate] whatever
	// became of a turn.
	History messages.History
}

// Chat begins a conversation, or goes on with one: System takes the place of the system prompt that
// it was held under. The slice is read-only from then on.
func (a *Agent) Chat(history messages.History) *Chat { return &Chat{agent: a, History: history} }

// Ask is [Agent.Ask] with all that was said before. What was said in a turn that fails stays in the
// History; of a turn that waits for somebody nothing does.
func (c *Chat) Ask(ctx context.Context, text string) (string, error) {
	o, err := c.agent.Orchestrator()
	if err != nil {
		return "", err
	}
	res, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: text, Messages: c.History}})
	if res.Status != orchestrator.StatusWaiting {
		c.keep(res.Output)
	}
	return res.Output.Text(), unlessWaiting(res, err)
}

// Stream is [Agent.Stream] with all that was said before. A turn that is broken out of leaves the
// History as it was.
func (c *Chat) Stream(ctx context.Context, text string) iter.Seq2[string, error] {
	return c.agent.stream(ctx, delegation.Input{Goal: text, Messages: c.History}, c.keep)
}

// keep takes the conversation over, unless the turn did not begin.
func (c *Chat) keep(out delegation.Output) {
	if len(out.Messages) > 0 {
		c.History = out.Messages
	}
}
