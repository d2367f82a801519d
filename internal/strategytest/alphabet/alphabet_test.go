package alphabet_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// offering returns a request that offers tools.
func offering(strategy string, defs ...tools.Definition) *machine.Effect {
	return &machine.Effect{Kind: machine.EffectModel, Strategy: strategy, Step: nextstep.GetChatCompletion{Request: llmclient.Request{Tools: defs}}}
}

func namesOf(list []explore.Reaction) []string {
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

// The world calls each tool without arguments. Calls with arguments are in Calls.
func TestCalls(t *testing.T) {
	write := tools.Definition{Name: "write", Parameters: json.RawMessage(`{"type":"object","properties":{
		"path":{"type":"string"},"lines":{"type":"array","minItems":1,"items":{"anyOf":[{"type":["integer","null"]}]}},
		"mode":{"enum":["a","b"]},"all":{"type":"boolean"},"other":{"type":"string"}},"required":["path","lines","mode","all"]}`)}
	list := alphabet.Calls(offering("s", tools.Definition{Name: "one"}, write, tools.Definition{Name: "three"}, tools.Definition{Name: "submit_plan"}))
	require.Equal(t, []string{"call write with arguments"}, namesOf(list))
	rec := list[0].Record(&machine.Effect{}).(machine.Answered)
	call := rec.Answer.(nextstep.APIResponse).Response.Message.Calls()[0]
	require.JSONEq(t, `{"path":"text","lines":[1],"mode":"a","all":true}`, call.Arguments)
	require.Empty(t, alphabet.Calls(&machine.Effect{Kind: machine.EffectTool}))
}

// Each frame is answered in the protocol of its strategy, and a plan names every executor.
func TestFor(t *testing.T) {
	worker := completetask.New(completetask.Config{})
	plan := pre.New(pre.Config{Executor: "worker", Executors: []string{"other"}})
	helper := tools.Definition{Name: "helper"}
	world := alphabet.For(plan, explore.Options{
		Strategies: strategy.Set{"worker": worker, "other": worker},
		Tools:      []tools.Definition{helper}, Agents: map[string]*machine.Agent{"helper": {Strategy: "worker"}},
	})
	require.Equal(t, []string{
		"plans", "plans two steps", "plans two steps at once", "plans too much", "plans nothing", "plans in a text",
		"plans for other", "plans for complete-task", "plans for worker",
	}, namesOf(world(offering(explore.Subject, tools.Definition{Name: "submit_plan"}))))
	require.Equal(t, []string{"refuses tool_choice", "refuses response_format", "gives helper a goal"}, namesOf(world(offering("worker", helper))))
	require.Empty(t, world(offering("nobody", helper)))
	aside := &machine.Effect{Kind: machine.EffectModel, Strategy: "worker", Step: nextstep.GetChatCompletion{Aside: true}}
	require.Equal(t, []string{"summarizes", "summarizes nothing"}, namesOf(world(aside)))
}

// A plan is reached, and its steps.
func TestFor_reachesThePlan(t *testing.T) {
	plan := pre.New(pre.Config{Executor: "worker"})
	o := explore.Options{Strategies: strategy.Set{"worker": completetask.New(completetask.Config{})}, Odd: 1, States: 500, Caps: 1}
	o.World = alphabet.For(plan, o)
	o.Queries, o.UntilAnswered = []explore.Query{explore.CanReach(explore.InState("worker", "awaiting_model"))}, true
	r, err := explore.Run(plan, o)
	require.NoError(t, err)
	require.True(t, r.Results[0].Holds)
	require.Contains(t, r.Results[0].Story, "caps=1")
}

// What is behind a judge and a router is reached, whatever strategy they are: a complete-task, one
// in a protocol of its own, one that has others work for it, an agent, and one in another service.
func TestFor_reachesWhatJudgesAndRoutersDecide(t *testing.T) {
	task := completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1})
	strict := completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, Schema: &llmclient.Schema{
		Name: "verdict", Schema: json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`),
	}})
	judges := map[string]func() strategy.Strategy{
		"text": task, "JSON": strict, "react": react.New(react.Config{MaxSteps: 1}), "reflection": reflection.New(reflection.Config{}),
		"decisions": reasonactobserve.New(reasonactobserve.Config{MaxSteps: 1}), "below": retry.New(retry.Config{Strategy: "task"}),
		"remote": nil,
	}
	planner := pre.New(pre.Config{Executor: "task", Reviewer: "judge"})
	loop := workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "task"}, Judge: &workflow.Part{Strategy: "judge"}})
	asking := workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "task"}, Judge: &workflow.Part{Tool: "judge"}})
	choose := workflow.Choose(workflow.ChooseConfig{
		Parts:  []workflow.Part{{Name: "one", Strategy: "task"}, {Name: "the-other", Strategy: "task"}},
		Router: &workflow.Part{Strategy: "judge"},
	})
	call := tools.Definition{Name: "judge"}
	for name, judge := range judges {
		for of, test := range map[string]struct {
			subject func() strategy.Strategy
			reaches []explore.Predicate
		}{
			"plan":   {planner, []explore.Predicate{explore.InState(explore.Subject, "executing_step")}},
			"loop":   {loop, []explore.Predicate{explore.Done}},
			"agent":  {asking, []explore.Predicate{explore.Done}},
			"choose": {choose, []explore.Predicate{explore.InState(explore.Subject, "one"), explore.InState(explore.Subject, "the_other")}},
		} {
			if name != "text" && (of == "plan" || of == "agent") || name == "JSON" && of == "choose" {
				continue // as in a loop; and the schema has no choice
			}
			t.Run(of+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := explore.Options{Strategies: strategy.Set{"task": task, "judge": judge}, Odd: 1, Caps: 1, States: 2000, UntilAnswered: true}
				if judge == nil {
					delete(o.Strategies, "judge")
					o.Children = []string{"judge"}
				}
				if of == "agent" {
					o.Tools, o.Agents = []tools.Definition{call}, map[string]*machine.Agent{"judge": machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: call, Strategy: "judge"}))}
				}
				o.World = alphabet.For(test.subject, o)
				for _, p := range test.reaches {
					o.Queries = append(o.Queries, explore.CanReach(p))
				}
				r, err := explore.Run(test.subject, o)
				require.NoError(t, err)
				require.Empty(t, r.Violations)
				for _, found := range r.Results {
					require.True(t, found.Holds, r)
				}
			})
		}
	}
}
