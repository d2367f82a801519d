package crash_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// one returns a case with one call of a tool.
func one(tool tools.Tool) crash.Case {
	return of(strategy.Set{"main": worker}, []tools.Tool{tool}, scripted.Calls(call("c1", tool.Definition().Name)), scripted.Text("done"))
}

// finds holds the kit to find something, though not in the run that is not cut off.
func finds(t *testing.T, c crash.Case, what string) {
	t.Helper()
	c.Pairs = 1
	r := crash.Try(t, c)
	require.NotEmpty(t, r.Problems)
	require.NotEqual(t, "not cut off", r.Problems[0].Where)
	require.Contains(t, r.String(), what)
}

// clocked is a strategy that reads the clock, which it may not.
type clocked struct{ strategy.Defaults }

func (clocked) Initialize(in delegation.Input) nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(in.Goal)}}}
}

func (clocked) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: new(resp.Message.Text() + time.Now().Format(time.TimeOnly))}}
}

func TestFinds_clock(t *testing.T) {
	finds(t, of(strategy.Set{"main": func() strategy.Strategy { return clocked{} }}, nil, scripted.Text("it is ")), "it is 00:01:00")
}

// A tool that answers from what its process remembers answers otherwise after a crash.
func TestFinds_memory(t *testing.T) {
	model := scripted.New(scripted.Calls(call("c1", "count")), scripted.Calls(call("c2", "count")), scripted.Text("done"))
	finds(t, crash.Case{
		Config: func() orchestrator.Config {
			calls := 0
			count := tools.NewRaw(tools.Definition{Name: "count", ReadOnly: true}, func(context.Context, string) (string, error) {
				calls++
				return fmt.Sprint(calls), nil
			})
			return orchestrator.Config{Client: model, Strategies: strategy.Set{"main": worker}, Tools: []tools.Tool{count}}
		},
		Task: orchestrator.Task{Input: delegation.Input{Goal: "count"}},
	}, "the request 0#3 is another one")
}

// ledger is an account of the outside world.
type ledger struct {
	mu   sync.Mutex
	paid map[string]int
	all  int
}

// pay pays, once for each key if there is one.
func (l *ledger) pay(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key == "" || l.paid[key] == 0 {
		l.all++
	}
	l.paid[key]++
}

// paying is a case of one payment, by a tool that takes its idempotency key or does not.
func paying(def tools.Definition, key func(context.Context) string) crash.Case {
	var l ledger
	c := one(tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		l.pay(key(ctx))
		return "paid", nil
	}))
	c.Reset = func() { l.paid, l.all = map[string]int{}, 0 }
	c.Check = func() error {
		if l.all != 1 {
			return fmt.Errorf("there are %d payments", l.all)
		}
		return nil
	}
	return c
}

func none(context.Context) string { return "" }

func TestFinds_toolThatLies(t *testing.T) {
	finds(t, paying(tools.Definition{Name: "pay", Idempotent: true}, none), "Check: there are 2 payments")
	finds(t, paying(tools.Definition{Name: "pay", ReadOnly: true}, none), "Check: there are 2 payments")
	for _, c := range []crash.Case{
		paying(tools.Definition{Name: "pay", Idempotent: true}, tools.IdempotencyKey),
		paying(tools.Definition{Name: "pay"}, none), // a person is asked first
	} {
		c.Pairs = prove.CasesOr(1)
		crash.Test(t, c.Every(prove.DepthOr(5, 1)))
	}
}

// lossy is a store that says of an append that it is kept, and has forgotten it when the process
// dies: all but the first three records.
type lossy struct{ checkpoint.Store }

func (s lossy) Append(ctx context.Context, b checkpoint.Batch) error {
	if n := len(b.Records); n > 0 && b.Records[n-1].Seq > 3 {
		return nil
	}
	return s.Store.Append(ctx, b)
}

func (s lossy) Unwrap() checkpoint.Store { return s.Store }

// deaf is a store that takes the appends of everybody, and keeps those of the last writer.
type deaf struct{ checkpoint.Store }

func (s deaf) Append(ctx context.Context, b checkpoint.Batch) error {
	if err := s.Store.Append(ctx, b); !errors.Is(err, checkpoint.ErrConflict) {
		return err
	}
	return nil
}

func (s deaf) Unwrap() checkpoint.Store { return s.Store }

func TestFinds_store(t *testing.T) {
	r := crash.Try(t, one(pay).On(func(s checkpoint.Store) checkpoint.Store { return lossy{s} }))
	require.Contains(t, r.String(), "the store holds 3 records, and was given")
	finds(t, one(pay).On(func(s checkpoint.Store) checkpoint.Store { return deaf{s} }), "was stored behind record")
}

// flaky is a store that fails for a moment: every other append is made in vain first.
type flaky struct {
	checkpoint.Store
	failed *atomic.Bool
}

func (s flaky) Append(ctx context.Context, b checkpoint.Batch) error {
	if len(b.Records) > 0 && s.failed.CompareAndSwap(false, true) {
		return errors.New("connection reset")
	}
	s.failed.Store(false)
	return s.Store.Append(ctx, b)
}

func (s flaky) Unwrap() checkpoint.Store { return s.Store }

// A store that fails for a moment changes nothing. Only a process that was frozen has no patience
// left when it wakes, and says so instead of that the run was taken over.
func TestStore_flaky(t *testing.T) {
	c := one(pay)
	c.Pairs = prove.CasesOr(2)
	c = c.On(func(s checkpoint.Store) checkpoint.Store { return flaky{s, new(atomic.Bool)} })
	r := crash.Try(t, c.Every(prove.DepthOr(4, 1)))
	for _, p := range r.Problems {
		require.Regexp(t, "^frozen at ", p.Where, p.What)
		require.Contains(t, p.What, "connection reset")
	}
	require.Positive(t, r.Cuts)
}
