package segue

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// answers makes runs whose answers are read into a type.
type answers struct {
	once sync.Once
	made *orchestrator.Orchestrator
	err  error
	tool string // whose arguments may be the answer; "": that name is taken by a tool of the agent
}

// typedAnswers returns what makes runs whose answers are read into a T, one for all calls.
func typedAnswers[T any](a *Agent) (*answers, error) {
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
			how := completetask.New(completetask.Config{System: a.System, Schema: schema, Validate: readable[T]})
			t.made, t.err = a.orchestrator(how, t.see)
		}
	})
	return t, t.err
}

// see looks at a Config, and has streams tell the arguments of calls.
func (t *answers) see(cfg *orchestrator.Config) {
	cfg.CallDeltas = true
	taken := slices.ContainsFunc(cfg.Tools, func(o tools.Tool) bool { return o != nil && o.Definition().Name == completetask.FinalTool })
	if !taken {
		t.tool = completetask.FinalTool
	}
}

// Ask has an agent work on a task whose answer is read into a T, a struct: the model is told its
// JSON Schema ([llmclient.SchemaOf]), the answer is held against the schema here, and a model whose
// answer is not of the schema is told what is wrong, twice at most. The agent must be without a
// Strategy.
//
// Below it: completetask.Config.Schema and [delegation.Output.Decode].
func Ask[T any](ctx context.Context, a *Agent, task string) (T, error) {
	var v T
	t, err := typedAnswers[T](a)
	if err != nil {
		return v, err
	}
	out, err := run(ctx, t.made, delegation.Input{Goal: task})
	if err == nil {
		err = out.Decode(&v)
	}
	return v, err
}

// readable says why an answer that fits the schema of a T cannot be read into one, as a date that
// is none.
func readable[T any](answer json.RawMessage) error {
	var v T
	return json.Unmarshal(answer, &v)
}
