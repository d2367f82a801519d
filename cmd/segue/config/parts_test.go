package config_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

const composed = `models:
  large: {model: big}
  small: {model: little}
agents:
  planner: {model: large, system: You plan., tools: [], limits: {model_calls: 3}}
  writer: {model: small, tools: []}
  checked:
    strategy: loop
    model: large
    tools: []
    config: {part: {strategy: writer}, judge: {}, max_rounds: 2}
  report:
    strategy: sequence
    config:
      parts: [{strategy: planner}, {strategy: checked, on_failure: continue, fallback: writer}]
default: report
`

// Parts of a composition are agents, with models and limits of their own, or work with the model of
// the composition.
func TestSetup_composition(t *testing.T) {
	c, err := config.Parse("segue.yaml", []byte(composed))
	require.NoError(t, err)
	made, err := c.Setup("report", config.Options{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"report", "planner", "checked", "checked/complete-task", "writer"}, made.Strategies.Names())
	model := scripted.New(scripted.Text("a plan"), scripted.Text("a text"), scripted.Text("APPROVED"))
	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: made.Strategies, Default: made.Strategy})
	require.NoError(t, err)
	var entered []string
	limits := map[string]int{}
	res, err := orchestrator.Collect(func(yield func(machine.Event, error) bool) {
		for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}}) {
			if f, ok := e.Detail.(machine.FrameEntered); ok {
				entered = append(entered, e.Frame+" "+f.Strategy)
				limits[f.Strategy] = f.Limits.ModelCalls
			}
			if !yield(e, err) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, "a text", res.Output.Text())
	require.Equal(t, []string{"0 report", "0.1 planner", "0.2 checked", "0.2.1 writer", "0.2.2 checked/complete-task"}, entered)
	require.Equal(t, 3, limits["planner"])
	var models []string
	for _, r := range model.Requests() {
		models = append(models, r.Model)
	}
	require.Equal(t, []string{"agent/planner", "agent/writer", "agent/checked"}, models)

	require.Contains(t, c.Agents["report"].Table().Mermaid(), "planner --> checked: passed")
}

// The reviewer of a plan and each of its executors have their own limits; the tools of the plan
// bound those of the reviewer.
func TestSetup_reviewer(t *testing.T) {
	c, err := config.Parse("segue.yaml", []byte(`agents:
  critic: {system: You judge plans., limits: {model_calls: 2}}
  writer: {}
  coder: {limits: {model_calls: 9}}
  plan:
    strategy: plan-and-execute
    tools: [read_file]
    children: [{agent: writer, as: executor}, {agent: coder, as: executor}]
    config: {reviewer: critic, step_limits: {steps: 5}}
default: plan
`))
	require.NoError(t, err)
	made, err := c.Setup("plan", config.Options{Tools: []tools.Tool{tools.NewRaw(tools.Definition{Name: "read_file"}, nil)}})
	require.NoError(t, err)
	require.Contains(t, made.Strategies, "critic")
	said, own := made.Strategies["plan"]().(strategy.Bounder).Bounds(), []string{"read_file"}
	require.Equal(t, []strategy.Child{
		{Strategy: "writer", Tools: own, Limits: delegation.Limits{Steps: 5}}, {Strategy: "coder", Tools: own, Limits: delegation.Limits{Steps: 5, ModelCalls: 9}},
	}, said.Delegates)
	require.Equal(t, []strategy.Child{{Strategy: "critic", Tools: own, Limits: delegation.Limits{ModelCalls: 2}}}, said.Children["reviewing_plan"])
}

// What is wrong with a part is said where it stands.
func TestParse_wrongParts(t *testing.T) {
	for text, want := range map[string]string{
		"{strategy: sequence, config: {parts: [{strategy: b}]}}":                              `agents.a.config.parts[0].strategy: no agent "b"; there are: a`,
		"{strategy: loop, config: {part: {fallback: b}}}":                                     `agents.a.config.part.fallback: no agent "b"; there are: a`,
		"{strategy: parallel, config: {parts: [{name: x y}]}}":                                "agents.a.config.parts[0].name",
		"{strategy: choose, config: {parts: [{name: x}], otherwise: y}}":                      `there is no part "y"`,
		"{strategy: sequence, config: {parts: [{strategy: a, retries: many}]}}":               "agents.a.config.parts[0].retries",
		"{strategy: planning, config: {reviewer: b}}":                                         `agents.a.config.reviewer: no agent "b"; there are: a`,
		"{strategy: sequence, system: Be brief., config: {parts: [{tool: read_file}]}}":       "sequence asks no model itself; say it of its parts",
		"{strategy: sequence, config: {parts: [{tool: read_file, prompt: '{{.Nothing}}'}]}}":  "Nothing",
		"{strategy: sequence, config: {parts: [{name: x}, {name: x}]}}":                       `two parts are called "x"`,
		"{strategy: sequence, config: {parts: [{tool: read_file, on_failure: perhaps}]}}":     "agents.a.config.parts[0].on_failure",
		"{strategy: sequence, config: {parts: [{tool: read_file, strategy: a, name: both}]}}": "Strategy and Tool are both set",
	} {
		c, err := config.Parse("segue.yaml", []byte("agents: {a: "+text+"}"))
		if err == nil {
			err = c.Try()
		}
		require.ErrorContains(t, err, want, text)
	}
}

// The router of a choice is told what the agents are for, in their own words or in those of the
// part.
func TestSetup_choices(t *testing.T) {
	c, err := config.Parse("segue.yaml", []byte(`agents:
  maths: {description: Questions about numbers., tools: []}
  history: {description: Questions about the past., tools: []}
  desk: {strategy: choose, config: {parts: [{strategy: maths}, {strategy: history, description: Old times.}]}}
default: desk
`))
	require.NoError(t, err)
	made, err := c.Setup("desk", config.Options{})
	require.NoError(t, err)
	model := scripted.New(scripted.Text("maths"), scripted.Text("56"))
	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: made.Strategies, Default: made.Strategy})
	require.NoError(t, err)
	_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "What is 7 times 8?"}})
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(model.Requests()[0].Messages), "- maths: Questions about numbers.\n- history: Old times.\n")
}
