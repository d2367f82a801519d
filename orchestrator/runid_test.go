package orchestrator_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

var badIDs = map[string]string{
	"long": strings.Repeat("x", 513), "NUL": "a\x00b", "not UTF-8": "a\xff", "nothing but NUL": "\x00",
}

// The id of a task's run is one that every store takes, or the task is refused before anything
// happens, with or without a store.
func TestRunID_ofTask(t *testing.T) {
	for name, id := range badIDs {
		for _, store := range []checkpoint.Store{nil, failsFrom(1, func() error { t.Errorf("the id of %s is handed to the store", name); return nil })} {
			asked := 0
			o := staged(t, only(func() *scene { return &scene{} }), stored(store), withClient(func(*llmclient.Request) (*llmclient.Response, error) {
				asked++
				return said("x").Response, nil
			}))
			ta := task("go")
			ta.Run = id
			events, err := collect(t, o, ta)
			var config *orchestrator.ConfigError
			require.ErrorAs(t, err, &config, name)
			require.Equal(t, "Task.Run", config.Field)
			require.ErrorIs(t, err, checkpoint.ErrID)
			require.Equal(t, []machine.EventKind{""}, kinds(events))
			require.Zero(t, asked)
			if store != nil {
				_, err = resumed(t, o, id)
				require.ErrorIs(t, err, checkpoint.ErrNotFound, "nothing can be kept under it")
			}
		}
	}
}

// A run that is resumed finds the branch of an agent again whose call had an odd id, though the
// journal gives the id back as UTF-8.
func TestRunID_ofAgentsResumed(t *testing.T) {
	for name, id := range badIDs {
		t.Run(name, func(t *testing.T) {
			store := new(checkpoint.Memory)
			var effects atomic.Int32
			sub := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "sub"})
			build := func() *orchestrator.Orchestrator {
				return staged(t, map[string]func() *scene{"main": payer("sub"), "sub": payer("pay", tools.AskUserName)}, with(sub, counted("pay", &effects), tools.AskUser()), stored(store),
					withClient(func(req *llmclient.Request) (*llmclient.Response, error) {
						calls := []messages.AssistantContent{messages.ToolCall{ID: "1", Name: "pay"}, question("A?", "2")}
						if req.Tools[0].Name == "sub" {
							calls = []messages.AssistantContent{messages.ToolCall{ID: id, Name: "sub", Arguments: `{"goal":"g"}`}}
						}
						return &llmclient.Response{Message: messages.Assistant{Content: calls}}, nil
					}))
			}
			res := ran(t, build(), task("go"))
			require.Equal(t, machine.StatusWaiting, res.Status)
			res = goOn(t, build(), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "yes"})
			require.Equal(t, "did pay", res.Output.Text())
			require.EqualValues(t, 1, effects.Load())
		})
	}
}

// An id that is taken is told as that, and what to do; not as a record out of place.
func TestRunID_taken(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("done")), stored(store))
	ran(t, o, task("go"))
	_, err := o.Run(t.Context(), task("go"))
	var exists *orchestrator.RunExistsError
	require.ErrorAs(t, err, &exists)
	require.EqualError(t, err, `orchestrator: run "r" exists already; Resume it, or choose another id`)
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	require.False(t, exists.InProgress)

	ends := solver(t, scripted.New(scripted.Text("done")), stored(store))
	ta := task("go")
	ta.Run = "busy"
	for e, err := range ends.Stream(t.Context(), ta) {
		require.NoError(t, err)
		if e.Kind != machine.EventRunStarted {
			continue
		}
		_, again := ends.Run(t.Context(), ta)
		_, resume := resumed(t, ends, "busy")
		for _, err := range []error{again, resume} {
			require.ErrorAs(t, err, &exists)
			require.True(t, exists.InProgress)
			require.ErrorIs(t, err, checkpoint.ErrConflict)
			require.Equal(t, `orchestrator: run "busy" is in progress; wait until it has ended, or choose another id`, fmt.Sprint(err))
		}
	}
}
