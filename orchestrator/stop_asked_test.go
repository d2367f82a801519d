package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A tool that has its answer when the run is stopped goes on with it to its end: its result stands
// in the history.
func TestStop_answeredTool(t *testing.T) {
	for _, parallel := range []int{0, 1} {
		tool := tools.NewRaw(tools.Definition{Name: "order"}, func(ctx context.Context, _ string) (string, error) {
			return tools.Ask(ctx, tools.Question{Text: "which?"})
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("order", "{}", "1"))), with(tool), func(c *orchestrator.Config) {
			c.Parallel = parallel
			c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
				return machine.Reply{Text: "the red one"}, nil
			}
		})
		end := stoppedAt(t, o, task("go"), isKind(machine.EventWaitEnded))
		require.Equal(t, machine.StatusStopped, end.Status)
		require.Equal(t, "the red one", end.Output.ToolMetas()[0].Output)
	}
}

// A tool that asks at the moment at which the run is stopped is told so, although nobody was asked
// yet.
func TestStop_toolThatAsks(t *testing.T) {
	tool := tools.NewRaw(tools.Definition{Name: "order"}, func(ctx context.Context, _ string) (string, error) {
		_, err := tools.Ask(ctx, tools.Question{Text: "which?"})
		return "", err
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("order", "{}", "1"))), with(tool), func(c *orchestrator.Config) {
		c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
			t.Error("a person is asked after the stop")
			return machine.Reply{}, nil
		}
	})
	end := stoppedAt(t, o, task("go"), isKind(machine.EventWaitStarted))
	require.Equal(t, machine.StatusStopped, end.Status)
	require.Contains(t, end.Output.ToolMetas()[0].Output, "stop was asked for")
}

// Nobody is asked in the process about what the replies of the resumption have answered.
func TestResume_repliesAreNotAskedFor(t *testing.T) {
	store := new(checkpoint.Memory)
	var asked atomic.Int32
	build := func(says scripted.Reply, reply func(context.Context, machine.Wait) (machine.Reply, error)) *orchestrator.Orchestrator {
		return solver(t, scripted.New(says), with(echo("a")), stored(store), func(c *orchestrator.Config) {
			c.Approve, c.Reply = &orchestrator.ApprovalConfig{Default: machine.AskAlways}, reply
		})
	}
	first := ran(t, build(scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("a", "{}", "2")), nil), task("go"))
	require.Len(t, first.Waits, 2)
	o := build(scripted.Text("done"), func(_ context.Context, w machine.Wait) (machine.Reply, error) {
		asked.Add(1)
		require.Equal(t, first.Waits[1].ID, w.ID)
		return machine.Reply{Approve: true}, nil
	})
	how := orchestrator.Resumption{Run: "r", Replies: []machine.Reply{{WaitID: first.Waits[0].ID, Approve: true}}}
	res, err := orchestrator.Collect(o.Resume(t.Context(), how))
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text())
	require.EqualValues(t, 1, asked.Load())
}
