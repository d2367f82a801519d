package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

func observing(observe func(context.Context, checkpoint.Key) orchestrator.Observation) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Observe = observe }
}

type observedKey struct{}

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
	events := watched(t, build(), task("go"))
	want := []string{"r"}
	for _, kind := range kinds(events) {
		want = append(want, string(kind))
	}
	require.Equal(t, append(want, "end"), log)
	require.Contains(t, seen(t, events), `"output":"seen"`)

	log = nil
	ran(t, build(), task("go"))
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
