package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

const whoDeploys = "The server \"test\" asks, for a call of deploy: Who deploys?\n- name (string)"

// process is what a process of its own would have: its connection and its orchestrator.
func process(t *testing.T, cfg mcptools.Config, store checkpoint.Store, reply func(context.Context, machine.Wait) (machine.Reply, error), script ...scripted.Reply) *orchestrator.Orchestrator {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(script...), Tools: connect(t, cfg).Tools(), Store: store, Reply: reply,
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	return o
}

func deployment() scripted.Reply { return scripted.Calls(scripted.Call("deploy", "{}", "1")) }

func goTask() orchestrator.Task {
	return orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}}
}

func resumed(t *testing.T, o *orchestrator.Orchestrator, replies ...machine.Reply) orchestrator.Result {
	t.Helper()
	res, err := orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: replies}))
	require.NoError(t, err)
	return res
}

// The question of a stateless server is a wait: another process finishes the call after the reply.
// An answer that does not fit is asked for again.
func TestElicit_anotherProcess(t *testing.T) {
	for _, c := range transports() {
		if c.protocol != "2026-07-28" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cfg := c.config(t, dir)
			store := new(checkpoint.Memory)
			res, err := process(t, cfg, store, nil, deployment()).Run(t.Context(), goTask())
			require.NoError(t, err)
			require.Equal(t, machine.StatusWaiting, res.Status)
			require.Len(t, res.Waits, 1)
			require.Equal(t, whoDeploys, res.Waits[0].Text)

			res = resumed(t, process(t, cfg, store, nil), machine.Reply{WaitID: res.Waits[0].ID, Text: "Al"})
			require.Equal(t, machine.StatusWaiting, res.Status)
			require.Contains(t, res.Waits[0].Text, "The last answer did not fit: /name has 2 characters, want at least 3")

			res = resumed(t, process(t, cfg, store, nil, scripted.Text("done")), machine.Reply{WaitID: res.Waits[0].ID, Text: "Ada"})
			require.Equal(t, machine.StatusDone, res.Status)
			require.Equal(t, "deployed by Ada (state-1)", res.Output.ToolMetas()[0].Output)
			require.Equal(t, []string{"Ada"}, lines(t, dir, "deployed"))
			require.Equal(t, []string{"deploy ", "deploy state-1"}, lines(t, dir, "calls"))
		})
	}
}

// Where people can be asked in this process, the call goes on in it, whatever the server speaks.
func TestElicit_sameProcess(t *testing.T) {
	t.Parallel()
	for _, c := range transports() {
		for name, e := range map[string]struct {
			reply machine.Reply
			want  string
		}{
			"accepted": {machine.Reply{Text: `{"name":"Ada"}`}, "deployed by Ada (state-1)"},
			"declined": {machine.Reply{Reason: "not today"}, "not deployed: decline"},
		} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				o := process(t, c.config(t, dir), nil, func(_ context.Context, w machine.Wait) (machine.Reply, error) {
					require.Equal(t, whoDeploys, w.Text)
					return e.reply, nil
				}, deployment(), scripted.Text("done"))
				res, err := o.Run(t.Context(), goTask())
				require.NoError(t, err)
				require.Equal(t, e.want, res.Output.ToolMetas()[0].Output)
			})
		}
	}
}

// A question that nobody answers is cancelled for the server.
func TestElicit_nobodyAnswers(t *testing.T) {
	o := process(t, stdio("server")(t, t.TempDir()), nil, func(context.Context, machine.Wait) (machine.Reply, error) {
		return machine.Reply{}, errors.New("the telephone is broken")
	}, deployment(), scripted.Text("done"))
	res, err := o.Run(t.Context(), goTask())
	require.NoError(t, err)
	require.Equal(t, "not deployed: cancel", res.Output.ToolMetas()[0].Output)
}

// A server with sessions asks within the call. If nobody can answer in this process, it is told so:
// the call might have had an effect by then, and is not made again. A tool of which the
// configuration says that this does no harm waits.
func TestElicit_sessionWithoutAnybody(t *testing.T) {
	cfg := stdio("server")(t, t.TempDir())
	cfg.Protocol = "2025-11-25"
	store := new(checkpoint.Memory)
	res, err := process(t, cfg, store, nil, deployment(), scripted.Text("done")).Run(t.Context(), goTask())
	require.NoError(t, err)
	require.Equal(t, "not deployed: cancel", res.Output.ToolMetas()[0].Output)

	cfg.Safety = map[string]mcptools.Safety{"deploy": {Idempotent: true}}
	store = new(checkpoint.Memory)
	res, err = process(t, cfg, store, nil, deployment()).Run(t.Context(), goTask())
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Equal(t, whoDeploys, res.Waits[0].Text)
	res = resumed(t, process(t, cfg, store, nil, scripted.Text("done")), machine.Reply{WaitID: res.Waits[0].ID, Text: "Ada"})
	require.Equal(t, "deployed by Ada (state-1)", res.Output.ToolMetas()[0].Output)
}

// The state of a call of another tool, server or release is not taken for one of this tool.
func TestElicit_wrongState(t *testing.T) {
	s := connect(t, stdio("server")(t, t.TempDir()))
	running := toolrun.Runner{}.Begin(t.Context(), toolrun.Job{
		Call: messages.ToolCall{ID: "1", Name: "deploy"}, Tool: named(t, s, "deploy"),
		Ask: func(context.Context, tools.Asked) (string, error) { return "", tools.ErrSuspended },
	})
	require.Equal(t, tools.ReasonSuspended, running.Perform().Reason)
	left, ok := running.Suspended()
	require.True(t, ok)
	answers := []tools.Answer{{Text: "Ada"}}
	for name, r := range map[string]*tools.Resumption{
		"of a newer release": {}, "not ours": {State: json.RawMessage(`{"v":1}`), Answers: answers}, "other answers": {State: left.State},
		"another version": {State: json.RawMessage(`{"v":2,"server":"test","tool":"deploy"}`)},
	} {
		out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{Call: messages.ToolCall{ID: "1", Name: "deploy"}, Tool: named(t, s, "deploy"), Resumption: r})
		require.Contains(t, out.Output, "the state of the suspended call is not one of this tool", name)
	}
	for _, other := range []string{"echo", "pay"} {
		args := map[string]string{"echo": `{"text":"a"}`, "pay": `{"amount":1}`}[other]
		out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{
			Call: messages.ToolCall{ID: "1", Name: other, Arguments: args}, Tool: named(t, s, other), Resumption: &tools.Resumption{State: left.State, Answers: answers},
		})
		require.Contains(t, out.Output, "is not one of this tool")
	}
	out := call(t.Context(), named(t, s, "deploy"), "")
	require.Contains(t, out.Output, `the server "test" asks a question, and there is nobody to ask here`)
}

// The time of people is not the server's.
func TestElicit_time(t *testing.T) {
	cfg := stdio("server")(t, t.TempDir())
	cfg.Protocol, cfg.CallTimeout = "2025-11-25", 300*time.Millisecond
	o := process(t, cfg, nil, func(context.Context, machine.Wait) (machine.Reply, error) {
		time.Sleep(600 * time.Millisecond)
		return machine.Reply{Text: "Ada"}, nil
	}, deployment(), scripted.Text("done"))
	res, err := o.Run(t.Context(), goTask())
	require.NoError(t, err)
	require.Equal(t, "deployed by Ada (state-1)", res.Output.ToolMetas()[0].Output)
}
