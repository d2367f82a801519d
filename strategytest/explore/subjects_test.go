package explore_test

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
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
	city = &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
)

// builtins returns the built-in strategies, each in the configurations that between them reach
// every rule of its table.
func builtins() []subject {
	both := []tools.Definition{look, pay}
	return []subject{
		{"complete-task", completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1}), explore.Options{Tools: both}},
		{"complete-task, an answer of a schema", completetask.New(completetask.Config{
			MaxModelCalls: 2, MaxRetries: 1, Schema: city, OnLength: completetask.LengthContinue, OnEmpty: completetask.EmptyAsk, OnLimit: completetask.LimitFail,
			ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired},
		}), explore.Options{Tools: []tools.Definition{look}, World: typed}},
		{"reflection", reflection.New(reflection.Config{MaxIterations: 2, MaxToolRounds: 1, MaxRetries: 1}), explore.Options{Tools: []tools.Definition{look}, World: judged}},
		{"reflection, delegating", reflection.New(reflection.Config{Generator: "writer", MaxIterations: 2, OnRejected: reflection.RejectedFail, JSONCritique: true}),
			explore.Options{Children: []string{"writer"}, World: judgedAsJSON}},
		{"react", react.New(react.Config{MaxSteps: 2, MaxRetries: 1}), explore.Options{Tools: both, World: reasoned}},
		{"react, failing at its limit", react.New(react.Config{MaxSteps: 1, MaxRetries: 1, OnLimit: react.LimitFail}), explore.Options{Tools: both, World: reasoned}},
		{"reason-act-observe", rao.New(rao.Config{MaxSteps: 2}), explore.Options{Tools: both, World: controlled}},
		{"reason-act-observe, with data sources", rao.New(rao.Config{MaxSteps: 1, OnLimit: rao.LimitFail, RunAll: true, Retrieval: rao.Retrieval{Tool: "look"}}),
			explore.Options{Tools: both, World: controlled}},
		{"retry", retry.New(retry.Config{Strategy: "worker", MaxRetries: 2}), explore.Options{Children: []string{"worker"}}},
		{"plan-revise-execute", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: 1, Answer: pre.AnswerSynthesize}),
			explore.Options{Children: []string{"worker"}, World: planned}},
		{"plan-revise-execute, without a judge", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: 1, AcceptProse: true, Evaluation: pre.EvaluateByFunc, Judge: short}),
			explore.Options{Children: []string{"worker"}, World: planned}},
		{"stepagent", stepagent.New(stepagent.Config{Step: iterate, MaxIterations: 3, MaxAsks: 1, PlanEvery: 2, MaxPlanFailures: 1}), explore.Options{Tools: []tools.Definition{look}}},
		{"stepagent, with a final tool", stepagent.New(stepagent.Config{Step: iterate, MaxIterations: 3, MaxAsks: 1, FinalTool: "done", MaxReminders: 1}), explore.Options{Tools: []tools.Definition{look}}},
	}
}

// compositions returns the compositions.
func compositions() []subject {
	worker := completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})
	boss := completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})
	plan := func(executors ...string) func() strategy.Strategy {
		return pre.New(pre.Config{Executor: executors[0], Executors: executors[1:], MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1, Evaluation: pre.EvaluateNever})
	}
	agent := func(def tools.Definition, several bool) *machine.Agent {
		return machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: def, Strategy: "worker", FanOut: several}))
	}
	helper := tools.Definition{Name: "helper"}
	careful := tools.Definition{Name: "careful", NeedsApproval: true}
	set := strategy.Set{"worker": worker}
	return []subject{
		{"a plan of tasks", plan("worker"), explore.Options{Tools: []tools.Definition{look}, Strategies: set, World: planned}},
		{"a plan of plans", plan("inner"), explore.Options{Strategies: strategy.Set{"inner": plan("worker")}, Children: []string{"worker"}, World: planned}},
		{"a plan of retries", plan("again"), explore.Options{
			Strategies: strategy.Set{"again": retry.New(retry.Config{Strategy: "worker", MaxRetries: 1})}, Children: []string{"worker"}, World: planned,
		}},
		{"retry of reflection", retry.New(retry.Config{Strategy: "reviewed", MaxRetries: 1}), explore.Options{
			Strategies: strategy.Set{"reviewed": reflection.New(reflection.Config{MaxIterations: 2, MaxRetries: -1, OnRejected: reflection.RejectedFail})}, World: judged,
		}},
		{"retry of a plan", retry.New(retry.Config{Strategy: "plan", MaxRetries: 1}), explore.Options{
			Strategies: strategy.Set{"plan": plan("worker")}, Children: []string{"worker"}, World: planned,
		}},
		{"reflection on ReAct", reflection.New(reflection.Config{Generator: "react", MaxIterations: 2}), explore.Options{
			Tools: []tools.Definition{look}, Strategies: strategy.Set{"react": react.New(react.Config{MaxSteps: 1, MaxRetries: -1})}, World: both(judged, reasoned),
		}},
		{"an agent as a tool", boss, explore.Options{
			Tools: []tools.Definition{helper, look}, Agents: map[string]*machine.Agent{"helper": agent(helper, false)}, Strategies: set, World: delegated,
		}},
		{"agents side by side", boss, explore.Options{
			Tools: []tools.Definition{helper}, Agents: map[string]*machine.Agent{"helper": agent(helper, true)}, Strategies: set, World: severally,
		}},
		{"an agent after an approval", boss, explore.Options{
			Tools: []tools.Definition{careful, pay}, Agents: map[string]*machine.Agent{"careful": agent(careful, false)}, Strategies: set, World: delegated,
		}},
		{"questions to people", boss, explore.Options{Tools: []tools.Definition{pay, {Name: "order"}}}},
		{"an agent that plans", boss, explore.Options{
			Tools:      []tools.Definition{helper},
			Agents:     map[string]*machine.Agent{"helper": machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: helper, Strategy: "plan"}))},
			Strategies: strategy.Set{"plan": plan("worker")}, Children: []string{"worker"}, World: both(planned, delegated),
		}},
	}
}

// both joins two worlds.
func both(a, b func(*machine.Effect) []explore.Reaction) func(*machine.Effect) []explore.Reaction {
	return func(e *machine.Effect) []explore.Reaction { return append(a(e), b(e)...) }
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

// refused are failures of providers that cannot force a tool, or no format.
var refused = []explore.Reaction{
	explore.Answer("refuses tool_choice", nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(llmclient.CodeBadRequest), Message: "tool_choice is not supported"}).AsOdd(),
	explore.Answer("refuses response_format", nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(llmclient.CodeBadRequest), Message: "response_format is not supported"}).AsOdd(),
}

// typed answers a request for a city.
func typed(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	list := append([]explore.Reaction{writes("a city", `{"city":"Rome"}`), writes("no city", `{"town":"Rome"}`).AsOdd()}, refused...)
	if offers(e, completetask.FinalTool) {
		list = append(list, calls("final city", completetask.FinalTool, `{"city":"Rome"}`), calls("final, no city", completetask.FinalTool, `{"city":1}`).AsOdd())
	}
	return list
}

// judged judges drafts, in a text.
func judged(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{writes("approves", "APPROVED"), writes("rejects", "It is too long.")}
}

// judgedAsJSON judges drafts, in JSON.
func judgedAsJSON(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{writes("approves", `{"approved":true}`), writes("rejects", `{"approved":false,"issues":["too long"]}`)}
}

// reasoned writes turns of ReAct.
func reasoned(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{
		writes("acts", "Thought: I look.\nAction: look\nAction Input: {}"), writes("pays", "Thought: I pay.\nAction: pay\nAction Input: {}"),
		writes("answers", "Thought: I know.\nFinal Answer: a rose"),
		writes("acts without a tool", "Thought: I try.\nAction: no_such_tool\nAction Input: {}").AsOdd(),
		writes("only thinks", "Thought: I think").AsOdd(),
	}
}

// controlled decides for reason-act-observe.
func controlled(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	list := []explore.Reaction{refused[0]}
	if offers(e, "agent_decide_next") {
		list = append(list,
			calls("decides to act", "agent_decide_next", `{"plan":"look"}`), calls("decides to finish", "agent_decide_next", `{"finish":true,"final_answer":"done"}`),
			calls("decides to finish without an answer", "agent_decide_next", `{"finish":true}`).AsOdd(),
			calls("decides to ask", "agent_decide_next", `{"request_input":{"question":"Which?"}}`).AsOdd(),
		)
	}
	if offers(e, "agent_observe_decide") {
		list = append(list,
			calls("goes on", "agent_observe_decide", `{"observation":"it is there","should_continue":true}`),
			calls("is satisfied", "agent_observe_decide", `{"observation":"it is there","should_continue":false,"final_answer":"done"}`),
			calls("is satisfied without an answer", "agent_observe_decide", `{"should_continue":false}`).AsOdd(),
		)
	}
	return append(list, writes("decides in a text", `{"plan":"look","finish":false}`).AsOdd(), writes("finishes in a text", `{"finish":true,"final_answer":"done"}`).AsOdd())
}

// planned submits plans and judges them.
func planned(e *machine.Effect) []explore.Reaction {
	var list []explore.Reaction
	if offers(e, "submit_plan") {
		list = append(list,
			calls("plans", "submit_plan", `{"steps":["one"]}`), calls("plans two steps", "submit_plan", `{"steps":["one","two"]}`),
			calls("plans too much", "submit_plan", `{"steps":["one","two","three"]}`).AsOdd(), calls("plans nothing", "submit_plan", `{"steps":[]}`).AsOdd(),
			writes("plans in a text", "1. one\n2. two").AsOdd(),
		)
	}
	if offers(e, "submit_evaluation") {
		list = append(list, calls("approves the plan", "submit_evaluation", `{"approved":true}`), calls("rejects the plan", "submit_evaluation", `{"approved":false,"feedback":"no"}`).AsOdd())
	}
	return list
}

// short approves plans of one step.
func short(p pre.Plan) pre.Verdict {
	return pre.Verdict{Approved: len(p.Steps) == 1, Feedback: "one step is enough"}
}

// delegated gives an agent a goal.
func delegated(e *machine.Effect) []explore.Reaction {
	for _, agent := range []string{"helper", "careful"} {
		if offers(e, agent) {
			return []explore.Reaction{calls("gives a goal", agent, `{"goal":"north"}`)}
		}
	}
	return nil
}

// severally gives agents goals side by side.
func severally(e *machine.Effect) []explore.Reaction {
	if !offers(e, "helper") {
		return nil
	}
	return []explore.Reaction{calls("gives two goals", "helper", `{"goals":["north","south"]}`)}
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
