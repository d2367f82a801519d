package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
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

// progressing is an echo that says that it is half way.
func progressing(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(ctx context.Context, args string) (string, error) {
		tools.Progress(ctx, "half way")
		return name + args, nil
	})
}
