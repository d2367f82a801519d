package machine_test

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/scenetest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

type scene = scenetest.Scene

var (
	ask     = scenetest.Ask
	done    = scenetest.Done
	said    = scenetest.Said
	calling = scenetest.Calling
)

// result is that of a call that went well.
func result(id, text string) nextstep.ToolResult {
	return nextstep.ToolResult{Output: messages.ToolOutput{CallID: id, Output: text}}
}

// caller asks a model, with tools on offer, makes the calls of its reply, and is done with their
// results.
func caller(offered ...string) func() *scene {
	return func() *scene {
		return &scene{
			Start:   func(in delegation.Input) nextstep.NextStep { return ask(in.Goal, offered...) },
			Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			Results: func(r []messages.ToolOutput) nextstep.NextStep { return done(texts(r)) },
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
