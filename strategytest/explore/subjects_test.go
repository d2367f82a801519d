package explore_test

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// subject is a strategy, or a composition, that is subjectOf. Caps are small, since what happens
// three times is not new.
type subject struct {
	name    string
	factory func() strategy.Strategy
	explore.Options
}

var (
	look = tools.Definition{Name: "look", ReadOnly: true}
	pay  = tools.Definition{Name: "pay", NeedsApproval: true}
	// searching offers neither of two tools at first.
	searching = toolsearch.Config{Above: 1, Results: 1}

	city = &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
)

// builtins returns the built-in strategies, each in the configurations that between them reach
// every rule of its table.
func builtins() []subject {
	both := []tools.Definition{look, pay}
	return append(compacting(), []subject{
		{"complete-task", completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1}), explore.Options{Tools: both}},
		{"complete-task, an answer of a schema", completetask.New(completetask.Config{
			MaxModelCalls: 2, MaxRetries: 1, Schema: city, OnLength: completetask.LengthContinue, OnEmpty: completetask.EmptyAsk, OnLimit: completetask.LimitFail,
			ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired},
		}), explore.Options{Tools: []tools.Definition{look}, World: alphabet.Typed}},
		{"complete-task, searching for tools", completetask.New(completetask.Config{MaxModelCalls: 3, MaxRetries: -1, Search: searching}), explore.Options{
			Tools: both, World: alphabet.Searches("look", "pay"),
		}},
		{"complete-task, searching, and failing at its limit", completetask.New(completetask.Config{
			MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail, Search: searching,
		}), explore.Options{Tools: both, World: alphabet.Searches("look", "pay")}},
		{"complete-task, handing off", completetask.New(completetask.Config{
			MaxModelCalls: 2, MaxRetries: -1, Handoffs: []completetask.Handoff{{Strategy: "second"}, {Strategy: "second", Tool: "begin_anew", History: completetask.HistoryGoal}},
		}), explore.Options{Tools: []tools.Definition{look}, Strategies: strategy.Set{"second": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1})}}},
		{"reflection", reflection.New(reflection.Config{MaxIterations: 2, MaxToolRounds: 1, MaxRetries: 1}), explore.Options{Tools: []tools.Definition{look}, World: alphabet.Judgements}},
		{
			"reflection, delegating", reflection.New(reflection.Config{Generator: "writer", MaxIterations: 2, OnRejected: reflection.RejectedFail, JSONCritique: true}),
			explore.Options{Children: []string{"writer"}, World: alphabet.Judgements},
		},
		{"react", react.New(react.Config{MaxSteps: 2, MaxRetries: 1}), explore.Options{Tools: both, World: alphabet.ReAct}},
		{"react, failing at its limit", react.New(react.Config{MaxSteps: 1, MaxRetries: 1, OnLimit: react.LimitFail}), explore.Options{Tools: both, World: alphabet.ReAct}},
		{"react, searching for tools", react.New(react.Config{MaxSteps: 3, MaxRetries: -1, OnLimit: react.LimitFail, Search: searching}), explore.Options{
			Tools: both, World: alphabet.Join(alphabet.ReAct, alphabet.Searches("look", "pay")),
		}},
		{"reason-act-observe, searching for tools", rao.New(rao.Config{MaxSteps: 2, RunAll: true, NoInput: true, Search: searching}), explore.Options{
			Tools: both, World: alphabet.Join(alphabet.Decisions, alphabet.Searches("look", "pay")),
		}},
		{"reason-act-observe", rao.New(rao.Config{MaxSteps: 2}), explore.Options{Tools: both, World: alphabet.Decisions}},
		{
			"reason-act-observe, with data sources", rao.New(rao.Config{MaxSteps: 1, OnLimit: rao.LimitFail, RunAll: true, Retrieval: rao.Retrieval{Tool: "look"}}),
			explore.Options{Tools: both, World: alphabet.Decisions},
		},
		{"retry", retry.New(retry.Config{Strategy: "worker", MaxRetries: 2}), explore.Options{Children: []string{"worker"}}},
		{
			"plan-revise-execute", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: 1, Answer: pre.AnswerSynthesize}),
			explore.Options{Children: []string{"worker"}, World: alphabet.Plans},
		},
		{
			"plan-revise-execute, without a judge", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: 1, AcceptProse: true, Evaluation: pre.EvaluateByFunc, Judge: short}),
			explore.Options{Children: []string{"worker"}, World: alphabet.Plans},
		},
		{
			"plan-revise-execute, steps at the same time", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1, Evaluation: pre.EvaluateNever, Parallel: 2, Answer: pre.AnswerSynthesize}),
			explore.Options{
				Tools: []tools.Definition{look}, World: alphabet.Plans,
				Strategies: strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail})},
			},
		},
		{
			"plan-revise-execute, with a reviewer", pre.New(pre.Config{Executor: "worker", Reviewer: "critic", MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1}),
			explore.Options{Children: []string{"worker", "critic"}, World: alphabet.Join(alphabet.Plans, saysWord)},
		},
		{"stepagent", stepagent.New(stepagent.Config{Step: iterate, MaxIterations: 3, MaxAsks: 1, PlanEvery: 2, MaxPlanFailures: 1}), explore.Options{Tools: []tools.Definition{look}}},
		{"stepagent, with a final tool", stepagent.New(stepagent.Config{Step: iterate, MaxIterations: 3, MaxAsks: 1, FinalTool: "done", MaxReminders: 1}), explore.Options{Tools: []tools.Definition{look}}},
	}...)
}

// compositions returns the compositions.
func compositions() []subject {
	worker := completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})
	boss := completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})
	plan := func(executors ...string) func() strategy.Strategy {
		return pre.New(pre.Config{Executor: executors[0], Executors: executors[1:], MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1, Evaluation: pre.EvaluateNever})
	}
	together := func(executor string) func() strategy.Strategy {
		return pre.New(pre.Config{Executor: executor, MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1, Evaluation: pre.EvaluateNever, Parallel: -1})
	}
	agent := func(def tools.Definition, several bool) *machine.Agent {
		return machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: def, Strategy: "worker", FanOut: several}))
	}
	helper := tools.Definition{Name: "helper"}
	careful := tools.Definition{Name: "careful", NeedsApproval: true}
	set := strategy.Set{"worker": worker}
	aides := func(rounds int, tools ...string) strategy.Set { // who cannot call each other
		return strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: rounds, MaxRetries: -1, Tools: append([]string{}, tools...)})}
	}
	return []subject{
		{"a plan of tasks", plan("worker"), explore.Options{Tools: []tools.Definition{look}, Strategies: set, World: alphabet.Plans}},
		{"a plan of plans", plan("inner"), explore.Options{Strategies: strategy.Set{"inner": plan("worker")}, Children: []string{"worker"}, World: alphabet.Plans}},
		{"a plan of retries", plan("again"), explore.Options{
			Strategies: strategy.Set{"again": retry.New(retry.Config{Strategy: "worker", MaxRetries: 1})}, Children: []string{"worker"}, World: alphabet.Plans,
		}},
		{"a plan of plans, at the same time", together("inner"), explore.Options{
			Strategies: strategy.Set{"inner": together("worker"), "worker": worker}, Limits: delegation.Limits{ModelCalls: 9}, World: alphabet.Plans,
		}},
		{"retry of reflection", retry.New(retry.Config{Strategy: "reviewed", MaxRetries: 1}), explore.Options{
			Strategies: strategy.Set{"reviewed": reflection.New(reflection.Config{MaxIterations: 2, MaxRetries: -1, OnRejected: reflection.RejectedFail})}, World: alphabet.Judgements,
		}},
		{"retry of a plan", retry.New(retry.Config{Strategy: "plan", MaxRetries: 1}), explore.Options{
			Strategies: strategy.Set{"plan": plan("worker")}, Children: []string{"worker"}, World: alphabet.Plans,
		}},
		{"reflection on ReAct", reflection.New(reflection.Config{Generator: "react", MaxIterations: 2}), explore.Options{
			Tools: []tools.Definition{look}, Strategies: strategy.Set{"react": react.New(react.Config{MaxSteps: 1, MaxRetries: -1})}, World: alphabet.Join(alphabet.Judgements, alphabet.ReAct),
		}},
		{"an agent as a tool", boss, explore.Options{
			Tools: []tools.Definition{helper, look}, Agents: map[string]*machine.Agent{"helper": agent(helper, false)}, Strategies: aides(2, "look"), World: alphabet.Goals("helper", "careful"),
		}},
		{"agents side by side", boss, explore.Options{
			Tools: []tools.Definition{helper}, Agents: map[string]*machine.Agent{"helper": agent(helper, true)}, Strategies: aides(1), World: alphabet.SeveralGoals("helper"),
		}},
		{"an agent after an approval", boss, explore.Options{
			Tools: []tools.Definition{careful, pay}, Agents: map[string]*machine.Agent{"careful": agent(careful, false)}, Strategies: aides(2, "pay"), World: alphabet.Goals("helper", "careful"),
		}},
		{"questions to people", boss, explore.Options{Tools: []tools.Definition{pay, {Name: "order"}}}},
		{"an agent that plans", boss, explore.Options{
			Tools:      []tools.Definition{helper},
			Agents:     map[string]*machine.Agent{"helper": machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: helper, Strategy: "plan"}))},
			Strategies: strategy.Set{"plan": plan("worker")}, Children: []string{"worker"}, World: alphabet.Join(alphabet.Plans, alphabet.Goals("helper")),
		}},
	}
}

// offers reports whether a request offers a tool.
func offers(e *machine.Effect, tool string) bool {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return false
	}
	for _, d := range ask.Request.Tools {
		if d.Name == tool {
			return true
		}
	}
	return false
}

// calls returns a reply that calls a tool.
func calls(name, tool, arguments string) explore.Reaction {
	return explore.Reply(name, llmclient.FinishToolCalls, messages.ToolCall{ID: "control", Name: tool, Arguments: arguments})
}

// writes returns a reply with a text.
func writes(name, text string) explore.Reaction {
	return explore.Reply(name, llmclient.FinishStop, messages.Text{Text: text})
}

// short approves plans of one step.
func short(p pre.Plan) pre.Verdict {
	return pre.Verdict{Approved: len(p.Steps) == 1, Feedback: "one step is enough"}
}

// iterate is a step that asks a model, and runs what the model calls.
func iterate(s stepagent.Step) stepagent.StepResult {
	if s.Iteration == 2 {
		return stepagent.ToolCalls(messages.ToolCall{ID: "own", Name: "look", Arguments: "{}"})
	}
	return stepagent.Ask(llmclient.Request{Messages: s.History, Tools: s.Tools}, func(r llmclient.Response) stepagent.StepResult {
		if calls := r.Message.Calls(); len(calls) > 0 {
			return stepagent.ToolCalls(calls...)
		}
		return stepagent.Finish(r.Message.Text())
	})
}
