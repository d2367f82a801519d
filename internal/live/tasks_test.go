package live

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

const (
	sum     = "Add 19.5 and 22.5 with the tool add. Answer with the sum."
	sums    = "First add 19.5 and 22.5 with the tool add. Then add 8 to that sum with the tool add. Answer with the last sum."
	capital = "What is the capital of France? Answer with its name alone."
	country = `{"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string"}},"required":["city","country"],"additionalProperties":false}`
)

// task is a task that is easy for any useful model, and the check that the model did it.
type task struct {
	name   string
	specs  map[string]builtin.Spec // strategies by name; the one named "it" is run
	step   stepagent.Func          // the step of a step-agent, instead of specs
	policy markdownpolicy.Policy   // how tool calls are written as text; nil means native calls
	goal   string
	answer string // what the answer must contain
	asData bool   // the answer is JSON
	adds   int    // the least number of runs of the tool add
}

func one(strategy, config string) map[string]builtin.Spec {
	return map[string]builtin.Spec{"it": {Strategy: strategy, Config: json.RawMessage(config)}}
}

func with(strategy, config string) map[string]builtin.Spec {
	specs := one(strategy, config)
	specs["work"] = builtin.Spec{Strategy: "complete-task"}
	return specs
}

var tasks = []task{
	{name: "complete-task", specs: one("complete-task", `{"system":"Be brief."}`), goal: sum, answer: "42", adds: 1},
	{name: "tool-first", specs: one("tool-first", ``), goal: sum, answer: "42", adds: 1},
	{name: "llm-only", specs: one("llm-only", ``), goal: capital, answer: "Paris"},
	{name: "plan-revise-execute", specs: with("plan-revise-execute", `{"executor":"work"}`), goal: sums, answer: "50", adds: 2},
	{name: "plan-and-execute", specs: with("plan-and-execute", `{"executor":"work"}`), goal: sums, answer: "50", adds: 2},
	{name: "react", specs: one("react", ``), goal: sum, answer: "42", adds: 1},
	{name: "reason-act-observe", specs: one("reason-act-observe", `{"no_input":true}`), goal: sum, answer: "42", adds: 1},
	{name: "reflection", specs: one("reflection", ``), goal: sum, answer: "42", adds: 1},
	{name: "retry", specs: with("retry", `{"strategy":"work"}`), goal: sum, answer: "42", adds: 1},
	{name: "step-agent", step: askOnce, goal: capital, answer: "Paris"},
	{
		name: "schema", specs: one("complete-task", `{"tools":[],"schema":{"name":"place","strict":true,"schema":`+country+`}}`),
		goal: "Which city is the capital of France?", answer: "Paris", asData: true,
	},
	{name: "fenced", specs: one("complete-task", ``), policy: markdownpolicy.Fenced{}, goal: sum, answer: "42", adds: 1},
}

// askOnce is the step of an agent that asks a model and returns its reply as the answer.
func askOnce(stepagent.Step) stepagent.StepResult {
	return stepagent.Ask(llmclient.Request{}, func(resp llmclient.Response) stepagent.StepResult {
		return stepagent.Finish(resp.Message.Text())
	})
}

// modes are the ways in which a model is asked.
var modes = []struct {
	name string
	run  func(context.Context, *orchestrator.Orchestrator, orchestrator.Task) (orchestrator.Result, error)
}{
	{"whole", func(ctx context.Context, o *orchestrator.Orchestrator, t orchestrator.Task) (orchestrator.Result, error) {
		return o.Run(ctx, t)
	}},
	{"streamed", func(ctx context.Context, o *orchestrator.Orchestrator, t orchestrator.Task) (orchestrator.Result, error) {
		return orchestrator.Collect(o.Stream(ctx, t))
	}},
}

// suite runs every task in every mode. client makes the model of each; name is the name of its
// recording.
func suite(t *testing.T, client func(t *testing.T, name string) llmclient.Client) {
	for _, task := range tasks {
		for _, mode := range modes {
			name := task.name + "-" + mode.name
			t.Run(name, func(t *testing.T) {
				var additions atomic.Int64
				o, err := orchestrator.New(task.config(t, client(t, name), &additions))
				require.NoError(t, err)
				result, err := mode.run(t.Context(), o, orchestrator.Task{
					Strategy: "it",
					Input:    delegation.Input{Goal: task.goal},
					Limits:   delegation.Limits{ModelCalls: 40},
				})
				require.NoError(t, err)
				task.check(t, result, int(additions.Load()))
			})
		}
	}
}

func (k task) config(t *testing.T, model llmclient.Client, additions *atomic.Int64) orchestrator.Config {
	set := strategy.Set{"it": stepagent.New(stepagent.Config{Step: k.step})}
	if k.step == nil {
		var err error
		set, err = builtin.Set(k.specs)
		require.NoError(t, err)
	}
	if k.policy != nil {
		model = policyclient.Wrap(model, k.policy)
	}
	add := tools.New(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in struct{ A, B float64 }) (float64, error) {
			additions.Add(1)
			return in.A + in.B, nil
		})
	return orchestrator.Config{Client: model, Strategies: set, Tools: []tools.Tool{add}}
}

func (k task) check(t *testing.T, result orchestrator.Result, additions int) {
	out := result.Output
	require.Nil(t, out.Err)
	require.Equal(t, orchestrator.StatusDone, result.Status)
	require.NoError(t, out.Messages.Validate())
	require.GreaterOrEqual(t, additions, k.adds, "runs of the tool add")
	require.Contains(t, out.Text(), k.answer)
	if k.asData {
		var place struct{ City, Country string }
		require.NoError(t, json.Unmarshal(out.Data, &place))
		require.Equal(t, k.answer, place.City)
	}
}

// Every built-in strategy has a task.
func TestTasks_coverEveryStrategy(t *testing.T) {
	var names []string
	for _, task := range tasks {
		for _, spec := range task.specs {
			names = append(names, spec.Strategy)
		}
	}
	for _, name := range builtin.Names() {
		require.Contains(t, names, name)
	}
	require.True(t, slices.ContainsFunc(tasks, func(k task) bool { return k.step != nil }))
	require.False(t, slices.ContainsFunc(tasks, func(k task) bool { return strings.Contains(k.name, "/") }), "names are files")
}
