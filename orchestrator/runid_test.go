package orchestrator_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// strict is a store that notes every id that it is handed, good or bad.
type strict struct {
	checkpoint.Memory
	mu     sync.Mutex
	handed []string
}

func (s *strict) Append(ctx context.Context, run string, records ...checkpoint.Record) error {
	s.mu.Lock()
	s.handed = append(s.handed, run)
	s.mu.Unlock()
	return s.Memory.Append(ctx, run, records...)
}

var badIDs = map[string]string{
	"long": strings.Repeat("x", 513), "NUL": "a\x00b", "not UTF-8": "a\xff", "nothing but NUL": "\x00",
}

// The id of a task's run is one that every store takes, or the task is refused before anything
// happens, with or without a store.
func TestRunID_ofTask(t *testing.T) {
	for name, id := range badIDs {
		for _, store := range []checkpoint.Store{nil, new(strict)} {
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
			require.Equal(t, "Run", config.Field)
			require.ErrorIs(t, err, checkpoint.ErrRunID)
			require.Equal(t, []orchestrator.EventKind{""}, kinds(events))
			require.Zero(t, asked)
			if s, ok := store.(*strict); ok {
				require.Empty(t, s.handed)
				_, err = resumed(t, o, id)
				require.ErrorIs(t, err, checkpoint.ErrNotFound, "nothing can be kept under it")
			}
		}
	}
}

// Agents have runs whose ids every store takes, whatever ids a provider gives to calls, and however
// deep agents stand. Two calls never have one run.
func TestRunID_ofAgents(t *testing.T) {
	sum := sha256.Sum256([]byte("a/2/b"))
	posing := "~" + hex.EncodeToString(sum[:16]) // as what stands for that id
	calls := []string{"c1", "a/2/b", posing, strings.Repeat("é", 300), "a\xff", "a\x00b", "x/1", "x", " "}
	var content []messages.AssistantContent
	for _, id := range calls {
		content = append(content, messages.ToolCall{ID: id, Name: "sub", Arguments: `{"goal":"g"}`})
	}
	content = append(content, messages.ToolCall{ID: "f", Name: "sub", Arguments: `{"goals":["g","h"]}`})
	store := new(strict)
	sub := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub", Sequential: true}, Strategy: "sub", FanOut: true})
	o := staged(t, map[string]func() *scene{"main": payer("sub"), "sub": func() *scene { return &scene{} }}, with(sub), stored(store),
		func(c *orchestrator.Config) { c.Parallel = 1 },
		withClient(func(req *llmclient.Request) (*llmclient.Response, error) {
			if len(req.Tools) > 0 {
				return &llmclient.Response{Message: messages.Assistant{Content: content}}, nil
			}
			return said("x").Response, nil
		}))
	ta := task("go")
	ta.Run = strings.Repeat("r", 512)
	for _, run := range []string{"r", ta.Run} {
		store.handed, ta.Run = nil, run
		res, err := o.Run(t.Context(), ta)
		require.NoError(t, err)
		for _, meta := range res.Output.ToolMetas() {
			require.Equal(t, messages.StatusOK, meta.Status, meta.Output)
		}
		slices.Sort(store.handed)
		ids := slices.Compact(store.handed)
		require.Len(t, ids, 1+len(calls)+2)
		for _, id := range ids {
			require.NoError(t, checkpoint.CheckRun(id))
		}
		if run == "r" {
			require.Contains(t, ids, "r/2/c1")
			require.Contains(t, ids, "r/2/f/2")
		}
	}
}

// A parent that is resumed finds the run of an agent again whose call had an id that could not
// stand in it, though the journal gives the id back as UTF-8.
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
			res, err := build().Run(t.Context(), task("go"))
			require.NoError(t, err)
			require.Equal(t, orchestrator.StatusWaiting, res.Status)
			res, err = orchestrator.Fold(build().Resume(t.Context(), "r", orchestrator.Reply{WaitID: res.Waits[0].ID, Text: "yes"}))
			require.NoError(t, err)
			require.Equal(t, "did pay", res.Output.Text())
			require.EqualValues(t, 1, effects.Load())
		})
	}
}

// An id that is taken is told as that, and what to do; not as a record out of place.
func TestRunID_taken(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("done")), stored(store))
	_, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	_, err = o.Run(t.Context(), task("go"))
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
		if e.Kind != orchestrator.EventRunStarted {
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
