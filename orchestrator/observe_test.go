package orchestrator_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

var _ expvar.Var = (*orchestrator.Counters)(nil)

func observing(observe func(context.Context, checkpoint.Key) orchestrator.Observation) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Observe = observe }
}

func countsOf(t *testing.T, c *orchestrator.Counters) (counts map[string]int) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(c.String()), &counts))
	for name, n := range counts {
		if n == 0 {
			delete(counts, name)
		}
	}
	return counts
}

// Runs are counted whoever reads their events, each thing once, also over a resume.
func TestCounters(t *testing.T) {
	var c orchestrator.Counters
	store := new(checkpoint.Memory)
	reply := scripted.Calls(question("Which?", "1"), scripted.Call("none", "{}", "2"))
	reply.Usage = messages.Usage{Input: 100, Output: 20}
	build := func(replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), stored(store), with(tools.AskUser()), observing(c.Observe))
	}
	res, err := build(reply).Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"started": 1, "waiting": 1, "steps": 1, "model_calls": 1, "tool_calls": 1, "failed_tools": 1, "waits": 1, "input_tokens": 100, "output_tokens": 20,
	}, countsOf(t, &c))
	_, err = all(t, build(scripted.Text("ok")).Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Text: "this"})))
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"started": 1, "resumed": 1, "waiting": 1, "done": 1, "steps": 3, "model_calls": 2, "tool_calls": 1, "failed_tools": 1, "waits": 1, "input_tokens": 100, "output_tokens": 20,
	}, countsOf(t, &c))
	_, err = all(t, build().Resume(t.Context(), resuming("r")))
	require.NoError(t, err)
	require.Equal(t, 1, countsOf(t, &c)["done"], "a run that has ended is not counted again")
	_, err = all(t, build().Resume(t.Context(), resuming("none")))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.Zero(t, c.Open.Load())
}

type observedKey struct{}

// The counters of a program are those of its Orchestrator.
func ExampleCounters() {
	var counters orchestrator.Counters
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("hello")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Observe:    counters.Observe,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}})
	fmt.Println(counters.Done.Load(), counters.Steps.Load(), err) // expvar.Publish("segue", &counters) shows them all
	// Output: 1 1 <nil>
}

// The observer's context reaches tools. Its events are those of the consumer, and End comes last,
// also when the consumer leaves.
func TestObserve(t *testing.T) {
	var log []string
	observe := func(ctx context.Context, key checkpoint.Key) orchestrator.Observation {
		log = append(log, key.String())
		return orchestrator.Observation{
			Context: context.WithValue(ctx, observedKey{}, "seen"),
			Event:   func(e machine.Event) { log = append(log, string(e.Kind)) },
			End:     func() { log = append(log, "end") },
		}
	}
	tool := tools.NewRaw(tools.Definition{Name: "look"}, func(ctx context.Context, _ string) (string, error) {
		value, _ := ctx.Value(observedKey{}).(string)
		return value, nil
	})
	build := func() *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("ok")), with(tool), observing(observe))
	}
	events, err := collect(t, build(), task("go"))
	require.NoError(t, err)
	want := []string{"r"}
	for _, kind := range kinds(events) {
		want = append(want, string(kind))
	}
	require.Equal(t, append(want, "end"), log)
	require.Contains(t, seen(t, events), `"output":"seen"`)

	log = nil
	_, err = build().Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Contains(t, log, "tool_finished", "Run makes the events too")

	log = nil
	for range build().Stream(t.Context(), task("go")) {
		break
	}
	require.Equal(t, []string{"r", "run_started", "end"}, log)
}

// An observer that panics ends its observation, not the run.
func TestObserve_panics(t *testing.T) {
	panics := 0
	observers := map[string]func(context.Context, checkpoint.Key) orchestrator.Observation{
		"observe": func(context.Context, checkpoint.Key) orchestrator.Observation { panic("x") },
		"event": func(context.Context, checkpoint.Key) orchestrator.Observation {
			return orchestrator.Observation{Event: func(machine.Event) { panic("x") }}
		},
		"end": func(context.Context, checkpoint.Key) orchestrator.Observation {
			return orchestrator.Observation{End: func() { panic("x") }}
		},
	}
	for name, observe := range observers {
		panics = 0
		o := solver(t, scripted.New(scripted.Text("ok")), observing(observe), func(c *orchestrator.Config) {
			c.OnPanic = func(_ context.Context, p machine.PanicReport) {
				require.Equal(t, "Config.Observe", p.Where)
				panics++
			}
		})
		_, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err, name)
		require.Equal(t, 1, panics, name)
	}
}
