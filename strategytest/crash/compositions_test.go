package crash_test

import (
	"context"
	"testing"
	"time"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// agent is a tool that runs the strategy worker.
func agent(def tools.Definition) tools.Tool {
	return orchestrator.AgentTool(orchestrator.Agent{Definition: def, Strategy: "worker", FanOut: true})
}

// asks is a tool that asks a person, and then does something.
func asks(def tools.Definition) tools.Tool {
	return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		return tools.Ask(ctx, tools.Question{Text: "Which?", Options: []string{"this", "that"}})
	})
}

// later is a tool that waits for some minutes, by the clock that a run of the kit begins with.
var later = tools.NewRaw(tools.Definition{Name: "later", Timeout: -1, ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
	return "it is time", tools.WaitUntil(ctx, time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC), "five past")
})

// TestCrash_compositions cuts compositions of agents off: each process that dies leaves branches
// open. Every test run tries one of forty-one boundaries.
func TestCrash_compositions(t *testing.T) {
	for name, c := range compositions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Pairs = prove.CasesOr(1)
			crash.Test(t, c.Every(prove.DepthOr(97, 1)))
		})
	}
}

func compositions() map[string]crash.Case {
	text, calls := scripted.Text, scripted.Calls
	again := func(id, name string) messages.ToolCall { return scripted.Call(name, `{"goal":"the same"}`, id) }
	set := strategy.Set{"main": worker, "worker": worker}
	plain, careful := agent(tools.Definition{Name: "agent"}), agent(tools.Definition{Name: "careful", NeedsApproval: true})
	sign := echo(tools.Definition{Name: "sign", NeedsApproval: true})
	fanOut := scripted.Call("agent", `{"goals":["north","south"]}`, "c1")
	nested := of(set, append(every, plain),
		calls(call("c1", "agent"), call("c2", "pay")), // the first actor
		calls(call("c1", "agent"), call("c2", "pay")), // its agent
		calls(call("c1", "pay"), call("c2", "book")), text("deep"),
		text("in the middle"), text("done"))
	parallel := func(most int) crash.Case {
		c := of(set, append(every, plain),
			calls(fanOut, call("c2", "pay"), call("c3", "look"), call("c4", "agent")),
			calls(call("c1", "pay"), call("c2", "alone")), text("north is done"),
			calls(call("c1", "pay")), text("south is done"),
			text("the other is done"), text("done"))
		config := c.Config
		c.Config = func() orchestrator.Config {
			cfg := config()
			cfg.Parallel = most
			return cfg
		}
		return c
	}
	together := func(most int) crash.Case { // the second step fails, and is planned again with a third one
		return of(strategy.Set{
			"main": pre.New(pre.Config{Executor: "worker", Evaluation: pre.EvaluateNever, Parallel: most}), "worker": worker,
		}, every,
			calls(scripted.Call("submit_plan", `{"steps":[{"goal":"A","depends_on":[]},{"goal":"B","depends_on":[]}]}`, "p1")),
			calls(call("c1", "pay"), call("c2", "book")), text("a"), calls(call("c1", "pay")), scripted.Error(errUnavailable),
			calls(scripted.Call("submit_plan", `{"steps":[{"goal":"B again","depends_on":["1"]},{"goal":"C","depends_on":[]}]}`, "p2")),
			calls(call("c1", "pay")), text("b"), text("c"))
	}
	return map[string]crash.Case{
		"plan, steps at the same time": together(2), "plan, any steps at the same time": together(9),
		"parts, of which one is chosen": of(strategy.Set{
			"main": workflow.Choose(workflow.ChooseConfig{
				Parts:  []workflow.Part{{Name: "one", Strategy: "worker"}, {Name: "two", Strategy: "worker", Retries: 1, Fallback: "worker"}},
				Router: &workflow.Part{Strategy: "worker", Retries: 1}, Otherwise: "two",
			}), "worker": worker,
		}, every,
			calls(call("c1", "look")), text("nobody"), text("one or two"),
			calls(call("c1", "pay"), call("c2", "book")), text(""), calls(call("c1", "pay")), text("two")),
		"plan, reviewed": of(strategy.Set{
			"main": pre.New(pre.Config{Executor: "worker", Reviewer: "critic"}), "worker": worker, "critic": worker,
		}, every,
			calls(scripted.Call("submit_plan", `{"steps":["A"]}`, "p1")), calls(call("c1", "look"), call("c2", "pay")), text("B is missing"),
			calls(scripted.Call("submit_plan", `{"steps":["A","B"]}`, "p2")), calls(call("c1", "look")), text("APPROVED"),
			calls(call("c1", "pay")), text("a"), calls(call("c1", "book")), text("b")),
		"nested": nested, "parallel": parallel(0), "parallel, one after the other": parallel(1),
		"approvals": of(set, append(every, plain, careful, sign),
			calls(call("c1", "careful"), call("c2", "sign"), call("c3", "agent")),
			calls(call("c1", "sign")), text("careful"), calls(call("c1", "pay")), text("plain"), text("done")),
		"repetition": of(set, append(every, plain),
			calls(again("c1", "look")), calls(again("c2", "look")), calls(again("c3", "pay")), calls(again("c4", "look")),
			calls(again("c5", "agent")), calls(again("c6", "pay")), calls(again("c7", "pay")), calls(again("c8", "pay")), text("paid"),
			calls(again("c9", "look"), again("c10", "pay")), calls(again("c11", "look"), again("c12", "pay")), calls(again("c13", "look"), again("c14", "pay")), text("done")),
		"questions": of(set, append(every, plain, later, asks(tools.Definition{Name: "ask", ReadOnly: true}), asks(tools.Definition{Name: "order"})),
			calls(call("c1", "agent"), call("c2", "ask"), call("c3", "order"), call("c4", "later")),
			calls(call("c1", "order")), text("agent"), text("done")),
		"parts together, in a loop, in a row": of(strategy.Set{
			"main": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "both", Retries: 1}, {Tool: "pay"}, {Strategy: "loop"}}}),
			"both": workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{{Name: "a", Strategy: "worker"}, {Name: "b", Strategy: "worker", Retries: 1}, {Tool: "book"}}}),
			"loop": workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "worker"}, Judge: &workflow.Part{Strategy: "worker"}, MaxRounds: 2}), "worker": worker,
		}, every,
			calls(call("c1", "pay"), call("c2", "look")), text("a"), calls(call("c1", "pay")), text(""), calls(call("c1", "pay")), text("b"),
			calls(call("c1", "pay")), text("draft"), text("no"), text("better"), text("APPROVED")),
		"retry of a plan": of(strategy.Set{
			"main": retry.New(retry.Config{Strategy: "plan", MaxRetries: 1}), "worker": worker, "lead": worker,
			"plan": pre.New(pre.Config{Executor: "lead", Evaluation: pre.EvaluateNever, MaxRevisions: -1}),
		}, append(every, plain),
			calls(scripted.Call("submit_plan", `{"steps":["A"]}`, "p1")), calls(call("c1", "agent")), calls(call("c1", "pay")), text("paid"), scripted.Error(errUnavailable),
			calls(scripted.Call("submit_plan", `{"steps":["B"]}`, "p1")), calls(call("c1", "agent"), call("c2", "pay")), text("nothing to pay"), text("B is done")),
	}
}
