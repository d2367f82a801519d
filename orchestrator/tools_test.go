package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Tools that misbehave are failed results; the run goes on.
func TestBadTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		list := []tools.Tool{
			tools.NewRaw(tools.Definition{Name: "panics"}, func(context.Context, string) (string, error) { panic("oops") }),
			tools.NewRaw(tools.Definition{Name: "hangs"}, func(context.Context, string) (string, error) { <-release; return "late", nil }),
			tools.NewRaw(tools.Definition{Name: "huge"}, func(context.Context, string) (string, error) { return strings.Repeat("x", 100<<20), nil }),
		}
		calls := scripted.Calls(scripted.Call("panics", "{}", "1"), scripted.Call("hangs", "{}", "2"), scripted.Call("huge", "{}", "3"))
		res, err := solver(t, scripted.New(calls, scripted.Text("done")), with(list...)).Run(t.Context(), task("go"))
		require.NoError(t, err)
		require.Equal(t, "done", res.Output.Text())
		metas := res.Output.ToolMetas()
		require.Equal(t, "panic", metas[0].Reason)
		require.Equal(t, messages.StatusFailed, metas[0].Status)
		require.Equal(t, "timeout", metas[1].Reason)
		require.Equal(t, messages.StatusUnknown, metas[1].Status, "it is not read-only: it may have had its effect")
		require.Less(t, len(metas[2].Output), 300<<10)
		close(release)
		synctest.Wait()
	})
}

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

// S0-6: arguments that cannot be used never reach the tool; the model is told everything that is
// wrong, and the run goes on.
func TestS0_6_badArguments(t *testing.T) {
	type in struct {
		Path string `json:"path"`
		Line int    `json:"line,omitempty"`
	}
	for name, test := range map[string]struct {
		args string
		want []string
	}{
		"cut":        {`{"path": `, []string{"not JSON"}},
		"wrong type": {`{"path": 3, "line": "x"}`, []string{"/path", "/line"}},
		"extra":      {`{"path": "a", "mode": 1}`, []string{"mode"}},
		"missing":    {`{}`, []string{"path"}},
		"10 MiB":     {`{"path": "` + strings.Repeat("x", 10<<20) + `"}`, []string{"bytes"}},
		"deep":       {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), []string{"deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			read := tools.New(tools.Definition{Name: "read_file"}, func(context.Context, in) (string, error) {
				t.Error("the tool ran")
				return "", nil
			})
			res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("read_file", test.args, "c1")), scripted.Text("done")), with(read)).Run(t.Context(), task("go"))
			require.NoError(t, err)
			require.Equal(t, "done", res.Output.Text())
			meta := res.Output.ToolMetas()[0]
			require.Equal(t, messages.StatusFailed, meta.Status)
			require.Equal(t, "arguments", meta.Reason)
			require.Less(t, len(meta.Output), 500)
			for _, w := range test.want {
				require.Contains(t, meta.Output, w)
			}
		})
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
	res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("first", "", "a"), scripted.Call("second", "", "b")), scripted.Text("done")), with(list...)).Run(t.Context(), task("go"))
	require.NoError(t, err)
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
