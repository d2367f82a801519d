package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// twice has each effect of a kind performed a second time, and returns what the second time gave.
func twice(kind machine.EffectKind) func(*orchestrator.Config) {
	return handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.Kind == kind {
			_, _ = next(ctx, e)
		}
		return next(ctx, e)
	})
}

// A middleware may perform an effect again, but for a call that may have had its effect: that is
// made once, and what it left is unknown to a middleware that asks for it again.
func TestMiddleware_callsNextAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		def  tools.Definition
		made int32
		want messages.ToolOutput
	}{
		"read-only":  {tools.Definition{ReadOnly: true}, 2, messages.ToolOutput{Status: messages.StatusOK, Output: "did x"}},
		"idempotent": {tools.Definition{Idempotent: true}, 2, messages.ToolOutput{Status: messages.StatusOK, Output: "did x"}},
		"neither": {tools.Definition{}, 1, messages.ToolOutput{
			Status: messages.StatusUnknown, Reason: tools.ReasonError,
			Output: `orchestrator: the call "c0" of "x" was made already, and a tool that is neither read-only nor idempotent is called once`,
		}},
	} {
		for _, store := range []checkpoint.Store{nil, new(checkpoint.Memory)} {
			t.Run(fmt.Sprintf("%s, stored %v", name, store != nil), func(t *testing.T) {
				var made atomic.Int32
				tt.def.Name = "x"
				out := results(t, batchOf(t, callsTo("x"), []tools.Tool{counted("x", &made, tt.def)}, twice(machine.EffectTool), stored(store)))[0]
				require.Equal(t, tt.made, made.Load())
				require.Equal(t, tt.want, messages.ToolOutput{Status: out.Status, Reason: out.Reason, Output: out.Output})
			})
		}
	}
	t.Run("a model", func(t *testing.T) {
		res := ran(t, solver(t, scripted.New(scripted.Text("first"), scripted.Text("second")), twice(machine.EffectModel), stored(new(checkpoint.Memory))), task("go"))
		require.Equal(t, "second", res.Output.Text())
	})
}

// One approval is one payment: neither a middleware that calls next again, nor two goroutines of
// it, nor a resumed run makes a second of it.
func TestMiddleware_oneApprovalOnePayment(t *testing.T) {
	atTheSameTime := handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.Kind != machine.EffectTool {
			return next(ctx, e)
		}
		type result struct {
			answer nextstep.Answer
			err    error
		}
		ends := make(chan result, 2)
		for range 2 {
			go func() {
				answer, err := next(ctx, e)
				ends <- result{answer, err}
			}()
		}
		first, second := <-ends, <-ends
		if first.err != nil {
			first, second = second, first
		}
		require.NoError(t, first.err)
		require.Error(t, second.err)
		return first.answer, nil
	})
	for name, around := range map[string]func(*orchestrator.Config){"again": twice(machine.EffectTool), "at the same time": atTheSameTime} {
		t.Run(name, func(t *testing.T) {
			var paid atomic.Int32
			store := new(checkpoint.Memory)
			build := func() *orchestrator.Orchestrator {
				return batchOf(t, callsTo("pay"), []tools.Tool{counted("pay", &paid)}, stored(store), approving(orchestrator.ApprovalConfig{}), around)
			}
			res := ran(t, build(), task("go"))
			yes := machine.Reply{WaitID: res.Waits[0].ID, Approve: true}
			watchedOn(t, build(), "r", yes)
			require.EqualValues(t, 1, paid.Load())
			_, err := resumed(t, build(), "r", yes)
			require.Error(t, err, "the reply is used up")
			require.EqualValues(t, 1, paid.Load())
		})
	}
}

// A middleware asks a person with tools.Ask, in the process or when the run is resumed, and goes on
// with the answer: also about the request of a model.
func TestMiddleware_asks(t *testing.T) {
	careful := handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		word, err := tools.Ask(ctx, tools.Question{Text: "Shall " + string(e.Kind) + " " + e.ID.String() + " be done?"})
		if err != nil {
			return nil, err
		}
		if word != "yes" {
			return nil, errors.New("somebody said " + word)
		}
		return next(ctx, e)
	})
	var made atomic.Int32
	build := func(edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
		edit = append(edit, careful, with(counted("x", &made)))
		return solver(t, always(func(req *llmclient.Request) scripted.Reply {
			if _, ok := req.Messages.Last().(messages.Tool); ok {
				return scripted.Text("done")
			}
			return scripted.Calls(callsTo("x")...)
		}), edit...)
	}
	asked := 0
	res, err := build(replying(func(machine.Wait) (machine.Reply, error) {
		asked++
		return machine.Reply{Text: "yes"}, nil
	})).Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text())
	require.Equal(t, 3, asked)
	require.EqualValues(t, 1, made.Load())

	store := new(checkpoint.Memory)
	res = ran(t, build(stored(store)), task("go"))
	var questions []string
	for res.Status == machine.StatusWaiting {
		questions = append(questions, res.Waits[0].Text)
		res = goOn(t, build(stored(store)), "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "yes"})
	}
	require.Equal(t, []string{"Shall model 1 be done?", "Shall tool 2/1 be done?", "Shall model 3 be done?"}, questions)
	require.Equal(t, "done", res.Output.Text())
	require.EqualValues(t, 2, made.Load())
}

// burst is an error that wraps what suspends.
type burst struct{}

func (burst) Error() string { return "burst" }
func (burst) Unwrap() error { return tools.ErrSuspended }

// A panic fails its effect, whatever its value wraps: it suspends nothing.
func TestPanics_thatWrapErrSuspended(t *testing.T) {
	for _, value := range []any{burst{}, &orchestrator.SuspendedError{Waits: []machine.Wait{{Kind: "mine", Text: "A?"}}}} {
		for where, edit := range places(func() error { panic(value) }) {
			if where == "store" {
				continue // a store that fails interrupts the run
			}
			t.Run(fmt.Sprintf("%s: %T", where, value), func(t *testing.T) {
				res, err := staged(t, only(func() *scene { return &scene{} }), stored(new(checkpoint.Memory)), edit).Run(t.Context(), task("go"))
				require.Equal(t, machine.StatusFailed, res.Status)
				require.Equal(t, delegation.CodePanic, res.Output.Err.Code)
				require.Empty(t, res.Waits)
				require.Error(t, err)
			})
		}
	}
	t.Run("tool", func(t *testing.T) {
		out := results(t, batchOf(t, callsTo("x"), []tools.Tool{raw("x", func(context.Context, string) (string, error) { panic(burst{}) })}))[0]
		require.Equal(t, tools.ReasonPanic, out.Reason)
	})
	t.Run("reply", func(t *testing.T) {
		o := solver(t, scripted.New(scripted.Calls(question("A?", "1")), scripted.Text("done")), with(tools.AskUser()),
			replying(func(machine.Wait) (machine.Reply, error) { panic(burst{}) }))
		res := ran(t, o, task("go"))
		require.Equal(t, machine.StatusDone, res.Status)
		require.Equal(t, messages.StatusFailed, res.Output.ToolMetas()[0].Status)
	})
}
