package orchestrator_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// A run that is cancelled while its store takes the result of a tool keeps the result: the store is
// left to finish, and who resumes the run does not have the effect again. It is not waited for
// without end: ten seconds after the run was cancelled its context ends, too, and what could not be
// stored is told.
func TestStore_finishesThoughTheRunIsCancelled(t *testing.T) {
	for takes, want := range map[time.Duration]struct {
		after time.Duration
		err   error
		code  delegation.Code
	}{
		5 * time.Second: {5 * time.Second, context.Canceled, delegation.CodeStopped},
		time.Hour:       {11 * time.Second, context.DeadlineExceeded, delegation.CodeStorage},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			disk := troubledBy(func(ctx context.Context, method string, b *checkpoint.Batch) error {
				if method != "Append" || len(b.Records) == 0 || b.Records[0].Seq != 4 {
					return nil
				}
				time.AfterFunc(time.Second, cancel)
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(takes):
					return nil
				}
			})
			var effects atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), stored(disk), with(counted("pay", &effects)))
			began := time.Now()
			res, err := o.Run(ctx, task("go"))
			require.ErrorIs(t, err, want.err)
			require.Equal(t, want.code, res.Output.Err.Code)
			require.Equal(t, "did pay", res.Output.ToolMetas()[0].Output)
			require.Equal(t, want.after, time.Since(began))
			if want.code == delegation.CodeStopped {
				require.Equal(t, machine.StatusStopped, res.Status)
				_, err = resumed(t, o, "r")
				require.Error(t, err, "it was stopped, and tells that again")
			}
			require.EqualValues(t, 1, effects.Load())
		})
	}
}

type tenantKey struct{}

// A store is given the values of the run's context, whose end it is not given.
func TestStore_valuesOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), tenantKey{}, "acme"))
	var found []any
	store := troubledBy(func(ctx context.Context, method string, _ *checkpoint.Batch) error {
		if method == "Append" {
			found = append(found, ctx.Value(tenantKey{}))
		}
		return nil
	})
	cancel()
	_, err := solver(t, scripted.New(), stored(store)).Run(ctx, task("go"))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []any{"acme", "acme"}, found)
}

// A step that has no JSON form is a defect of its strategy, found before anybody performs it, and
// only where there is a journal to name it. It is found alike when the run is resumed.
func TestStore_stepWithoutJSON(t *testing.T) {
	endless := func() *scene {
		return &scene{Start: func(delegation.Input) nextstep.NextStep {
			step := ask("x").(nextstep.GetChatCompletion)
			nan := math.NaN()
			step.Request.Temperature = &nan
			return step
		}}
	}
	asked := 0
	model := withClient(func(*llmclient.Request) (*llmclient.Response, error) {
		asked++
		return said("x").Response, nil
	})
	store := new(checkpoint.Memory)
	o := staged(t, only(endless), model, stored(store))
	res, err := o.Run(t.Context(), task("go"))
	require.ErrorContains(t, err, `strategy "main": get_chat_completion has no JSON form`)
	var defect *machine.StrategyError
	require.ErrorAs(t, err, &defect)
	var journal *orchestrator.JournalError
	require.False(t, errors.As(err, &journal), "nothing is wrong with the store")
	require.Equal(t, delegation.CodeInvalid, res.Output.Err.Code)
	_, err = resumed(t, o, "r")
	require.ErrorAs(t, err, &defect)
	require.Zero(t, asked)

	ran(t, staged(t, only(endless), model), task("go"))
	require.Equal(t, 1, asked)
}
