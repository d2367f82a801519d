package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// solver is an Orchestrator of one complete-task strategy over a client.
func solver(t *testing.T, client llmclient.Client, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	cfg := orchestrator.Config{Client: client, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}}
	for _, e := range edit {
		e(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

// scriptedBy returns what makes an Orchestrator whose model says these replies.
func scriptedBy(t *testing.T, edit ...func(*orchestrator.Config)) func(...scripted.Reply) *orchestrator.Orchestrator {
	t.Helper()
	return func(replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), edit...)
	}
}

func with(list ...tools.Tool) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Tools = append(c.Tools, list...) }
}

func task(goal string) orchestrator.Task {
	return orchestrator.Task{Run: "r", Input: delegation.Input{Goal: goal}}
}

func echo(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(_ context.Context, args string) (string, error) { return name + args, nil })
}

// collect runs a task through Stream and returns its events and error.
func collect(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task) ([]machine.Event, error) {
	t.Helper()
	return all(t, o.Stream(t.Context(), ta))
}

// ran runs a task without an error.
func ran(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task) orchestrator.Result {
	t.Helper()
	res, err := o.Run(t.Context(), ta)
	require.NoError(t, err)
	return res
}

// watched is collect without an error.
func watched(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task) []machine.Event {
	t.Helper()
	events, err := collect(t, o, ta)
	require.NoError(t, err)
	return events
}

// details returns what events of one kind say.
func details[D machine.Detail](events []machine.Event) (list []D) {
	for _, e := range events {
		if d, ok := e.Detail.(D); ok {
			list = append(list, d)
		}
	}
	return list
}

// stoppedAt streams a task that is asked to stop at an event, and returns its last one.
func stoppedAt(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task, at func(machine.Event) bool) (end machine.RunFinished) {
	t.Helper()
	stop := make(chan struct{})
	ta.Stop = stop
	for e := range o.Stream(t.Context(), ta) {
		if at(e) {
			close(stop)
		}
		end, _ = e.Detail.(machine.RunFinished)
	}
	return end
}

func isKind(kind machine.EventKind) func(machine.Event) bool {
	return func(e machine.Event) bool { return e.Kind == kind }
}

func kinds(events []machine.Event) []machine.EventKind {
	var list []machine.EventKind
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

func finished(t *testing.T, events []machine.Event) machine.RunFinished {
	t.Helper()
	require.NotEmpty(t, events)
	end, ok := events[len(events)-1].Detail.(machine.RunFinished)
	require.True(t, ok, "the last event is %s", events[len(events)-1].Kind)
	return end
}

// timeless is an output without what differs from run to run.
func timeless(out delegation.Output) delegation.Output {
	out.Elapsed = 0
	if out.Err != nil {
		out.Err = &delegation.Error{Code: out.Err.Code, Message: out.Err.Message}
	}
	for i, m := range out.Messages {
		if tool, ok := m.(messages.Tool); ok {
			tool.Elapsed = 0
			out.Messages[i] = tool
		}
	}
	return out
}
