package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

func TestNew_reportsEverything(t *testing.T) {
	broken := completetask.New(completetask.Config{OnEmpty: "guess"})
	hands := completetask.New(completetask.Config{Handoffs: []completetask.Handoff{{Strategy: "gone"}}})
	_, err := orchestrator.New(orchestrator.Config{
		Strategies: strategy.Set{"broken": broken, "hands": hands, "nil": nil},
		Tools:      []tools.Tool{echo("a"), echo("a")},
		Default:    "nobody",
		Middleware: []orchestrator.Middleware{nil},
		Remote:     map[string]orchestrator.Remote{"broken": nil},
	})
	for _, want := range []string{
		"orchestrator: Client: is nil",
		`orchestrator: Strategies: strategy "broken": OnEmpty: "guess" is not one of`,
		`orchestrator: Strategies: the factory of "nil" is nil`,
		`orchestrator: Tools:`,
		`orchestrator: Default: no strategy "nobody"; known: broken, hands, nil`,
		`orchestrator: Strategies: strategy "hands" hands off to one that is not in Strategies: no strategy "gone"`,
		`orchestrator: Middleware: number 0 is nil`,
		`orchestrator: Remote: "broken" is in Strategies too`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = orchestrator.New(orchestrator.Config{Client: scripted.New()})
	require.ErrorContains(t, err, "Strategies: is empty")
}

// provider is a strategy with a tool of its own.
type provider struct{ scene }

func (*provider) Tools() []tools.Tool { return []tools.Tool{echo("submit")} }

func TestNew_toolNameTaken(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(),
		Strategies: strategy.Set{"p": func() strategy.Strategy { return &provider{} }},
		Tools:      []tools.Tool{echo("submit")},
	})
	require.ErrorContains(t, err, `strategy "p" brings a tool "submit", and so does Tools`)
}

// A strategy's own tools run like any other, without standing in the request or the run's tools.
func TestToolProvider(t *testing.T) {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Calls(scripted.Call("submit", "!", "c1"))),
		Strategies: strategy.Set{"p": func() strategy.Strategy {
			p := &provider{}
			p.Reply = func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} }
			p.Results = func(r []messages.ToolOutput) nextstep.NextStep { return done(r[0].Output) }
			return p
		}},
	})
	require.NoError(t, err)
	res := ran(t, o, task("go"))
	require.Equal(t, "submit!", res.Output.Text())
}

// S1-9: a task may name another strategy than the default, for itself only.
func TestS1_9_perTaskStrategy(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3")), func(c *orchestrator.Config) {
		c.Strategies["other"] = completetask.New(completetask.Config{})
		c.Default = "solve"
	})
	var ran []string
	for _, name := range []string{"", "other", ""} {
		ta := task("go")
		ta.Strategy = name
		events := watched(t, o, ta)
		ran = append(ran, events[0].Detail.(machine.RunStarted).Strategy)
	}
	require.Equal(t, []string{"solve", "other", "solve"}, ran)
}

// S1-10: one Orchestrator, a hundred runs at once, each with its own script: no cross-talk.
func TestS1_10_concurrentRuns(t *testing.T) {
	client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		goal := req.Messages[0].(messages.User).Text()
		if len(req.Messages) < 9 {
			call := messages.ToolCall{ID: fmt.Sprint(len(req.Messages)), Name: "echo", Arguments: goal}
			return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
		}
		return &llmclient.Response{Message: messages.AssistantText("done " + goal)}, nil
	})
	o := solver(t, client, with(echo("echo")), func(c *orchestrator.Config) { c.Repeats = -1 })
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			goal := fmt.Sprintf("goal %d", i)
			res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: goal}})
			if err != nil || res.Output.Text() != "done "+goal {
				t.Errorf("%v: %q", err, res.Output.Text())
			}
			for _, m := range res.Output.ToolMetas() {
				if m.Output != "echo"+goal {
					t.Errorf("%q in the run of %q", m.Output, goal)
				}
			}
		})
	}
	waittest.All(t, &group)
}
