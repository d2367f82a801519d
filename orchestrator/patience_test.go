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

// slowDisk is a store that takes a while for a record, and gives up when its context ends, as a
// database driver does.
type slowDisk struct {
	checkpoint.Memory
	takes  time.Duration
	record int    // the place of the record that it is slow about
	begun  func() // is called when it begins
}

func (d *slowDisk) Append(ctx context.Context, b checkpoint.Batch) error {
	if len(b.Records) == 0 || b.Records[0].Seq != d.record {
		return d.Memory.Append(ctx, b)
	}
	d.begun()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d.takes):
		return d.Memory.Append(ctx, b)
	}
}

// A run that is cancelled while its store takes the result of a tool keeps the result: the store is
// left to finish, and who resumes the run does not have the effect again.
func TestStore_finishesThoughTheRunIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		disk := &slowDisk{takes: 5 * time.Second, record: 4, begun: func() { time.AfterFunc(time.Second, cancel) }}
		var effects atomic.Int32
		model := scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done"))
		o := solver(t, model, stored(disk), with(counted("pay", &effects)))
		began := time.Now()
		res, err := o.Run(ctx, task("go"))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, machine.StatusStopped, res.Status)
		require.Equal(t, "did pay", res.Output.ToolMetas()[0].Output)
		require.Equal(t, 5*time.Second, time.Since(began))

		_, err = resumed(t, o, "r")
		require.Error(t, err, "it was stopped, and tells that again")
		require.EqualValues(t, 1, effects.Load())
	})
}

// A store is not waited for without end: ten seconds after the run was cancelled its context ends,
// too.
func TestStore_patienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		disk := &slowDisk{takes: time.Hour, record: 4, begun: func() { time.AfterFunc(time.Second, cancel) }}
		var effects atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"))), stored(disk), with(counted("pay", &effects)))
		began := time.Now()
		res, err := o.Run(ctx, task("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
		require.Equal(t, "did pay", res.Output.ToolMetas()[0].Output, "what could not be stored is told")
		require.Equal(t, 11*time.Second, time.Since(began))
	})
}

// asking is a store that looks into the contexts it is given.
type asking struct {
	checkpoint.Memory
	found []any
}

type tenantKey struct{}

func (a *asking) Append(ctx context.Context, b checkpoint.Batch) error {
	a.found = append(a.found, ctx.Value(tenantKey{}))
	return a.Memory.Append(ctx, b)
}

// A store is given the values of the run's context, whose end it is not given.
func TestStore_valuesOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), tenantKey{}, "acme"))
	store := new(asking)
	cancel()
	_, err := solver(t, scripted.New(), stored(store)).Run(ctx, task("go"))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []any{"acme", "acme"}, store.found)
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
