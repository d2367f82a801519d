package crash_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/stepagent"
	_ "github.com/segue-go/segue/strategytest" // whose tests have the flag -rewrite
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// secret makes what a process knows and others do not.
type secret func() func() string

// secrets are of strategies that tell the model what they may not know.
var secrets = []struct {
	name   string
	secret secret
}{
	{"decides by the minute", func() func() string {
		return func() string { return time.Now().Format("15:04") }
	}},
	{"decides by a number that its process drew", func() func() string {
		n := rand.Uint64() //nolint:gosec // it must differ
		return func() string { return fmt.Sprint(n) }
	}},
	{"decides by what its process was started for", func() func() string {
		started++
		n := started
		return func() string { return fmt.Sprint(n) }
	}},
	{"decides by how long its process has lived", func() func() string {
		began := time.Now()
		return func() string { return time.Since(began).Truncate(time.Second).String() + began.Format("04:05") }
	}},
}

// started is how many processes there were.
var started int

// conversing is a strategy that makes the calls of a reply and asks again. Each reply is to end
// before a secret; nil: it has none.
func conversing(secret func() string) func() strategy.Strategy {
	return stepagent.New(stepagent.Config{Step: func(s stepagent.Step) stepagent.StepResult {
		request := llmclient.Request{Tools: s.Tools}
		if secret != nil {
			request.Stop = []string{secret()}
		}
		return stepagent.Ask(request, func(r llmclient.Response) stepagent.StepResult {
			if calls := r.Message.Calls(); len(calls) > 0 {
				return stepagent.ToolCalls(calls...)
			}
			return stepagent.Finish("done")
		})
	}})
}

// telling is a case whose strategy has a secret in each process.
func telling(s secret) crash.Case {
	model := scripted.New(scripted.Calls(call("c1", "look")), scripted.Text("seen"))
	return crash.Case{
		Config: func() orchestrator.Config {
			main := conversing(nil)
			if s != nil {
				main = conversing(s())
			}
			return orchestrator.Config{Client: model, Tools: []tools.Tool{look}, Strategies: strategy.Set{"main": main}}
		},
		Task: orchestrator.Task{Input: delegation.Input{Goal: "go"}},
	}
}

// counting is a case that knows which of the processes of a run each Config is of.
func counting(task orchestrator.Task, config func(process int) orchestrator.Config) crash.Case {
	process := 0
	return crash.Case{Task: task, Reset: func() { process = 0 }, Config: func() orchestrator.Config {
		process++
		return config(process)
	}}
}

// twice are two calls of a tool, after which a strategy asks no more.
func twice(def tools.Definition, call func(process int) func(context.Context, string) (string, error)) crash.Case {
	model := scripted.New(scripted.Calls(scripted.Call(def.Name, "{}", "c1")))
	main := stepagent.New(stepagent.Config{Step: func(s stepagent.Step) stepagent.StepResult {
		if s.Iteration > 1 {
			return stepagent.Finish("done")
		}
		return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(r llmclient.Response) stepagent.StepResult {
			return stepagent.ToolCalls(r.Message.Calls()...)
		})
	}})
	return counting(orchestrator.Task{Input: delegation.Input{Goal: "go"}}, func(process int) orchestrator.Config {
		return orchestrator.Config{Client: model, Strategies: strategy.Set{"main": main}, Tools: []tools.Tool{tools.NewRaw(def, call(process))}}
	})
}

// boasting is a strategy that answers with the number of its process.
func boasting(process int) func() strategy.Strategy {
	return stepagent.New(stepagent.Config{Step: func(s stepagent.Step) stepagent.StepResult {
		return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(llmclient.Response) stepagent.StepResult {
			return stepagent.Finish(fmt.Sprint("process ", process))
		})
	}})
}

// broken is something that breaks one law of the kit.
type broken struct {
	name string // what is broken, for people
	law  crash.Law
	crash.Case
}

// allBroken returns what is broken, in the order of the page.
func allBroken() (all []broken) {
	for _, s := range secrets {
		all = append(all, broken{s.name, crash.Requests, telling(s.secret)})
	}
	two := of(strategy.Set{"main": worker}, every, scripted.Calls(call("c1", "pay"), call("c2", "pay")), scripted.Text("done"))
	goal := orchestrator.Task{Input: delegation.Input{Goal: "go"}}
	return append(all,
		broken{"answers by which process it is called in", crash.End, twice(tools.Definition{Name: "look", ReadOnly: true},
			func(process int) func(context.Context, string) (string, error) {
				return func(context.Context, string) (string, error) { return fmt.Sprint(process), nil }
			})},
		broken{"concludes by which process it is in", crash.Told, counting(goal, func(process int) orchestrator.Config {
			return orchestrator.Config{Client: scripted.New(scripted.Text("yes")), Strategies: strategy.Set{"main": boasting(process)}}
		})},
		broken{"an engine that stores no intent", crash.Stored, one(pay).StoresNoIntent()},
		broken{"an engine that makes one call for another", crash.Once, two.CallsTwice()},
		broken{"an engine that asks again what was answered", crash.Answered, telling(nil).BeginsAgain()},
		broken{"an engine that draws a key for each call", crash.Key, one(book).KeysOfItsOwn()},
		broken{"a store that leaves a number out", crash.Journal, one(look).SkipsNumber()},
		broken{"a store that loses large results", crash.Kept, keeping(one(dump), 3).On(func(s checkpoint.Store) checkpoint.Store {
			return forgetful{s.(*checkpoint.Memory)}
		})},
		broken{"an engine that does not know of a takeover", crash.Frozen, one(look).KnowsNoTakeover()},
		broken{"a program that cannot be started again", crash.GoesOn, counting(goal, func(process int) orchestrator.Config {
			list := []tools.Tool{look}
			if process > 1 {
				list = append(list, look)
			}
			return orchestrator.Config{Client: scripted.New(scripted.Text("yes")), Strategies: strategy.Set{"main": worker}, Tools: list}
		})},
		broken{"a tool that says that it may be called again, and pays twice", crash.Check, paying(tools.Definition{Name: "pay", Idempotent: true}, none)},
	)
}

// What breaks one law of the kit is caught by that law, and by no other: without it, nothing is
// found. A sound case breaks none. Every test run tries some boundaries.
func TestBroken(t *testing.T) {
	sound := telling(nil)
	sound.Pairs = prove.CasesOr(2)
	require.Empty(t, crash.Try(t, sound.Every(prove.DepthOr(5, 1))).Problems)
	without := allBroken() // made anew, for each has a script of its own
	for i, b := range allBroken() {
		t.Run(b.name, func(t *testing.T) {
			b.Pairs, without[i].Pairs = prove.CasesOr(1), 3
			nth := 4
			if b.law == crash.Key { // few boundaries show it
				nth = 2
			}
			require.NotEmpty(t, crash.Try(t, b.Case.Every(prove.DepthOr(nth, 1))).Problems)
			if prove.DepthOr(0, 1) > 0 {
				require.Empty(t, crash.Try(t, without[i].WithoutLaw(b.law)).Problems)
			}
		})
	}
}

// The kit catches what no exploration can: an exploration is made in one process, and takes no
// time.
func TestBroken_passesExploration(t *testing.T) {
	for _, s := range secrets {
		synctest.Test(t, func(t *testing.T) {
			r, err := explore.Run(conversing(s.secret()), explore.Options{Tools: []tools.Definition{look.Definition()}, States: prove.DepthOr(12, 70), Depth: 6})
			require.NoError(t, err)
			require.Empty(t, r.Violations, s.name)
		})
	}
}

// docs/internal/proof.md lists what is broken, and the law that catches it; -rewrite writes the
// list.
func TestBroken_page(t *testing.T) {
	caught := map[crash.Law]bool{}
	var b strings.Builder
	b.WriteString("| broken | the law that catches it |\n|---|---|\n")
	for _, s := range allBroken() {
		caught[s.law] = true
		fmt.Fprintf(&b, "| %s | %s |\n", s.name, s.law)
	}
	for _, law := range crash.Laws() {
		require.True(t, caught[law], "who breaks the law %q?", law)
	}
	const page, command = "../../docs/internal/proof.md", "go test ./strategytest/crash -run '^TestBroken_page$' -rewrite"
	begin, end := "<!-- broken for the crash kit: "+command+" -->\n", "<!-- end of broken for the crash kit -->\n"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, begin)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok, end)
	if flag.Lookup("rewrite").Value.String() == "true" {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o600))
		return
	}
	require.Equal(t, b.String(), have, "run: %s", command)
}
