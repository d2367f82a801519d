package mcptools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	segue "github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// told returns what the events of a run say, without times and records.
func told(t *testing.T, list []tools.Tool, script ...scripted.Reply) (texts []string, res orchestrator.Result) {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(script...), Tools: list, Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	for e, err := range o.Stream(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}}) {
		require.NoError(t, err)
		text := string(e.Kind) + " " + e.Text
		switch d := e.Detail.(type) {
		case machine.ToolStarted:
			text += " " + d.Call.Name + d.Call.Arguments
		case machine.ToolFinished:
			d.Output.Elapsed = 0
			data, err := json.Marshal(d.Output)
			require.NoError(t, err)
			text += " " + string(data)
		case machine.RunFinished:
			res.Output, res.Status = d.Output, d.Status
		}
		texts = append(texts, text)
	}
	return texts, res
}

// native is the tool echo as a function.
func native(untrusted bool) tools.Tool {
	return tools.New(tools.Definition{Name: "echo", Description: "Says it again.", Untrusted: untrusted},
		func(_ context.Context, in textIn) (string, error) { return in.Text, nil })
}

// A server's tools keep their names, and run through the same pipeline as native ones: the same
// events, the same metadata, the text of the result.
func TestS1_34_sameAsNative(t *testing.T) {
	script := func() []scripted.Reply {
		return []scripted.Reply{
			scripted.Calls(scripted.Call("echo", `{"text":"hello"}`, "1")), scripted.Calls(scripted.Call("echo", `{"txt":"hello"}`, "2")),
			scripted.Text("done"),
		}
	}
	for _, c := range transports() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, c.config(t, t.TempDir()))
			require.Equal(t, c.protocol, s.Listing().Protocol)
			mine, res := told(t, []tools.Tool{named(t, s, "echo")}, script()...)
			same, want := told(t, []tools.Tool{native(true)}, script()...)
			require.Equal(t, same, mine)
			require.Equal(t, "hello", res.Output.ToolMetas()[0].Output)
			require.True(t, res.Output.ToolMetas()[0].Untrusted)
			require.Equal(t, tools.ReasonArguments, res.Output.ToolMetas()[1].Reason)
			require.Equal(t, metas(want), metas(res))
		})
	}
}

func metas(res orchestrator.Result) (all []messages.ToolOutput) {
	for _, m := range res.Output.ToolMetas() {
		m.Elapsed = 0
		all = append(all, m)
	}
	return all
}

// Toolsets stand beside tools, for each agent its own.
func TestS1_35_perAgent(t *testing.T) {
	a := connect(t, stdio("server")(t, t.TempDir()))
	cfg := stdio("server")(t, t.TempDir())
	cfg.Name, cfg.Prefix, cfg.Allow = "other", "other_", []string{"echo"}
	b := connect(t, cfg)

	_, err := mcptools.Join(a, a)
	require.ErrorContains(t, err, "both offer a tool")
	joined, err := mcptools.Join(a, b)
	require.NoError(t, err)
	require.Len(t, joined, len(a.Tools())+1)

	own := tools.New(tools.Definition{Name: "own"}, func(context.Context, struct{}) (string, error) { return "mine", nil })
	first := &segue.Agent{
		Model: scripted.New(scripted.Calls(scripted.Call("own", "{}", "1"), scripted.Call("other_echo", `{"text":"hi"}`, "2")), scripted.Text("done")),
		Tools: append(joined, own),
	}
	answer, err := first.Ask(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, "done", answer)

	model := scripted.New(scripted.Calls(scripted.Call("own", "{}", "1")), scripted.Text("done"))
	second := &segue.Agent{Model: model, Tools: b.Tools()}
	_, err = second.Ask(t.Context(), "go")
	require.NoError(t, err)
	offered := model.Requests()[0].Tools
	require.Len(t, offered, 1)
	require.Equal(t, "other_echo", offered[0].Name)
}

// A failure of a server's tool is one for the retry strategy, as that of a native tool is, with its
// default settings, and with those that look at tools.
func TestS1_36_retry(t *testing.T) {
	failing := tools.New(tools.Definition{Name: "fail", Untrusted: true}, func(_ context.Context, in textIn) (string, error) {
		return "", &cityError{in.Text}
	})
	for name, c := range map[string]struct {
		cfg      retry.Config
		attempts int
	}{
		"default": {retry.Config{}, 3},
		"strict":  {retry.Config{Detector: retry.DetectStrict}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := connect(t, stdio("server")(t, dir))
			run := func(tool tools.Tool) (goals []string, out delegation.Output) {
				script := []scripted.Reply{
					scripted.Calls(scripted.Call("fail", `{"text":"Atlantis"}`, "1")), scripted.Text("It is sunny."),
					scripted.Text("I do not know."),
				}
				if c.attempts == 3 { // an attempt whose tool fails ends with nothing to say
					script = []scripted.Reply{
						scripted.Calls(scripted.Call("fail", `{"text":"Atlantis"}`, "1")), scripted.Text(""),
						scripted.Calls(scripted.Call("fail", `{"text":"Atlantis"}`, "2")), scripted.Text(""),
						scripted.Text("I do not know."),
					}
				}
				model := scripted.New(script...)
				o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: []tools.Tool{tool}, Default: retry.Name, Strategies: strategy.Set{
					retry.Name: retry.New(c.cfg), completetask.Name: completetask.New(completetask.Config{}),
				}})
				require.NoError(t, err)
				res, err := o.Run(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "The weather in Atlantis?"}})
				require.NoError(t, err)
				for _, r := range model.Requests() {
					goals = append(goals, spoken(r.Messages))
				}
				return goals, res.Output
			}
			mine, out := run(named(t, s, "fail"))
			same, want := run(failing)
			require.Equal(t, same, mine)
			require.Equal(t, want.Text(), out.Text())
			require.Equal(t, "I do not know.", out.Text())
			require.Contains(t, mine[len(mine)-1], "An earlier attempt at this failed")
			require.Len(t, lines(t, dir, "fail"), c.attempts-1)
		})
	}
}

// spoken returns what users and tools said.
func spoken(h messages.History) (text string) {
	for _, m := range h {
		switch m := m.(type) {
		case messages.User:
			text += fmt.Sprintf("user: %v\n", m)
		case messages.Tool:
			text += "tool: " + m.Output + "\n"
		}
	}
	return text
}

type cityError struct{ city string }

func (e *cityError) Error() string { return "no such city: " + e.city }

// The default strategy works with a server's tools, end to end, over all transports: results,
// failures, progress, and the end of a run that ends the server's work.
func TestS1_37_endToEnd(t *testing.T) {
	t.Parallel()
	for _, c := range transports() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := connect(t, c.config(t, dir))
			a := &segue.Agent{
				Model: scripted.New(
					scripted.Calls(scripted.Call("echo", `{"text":"hello"}`, "1")),
					scripted.Calls(scripted.Call("fail", `{"text":"Atlantis"}`, "2")),
					scripted.Text("It said hello, and failed."),
				),
				Tools: s.Tools(),
			}
			answer, err := a.Ask(t.Context(), "Try the tools.")
			require.NoError(t, err)
			require.Equal(t, "It said hello, and failed.", answer)
			require.Equal(t, []string{"Atlantis"}, lines(t, dir, "fail"))

			requireStopReaches(t, s, dir)
		})
	}
}

// requireStopReaches stops a run in the middle of a call.
func requireStopReaches(t *testing.T, s *mcptools.Toolset, dir string) {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Calls(scripted.Call("wait", "{}", "1")), scripted.Text("done")), Tools: s.Tools(),
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var once sync.Once
	var progress []string
	for e, err := range o.Stream(ctx, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}}) {
		if e.Kind == machine.EventToolProgress {
			progress = append(progress, e.Text)
			once.Do(stop)
		}
		if err != nil {
			require.ErrorIs(t, err, context.Canceled, "it is stopped when its progress is told")
		}
	}
	require.Equal(t, []string{"half done (1 of 2)"}, progress)
	require.Eventually(t, func() bool { return slices.Contains(lines(t, dir, "wait"), "cancelled") }, time.Minute, 10*time.Millisecond, "the cancellation reaches the server")
}
