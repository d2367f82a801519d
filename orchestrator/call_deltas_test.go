package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// writesCalls is a client that streams the calls of its replies byte by byte, pausing between.
func writesCalls(pause time.Duration) llmclient.Client {
	model := scripted.New(
		scripted.Calls(scripted.Call("a", `{"x":1}`, "1"), scripted.Call("b", `{}`, "2")),
	)
	return llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := model.Complete(ctx, req, onDelta)
		tell := llmclient.CallDeltas(ctx)
		if err != nil || tell == nil {
			return resp, err
		}
		for i, c := range resp.Message.Calls() {
			for _, b := range c.Arguments {
				<-time.After(pause)
				tell(llmclient.CallDelta{Index: i, Tool: c.Name, Text: string(b)})
			}
		}
		return resp, ctx.Err()
	})
}

func writing(t *testing.T, pause time.Duration, edit func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	cfg := orchestrator.Config{
		Client: writesCalls(pause), CallDeltas: true,
		Strategies: strategy.Set{"main": caller}, Tools: []tools.Tool{echo("a"), echo("b"), echo("t")},
	}
	edit(&cfg)
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

// Pieces of calls are events of the step that asks, whoever performs it, before the step is taken.
func TestStream_callDeltas(t *testing.T) {
	for name, edit := range map[string]func(*orchestrator.Config){
		"on the loop": func(*orchestrator.Config) {},
		"beside it": handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			return next(ctx, e)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			events := watched(t, writing(t, 0, edit), task("go"))
			joined, taken := map[machine.CallDelta]string{}, false
			for _, e := range events {
				if d, ok := e.Detail.(machine.CallDelta); ok {
					require.False(t, taken)
					require.Equal(t, machine.EventCallDelta, e.Kind)
					require.Equal(t, "0", e.Frame)
					require.Equal(t, 1, e.Seq)
					joined[d] += e.Text
				}
				taken = taken || e.Kind == machine.EventStepTaken
			}
			require.Equal(t, map[machine.CallDelta]string{{ToolName: "a"}: `{"x":1}`, {Index: 1, ToolName: "b"}: `{}`}, joined)
		})
	}
}

// Nobody hears of them who has not asked for them, and they show that the model is at work.
func TestStream_callDeltasAreAskedFor(t *testing.T) {
	events := watched(t, writing(t, 0, func(cfg *orchestrator.Config) { cfg.CallDeltas = false }), task("go"))
	require.NotContains(t, kinds(events), machine.EventCallDelta)

	synctest.Test(t, func(t *testing.T) {
		idle := func(cfg *orchestrator.Config) { cfg.Timeouts.ModelIdle = time.Second }
		watched(t, writing(t, 700*time.Millisecond, idle), task("go"))
	})
}
