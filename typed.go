package segue

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// answers makes the strategy of tasks whose answers are read into a type.
type answers struct {
	once    sync.Once
	factory func() strategy.Strategy
	err     error
}

// typedTask returns an agent's orchestrator, and a task for it whose answer is read into a T.
func typedTask[T any](a *Agent, goal string) (*orchestrator.Orchestrator, orchestrator.Task, error) {
	if a == nil {
		return nil, orchestrator.Task{}, errNoAgent
	}
	kept, _ := a.typed.LoadOrStore(reflect.TypeFor[T](), new(answers))
	t := kept.(*answers)
	t.once.Do(func() {
		schema, err := llmclient.SchemaOf[T]()
		switch {
		case err != nil:
			t.err = guard.New(err, "segue: Ask[T]: "+guard.Bare(err))
		case a.Strategy != nil:
			t.err = errors.New("segue: Agent.Strategy: must be nil for segue.Ask, and the Agent has a Strategy of its own: give that the schema of llmclient.SchemaOf, and read the answer with Output.Decode")
		default:
			t.factory = completetask.New(completetask.Config{System: a.System, Compact: a.Compact, Schema: schema, Validate: readable[T]})
		}
	})
	if t.err != nil {
		return nil, orchestrator.Task{}, t.err
	}
	o, err := a.Orchestrator()
	return o, orchestrator.Task{Strategy: typed, Factory: t.factory, Input: delegation.Input{Goal: goal}}, err
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
	o, work, err := typedTask[T](a, task)
	if err != nil {
		return v, err
	}
	res, err := o.Run(ctx, work)
	if err = unlessWaiting(res, err); err == nil {
		err = res.Output.Decode(&v)
	}
	return v, err
}

// readable says why an answer that fits the schema of a T cannot be read into one, as a date that
// is none.
func readable[T any](answer json.RawMessage) error {
	var v T
	return jsonform.Decode(answer, &v, false)
}
