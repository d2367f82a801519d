package orchestrator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Events that tools cause from their own goroutines arrive while the tools run, on the goroutine of
// the loop.
func TestEmit_whileToolsRun(t *testing.T) {
	var outer context.Context
	seen := make(chan struct{})
	noisy := tools.NewRaw(tools.Definition{Name: "noisy"}, func(context.Context, string) (string, error) {
		orchestrator.Emit(outer, machine.Event{Kind: "note", Text: "hello"})
		<-seen
		return "ok", nil
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("noisy", "{}", "1")), scripted.Text("done")), with(noisy), handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		outer = ctx
		return next(ctx, e)
	}))
	for e, err := range o.Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		if e.Kind == "note" {
			require.Equal(t, "hello", e.Text)
			require.Equal(t, 2, e.Seq)
			close(seen) // the tool waits for this: the event came while it ran
		}
	}
}

// S3-5: the calls of a batch run at the same time; one that fails touches no other, and the results
// come in call order.
func TestS3_5_parallel(t *testing.T) {
	second := make(chan struct{})
	list := []tools.Tool{
		tools.NewRaw(tools.Definition{Name: "first"}, func(context.Context, string) (string, error) {
			<-second // only ends while the other runs too
			return "1", nil
		}),
		tools.NewRaw(tools.Definition{Name: "second"}, func(context.Context, string) (string, error) {
			close(second)
			return "", errors.New("no luck")
		}),
	}
	res := ran(t, solver(t, scripted.New(scripted.Calls(scripted.Call("first", "", "a"), scripted.Call("second", "", "b")), scripted.Text("done")), with(list...)), task("go"))
	metas := res.Output.ToolMetas()
	require.Equal(t, "1", metas[0].Output)
	require.Equal(t, messages.StatusFailed, metas[1].Status)
	require.Contains(t, metas[1].Output, "no luck")
}

// progressing is an echo that says that it is half way.
func progressing(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(ctx context.Context, args string) (string, error) {
		tools.Progress(ctx, "half way")
		return name + args, nil
	})
}
