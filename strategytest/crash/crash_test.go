package crash_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a tool that answers with its name and its arguments.
func echo(def tools.Definition) tools.Tool {
	return tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) { return def.Name + " " + arguments, nil })
}

// The tools of all cases: one that changes nothing, one that may be made again, one that may not,
// and one that may not and works alone.
var (
	look  = echo(tools.Definition{Name: "look", ReadOnly: true})
	book  = echo(tools.Definition{Name: "book", Idempotent: true})
	pay   = echo(tools.Definition{Name: "pay"})
	alone = echo(tools.Definition{Name: "alone", Sequential: true})
	every = []tools.Tool{look, book, pay, alone}
)

// call is a call of a tool, or of an agent.
func call(id, name string) messages.ToolCall {
	return scripted.Call(name, `{"goal":"goal of `+id+`"}`, id)
}

// of returns a case whose run begins with the strategy main.
func of(set strategy.Set, list []tools.Tool, replies ...scripted.Reply) crash.Case {
	model := scripted.New(replies...)
	return crash.Case{
		Config: func() orchestrator.Config {
			return orchestrator.Config{Client: model, Strategies: set, Tools: list}
		},
		Task: orchestrator.Task{Strategy: "main", Input: delegation.Input{Goal: "go"}},
	}
}

// worker is what others delegate to, and what agents are.
var worker = completetask.New(completetask.Config{})

// TestCrash_builtIn cuts every built-in strategy off, each with calls that must not be made twice.
func TestCrash_builtIn(t *testing.T) {
	for name, c := range builtIn() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Pairs = prove.CasesOr(1)
			crash.Test(t, c.Every(prove.DepthOr(29, 1)))
		})
	}
}

// builtIn are cases of the built-in strategies.
func builtIn() map[string]crash.Case {
	text, calls := scripted.Text, scripted.Calls
	own := func(id, name, arguments string) scripted.Reply { return calls(scripted.Call(name, arguments, id)) }
	return map[string]crash.Case{
		"complete-task": of(strategy.Set{"main": worker}, every,
			calls(call("c1", "look"), call("c2", "pay"), call("c3", "book"), call("c4", "alone"), call("c5", "none")),
			calls(call("c1", "pay")), text("done")),
		"complete-task, which fails": of(strategy.Set{"main": worker}, every,
			calls(call("c1", "pay")), scripted.Error(errUnavailable)),
		"react": of(strategy.Set{"main": react.New(react.Config{})}, every,
			text("Thought: I pay.\nAction: pay\nAction Input: {}"), text("Thought: I know.\nFinal Answer: 42")),
		"reason-act-observe": of(strategy.Set{"main": reasonactobserve.New(reasonactobserve.Config{})}, every,
			own("c1", "agent_decide_next", "{}"), calls(call("c2", "pay"), call("c3", "look")),
			own("c4", "agent_observe_decide", `{"should_continue":false,"final_answer":"seen"}`)),
		"plan-revise-execute": of(strategy.Set{"main": pre.New(pre.Config{Executor: "worker"}), "worker": worker}, every,
			own("p1", "submit_plan", `{"steps":["A","B"]}`), own("e1", "submit_evaluation", `{"approved":true}`),
			calls(call("c1", "pay")), text("a"), text("b")),
		"reflection": of(strategy.Set{"main": reflection.New(reflection.Config{})}, every,
			calls(call("c1", "book"), call("c2", "pay")), text("a draft"), text("Make it shorter."), text("draft"), text("APPROVED")),
		"retry": of(strategy.Set{"main": retry.New(retry.Config{Strategy: "worker"}), "worker": worker}, every,
			calls(call("c1", "pay")), text(""), scripted.Error(errUnavailable), calls(call("c1", "pay")), text("done")),
		"step-agent":                        of(strategy.Set{"main": stepagent.New(stepagent.Config{Step: twoSteps})}, every, calls(call("c1", "pay"), call("c2", "look"))),
		"step-agent, with calls of its own": of(strategy.Set{"main": stepagent.New(stepagent.Config{Step: ownCalls})}, every, calls(call("c1", "pay"), call("c2", "look"))),
	}
}

// ownCalls makes calls of its own, which no request offered, then those of a reply, of which one
// was offered.
func ownCalls(s stepagent.Step) stepagent.StepResult {
	switch s.Iteration {
	case 1:
		return stepagent.ToolCalls(call("", "pay"), call("", "nonsense"))
	case 2:
		return stepagent.Ask(llmclient.Request{Tools: s.Tools[:1]}, func(resp llmclient.Response) stepagent.StepResult {
			return stepagent.ToolCalls(resp.Message.Calls()...)
		})
	case 3:
		return stepagent.ToolCalls(call("", "pay"), call("", "book"))
	default:
		return stepagent.Finish("done")
	}
}

// twoSteps asks a model, does what it calls for, and ends.
func twoSteps(s stepagent.Step) stepagent.StepResult {
	if s.Iteration > 1 {
		return stepagent.Finish("done")
	}
	return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(resp llmclient.Response) stepagent.StepResult {
		return stepagent.ToolCalls(resp.Message.Calls()...)
	})
}

var errUnavailable = &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"}
