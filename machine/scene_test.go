package machine_test

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// scene is a strategy for tests: each method is a function, and one that is nil reports an error.
type scene struct {
	start   func(delegation.Input) nextstep.NextStep
	reply   func(llmclient.Response) nextstep.NextStep
	results func([]messages.ToolOutput) nextstep.NextStep
	child   func(delegation.Output) nextstep.NextStep
	strategy.Defaults
}

func (s *scene) Initialize(in delegation.Input) nextstep.NextStep {
	if s.start == nil {
		return ask(in.Goal)
	}
	return s.start(in)
}

func (s *scene) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.reply == nil {
		return done(r.Message.Text())
	}
	return s.reply(r)
}

func (s *scene) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	if s.results == nil {
		return s.Defaults.ProcessToolResults(r)
	}
	return s.results(r)
}

func (s *scene) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	if s.child == nil {
		return s.Defaults.ProcessDelegationResult(o)
	}
	return s.child(o)
}

func ask(text string, offered ...string) nextstep.NextStep {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(text)}}}
	for _, name := range offered {
		step.Request.Tools = append(step.Request.Tools, tools.Definition{Name: name})
	}
	return step
}

func done(text string) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: &text}}
}

func said(text string) nextstep.APIResponse {
	return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText(text), Usage: messages.Usage{Input: 10, Output: 1}}}
}

// calling is a reply that calls each of the tools once, with the ids c1, c2, ….
func calling(names ...string) nextstep.APIResponse {
	var a messages.Assistant
	for i, n := range names {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("c%d", i+1), Name: n, Arguments: "{}"})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
}

// result is that of a call that went well.
func result(id, text string) nextstep.ToolResult {
	return nextstep.ToolResult{Output: messages.ToolOutput{CallID: id, Output: text}}
}

// caller asks a model, with tools on offer, makes the calls of its reply, and is done with their
// results.
func caller(offered ...string) func() *scene {
	return func() *scene {
		return &scene{
			start:   func(in delegation.Input) nextstep.NextStep { return ask(in.Goal, offered...) },
			reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			results: func(r []messages.ToolOutput) nextstep.NextStep { return done(texts(r)) },
		}
	}
}

// texts joins the texts of results.
func texts(results []messages.ToolOutput) string {
	var all []string
	for _, r := range results {
		all = append(all, r.Output)
	}
	return strings.Join(all, "|")
}

// config is that of runs of the strategy "main" in a set of scenes made by the functions.
func config(set map[string]func() *scene, edit ...func(*machine.Config)) *machine.Config {
	cfg := &machine.Config{Strategies: strategy.Set{}, Agents: map[string]*machine.Agent{}, Durable: true}
	for name, build := range set {
		cfg.Strategies[name] = func() strategy.Strategy { return build() }
	}
	for _, e := range edit {
		e(cfg)
	}
	return cfg
}

// begin begins a run of the strategy "main".
func begin(t tester, set map[string]func() *scene, edit ...func(*machine.Config)) *engine {
	t.Helper()
	return drive(t, config(set, edit...), machine.Started{Strategy: "main", Input: delegation.Input{Goal: "go"}})
}

func only(s func() *scene) map[string]func() *scene { return map[string]func() *scene{"main": s} }

// offering adds read-only tools of such names.
func offering(names ...string) func(*machine.Config) {
	return func(c *machine.Config) {
		for _, n := range names {
			c.Tools = append(c.Tools, tools.Definition{Name: n, ReadOnly: true})
		}
	}
}

// tool adds a tool.
func tool(def tools.Definition) func(*machine.Config) {
	return func(c *machine.Config) { c.Tools = append(c.Tools, def) }
}

// agent adds an agent that is called as a tool of the same name. The arguments of a call are not
// read: each call opens one branch.
func agent(name, child string, edit ...func(*machine.Agent)) func(*machine.Config) {
	return func(c *machine.Config) {
		a := &machine.Agent{Strategy: child, Inputs: func(string) ([]delegation.Input, bool, error) {
			return []delegation.Input{{Goal: "part"}}, false, nil
		}}
		for _, e := range edit {
			e(a)
		}
		c.Agents[name] = a
		c.Tools = append(c.Tools, tools.Definition{Name: name})
	}
}

// fanOut has an agent open so many branches a call.
func fanOut(n int) func(*machine.Agent) {
	return func(a *machine.Agent) {
		a.Inputs = func(string) ([]delegation.Input, bool, error) {
			var all []delegation.Input
			for i := range n {
				all = append(all, delegation.Input{Goal: fmt.Sprintf("part %d", i+1)})
			}
			return all, true, nil
		}
	}
}

// places sets Parallel.
func places(n int) func(*machine.Config) { return func(c *machine.Config) { c.Parallel = n } }

// limited sets limits.
func limited(l delegation.Limits) func(*machine.Config) {
	return func(c *machine.Config) { c.Limits = l }
}

// judged sets a policy.
func judged(p machine.ApprovalPolicy) func(*machine.Config) {
	return func(c *machine.Config) { c.Approve = p }
}
