package strategytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// plan works on each step of a plan with a lead, who can ask a clerk, who can pay.
var plan = pre.New(pre.Config{Evaluation: pre.EvaluateNever, Executor: "lead", MaxRevisions: -1})

// planned is the world of the plan: whole in make prove, with one odd reaction in every test run.
func planned(approval bool) explore.Options {
	clerk := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "ask_clerk"}, Strategy: "clerk"})
	calls := func(name, tool, arguments string) explore.Reaction {
		return explore.Reply(name, llmclient.FinishToolCalls, messages.ToolCall{ID: "call", Name: tool, Arguments: arguments})
	}
	return explore.Options{
		Name:   "plan",
		Odd:    prove.DepthOr(1, 0),
		States: prove.DepthOr(60, 0),
		Tools:  []tools.Definition{clerk.Definition(), {Name: "pay", NeedsApproval: approval}},

		Unreached: []string{"*"}, // the plan is neither judged nor revised
		Agents:    map[string]*machine.Agent{"ask_clerk": machine.AgentOf(clerk)},
		Strategies: strategy.Set{
			"lead":  completetask.New(completetask.Config{Tools: []string{"ask_clerk"}, MaxModelCalls: 2}),
			"clerk": completetask.New(completetask.Config{Tools: []string{"pay"}, MaxModelCalls: 1}),
		},
		World: func(e *machine.Effect) []explore.Reaction {
			ask, ok := e.Step.(nextstep.GetChatCompletion)
			offered := func(name string) bool {
				return ok && slices.ContainsFunc(ask.Request.Tools, func(d tools.Definition) bool { return d.Name == name })
			}
			switch {
			case offered("submit_plan"):
				return []explore.Reaction{calls("plans", "submit_plan", `{"steps":[{"id":"1","goal":"Pay the bill."}]}`)}
			case offered("ask_clerk"):
				return []explore.Reaction{calls("asks the clerk", "ask_clerk", `{"goal":"Pay."}`)}
			default:
				return nil
			}
		},
		Without: func(_ *machine.Effect, reaction string) bool {
			return !slices.Contains([]string{"plans", "asks the clerk", "text", "call pay", "tool ok", "tool failed", "says yes", "says no", "stop", "crash"}, reaction)
		},
	}
}

// A payment is never made without an approval in this composition.
func TestNever_composition(t *testing.T) {
	strategytest.Never(t, plan, planned(true), explore.CallsUnapproved("pay"))
}

func TestCanReach_composition(t *testing.T) {
	story := strategytest.CanReach(t, plan, planned(true), explore.CallsApproved("pay"))
	require.Contains(t, story, "frame 0.1.1 of clerk in awaiting_tools: #")
}

func TestLeads_composition(t *testing.T) {
	strategytest.Leads(t, plan, planned(true), explore.Calls("pay"), explore.Ended)
}

// As docs/testing.md has it.
func TestClerk_payments(t *testing.T) {
	clerk := completetask.New(completetask.Config{MaxModelCalls: 3})
	o := explore.Options{Name: "clerk", States: 100, Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}}}

	strategytest.Never(t, clerk, o, explore.CallsUnapproved("pay"))
	strategytest.CanReach(t, clerk, o, explore.CallsApproved("pay"))
	strategytest.Leads(t, clerk, o, explore.Calls("pay"), explore.Ended)
}

// heard is a test whose failures are expected.
type heard struct {
	testing.TB
	failures []string
}

func (h *heard) Helper()             {}
func (h *heard) Log(...any)          {}
func (h *heard) Logf(string, ...any) {}
func (h *heard) Errorf(format string, args ...any) {
	h.failures = append(h.failures, fmt.Sprintf(format, args...))
}
func (h *heard) Fatal(args ...any) { h.failures = append(h.failures, fmt.Sprint(args...)) }

// Each query fails the test where its answer is no, with a path that shows it, as a story with a
// name.
func TestQueries_fail(t *testing.T) {
	paid := explore.CallsUnapproved("pay")
	for name, c := range map[string]struct {
		ask  func(t testing.TB)
		want []string
	}{
		"never": {
			func(t testing.TB) { strategytest.Never(t, plan, planned(false), paid) },
			[]string{"never: no: after [#1 plans, ", "Save this story as plan-never.txt:\n\n# A path of plan that refutes: never.", "walk plan steps\n", `#1 answer {"kind":"api_response"`},
		},
		"can reach": {
			func(t testing.TB) { strategytest.CanReach(t, plan, planned(true), paid) }, []string{"can reach: no path was found"},
		},
		"leads": {
			func(t testing.TB) { strategytest.Leads(t, plan, planned(false), explore.Calls("pay"), explore.Failed) },
			[]string{"leads: no: after [", "the run ends as stopped", "walk plan steps\n"},
		},
		"leads without a beginning": {
			func(t testing.TB) { strategytest.Leads(t, plan, planned(true), explore.Calls("pya"), explore.Ended) },
			[]string{"leads: yes; the first never held: nothing was asked for"},
		},
		"one of several": {
			func(t testing.TB) {
				o := planned(false)
				o.Queries = []explore.Query{explore.CanReach(explore.Done), explore.Never(paid)}
				o.Queries[1].Name = "a payment without an approval"
				strategytest.Explore(t, plan, o)
			},
			[]string{`never "a payment without an approval": no: `, "plan-never-a-payment-without-an-approval.txt"},
		},
		"it cannot be started": {
			func(t testing.TB) {
				strategytest.Never(t, func() strategy.Strategy { return nil }, planned(true), paid)
			},
			[]string{"explore: the strategy cannot be started"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &heard{TB: t}
			c.ask(h)
			require.Len(t, h.failures, 1)
			for _, want := range c.want {
				require.Contains(t, h.failures[0], want)
			}
		})
	}
}

// careless asks a model until it calls no tool, and panics if a tool fails.
type careless struct {
	strategy.Defaults
	history messages.History
	acts    bool // it waits for tools
	mended  bool
}

func (f *careless) Initialize(in delegation.Input) nextstep.NextStep {
	f.history = messages.History{messages.UserText(in.Goal)}
	return f.ask()
}

func (f *careless) ask() nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: f.history.Clip(), Tools: []tools.Definition{{Name: "look"}}}}
}

func (f *careless) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if f.acts {
		return f.Defaults.ProcessAPIResponse(r)
	}
	if !r.Message.Empty() {
		f.history = append(f.history, r.Message)
	}
	if calls := r.Message.Calls(); len(calls) > 0 {
		f.acts = true
		return nextstep.ExecuteTools{Calls: calls}
	}
	return nextstep.Complete{}
}

func (f *careless) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if !f.acts {
		return f.Defaults.ProcessToolResults(results)
	}
	f.acts = false
	for _, r := range results {
		if r.Status == messages.StatusFailed && r.ToolName == "look" && !f.mended {
			panic("the tool failed")
		}
		f.history = append(f.history, messages.Tool{ToolOutput: r})
	}
	return f.ask()
}

// The story of a violation fails, and passes unchanged once the strategy is mended.
func TestExplore_theStoryOfAViolation(t *testing.T) {
	o := explore.Options{Name: "careless", States: 200, Tools: []tools.Definition{{Name: "look"}}}
	h := &heard{TB: t}
	strategytest.Explore(h, func() strategy.Strategy { return &careless{} }, o)
	require.Len(t, h.failures, 1)
	_, story, found := strings.Cut(h.failures[0], "Save this story as careless-a-strategy-keeps-to-the-protocol-no-panic-no.txt:\n\n")
	require.True(t, found, h.failures[0])
	require.Contains(t, story, "walk careless\ngoal a task\n#1 call look\n#2/1 tool failed\n----\nevery law holds\n")

	play := func(mended bool) (output string) {
		set := strategy.Set{"careless": func() strategy.Strategy { return &careless{mended: mended} }}
		return strategytest.PlayWalk(t, set, story)
	}
	require.Contains(t, play(false), "broken after 2 reactions: a strategy keeps to the protocol")
	require.Contains(t, play(false), "the tool failed")
	require.Equal(t, "every law holds\n", play(true))
}
