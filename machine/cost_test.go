package machine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

func TestAnswered_Priced(t *testing.T) {
	prices := llmclient.Prices{"a": {Input: 1, Output: 2}, "b": {Input: 10}}
	known := llmclient.Prices{"a": {Input: 7}, "served": {Input: 7}}
	reply := func(model string, u messages.Usage, attempts ...llmclient.Attempt) nextstep.Answer {
		return nextstep.APIResponse{Response: &llmclient.Response{Model: model, Usage: u, Attempts: attempts}}
	}
	u := messages.Usage{Input: 10, Output: 1}
	for name, c := range map[string]struct {
		answer   nextstep.Answer
		asked    string
		cost     messages.Cost
		unpriced int
	}{
		"model that answered":     {reply("a", u), "b", 12, 0},
		"model that was asked":    {reply("other", u), "a", 12, 0},
		"reply names no model":    {reply("", u), "a", 12, 0},
		"no price":                {reply("other", u), "", 0, 1},
		"nothing used":            {reply("other", messages.Usage{}), "", 0, 0},
		"hidden attempts":         {reply("a", u, llmclient.Attempt{Model: "b", Usage: u}, llmclient.Attempt{Model: "c", Usage: u}), "", 112, 1},
		"model of the client":     {nextstep.APIResponse{Response: &llmclient.Response{Model: "other", Asked: "a", Usage: u}}, "", 12, 0},
		"own price first":         {reply("served", u), "a", 12, 0},
		"known price":             {reply("served", u), "c", 70, 0},
		"failure of a client's":   {nextstep.Failure{Model: "a", Usage: u}, "", 12, 0},
		"failure that was billed": {nextstep.Failure{Usage: u, Attempts: []llmclient.Attempt{{Usage: u}}}, "a", 24, 0},
	} {
		got := machine.Answered{Kind: machine.EffectModel, Answer: c.answer, Cost: 5, Unpriced: 5}.Priced(c.asked, prices, known)
		require.Equal(t, c.cost, got.Cost, name)
		require.Equal(t, c.unpriced, got.Unpriced, name)
	}
	got := machine.Answered{Kind: machine.EffectRemote, Answer: nextstep.Failure{Usage: u}}.Priced("a", prices)
	require.Zero(t, got.Cost, "the cost of a remote stands in its output")
}

// costs answers the one open effect with a reply that has cost so much.
func costs(t *testing.T, e *engine, c messages.Cost) {
	t.Helper()
	open := e.m.Open()
	require.Len(t, open, 1)
	rec := open[0].Answered(said("hm"), e.m.Now(), 0)
	rec.Cost = c
	require.NoError(t, e.m.Apply(rec))
}

// Cost is charged by the records of answers, to a child and to all above it; no model is asked once
// it is used up.
func TestMachine_costLimit(t *testing.T) {
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Limits: delegation.Limits{Cost: 50}}
				},
				Child: func(o delegation.Output) nextstep.NextStep { return ask("and now?") },
				Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") },
			}
		},
		"child": func() *scene {
			return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}
		},
	}, limited(delegation.Limits{Cost: 100}))
	require.Equal(t, messages.Cost(50), e.m.Open()[0].Left.Cost)
	costs(t, e, 40)
	require.Equal(t, messages.Cost(10), e.m.Open()[0].Left.Cost)
	costs(t, e, 20) // the last reply may pass the limit
	left, ok := e.m.Left("0")
	require.True(t, ok)
	require.Equal(t, messages.Cost(40), left.Cost)
	require.Equal(t, int64(-1), left.TotalTokens, "no limit")
	costs(t, e, 39)
	costs(t, e, 1)
	require.True(t, e.m.Done())
	out := e.m.Output()
	require.Equal(t, machine.LimitError{Run: "r", Frame: "0", Limit: "cost", Max: 100}, *limitOf(t, out.Err, "cost"))
	require.ErrorContains(t, out.Err, "the limit of $0.0001 is reached")
	require.Equal(t, messages.Cost(100), out.Cost)
}

// A cost that cannot be is refused, and the right record still works.
func TestMachine_badCost(t *testing.T) {
	e := begin(t, only(func() *scene { return &scene{} }))
	rec := e.m.Open()[0].Answered(said("x"), e.m.Now(), 0)
	rec.Cost = -1
	require.ErrorAs(t, e.m.Apply(rec), new(*machine.AnswerError))
	rec.Cost = 1
	require.NoError(t, e.m.Apply(rec))
	require.Equal(t, messages.Cost(1), e.m.Output().Cost)
}

// Duration counts from the time of one record to that of the next, without the time in which a
// person was waited for, and without that before a run was resumed.
func TestMachine_durationLimit(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	build := func() *machine.Machine {
		m := machine.New(config(only(func() *scene {
			return &scene{
				Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a") },
				Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
				Results: func([]messages.ToolOutput) nextstep.NextStep { return ask("y", "a") },
			}
		}), offering("a"), judged(machine.AskAlways), limited(delegation.Limits{Duration: time.Minute})))
		require.NoError(t, m.Apply(machine.Started{At: start, Run: "r", Strategy: "main"}))
		return m
	}
	m, at := build(), start
	left := func() time.Duration {
		l, ok := m.Left("0")
		require.True(t, ok)
		return l.Duration
	}
	after := func(d time.Duration) time.Time {
		at = at.Add(d)
		return at
	}
	answer := func(d time.Duration, a nextstep.Answer) {
		open := m.Open()
		require.Len(t, open, 1)
		require.NoError(t, m.Apply(open[0].Answered(a, after(d), d)))
		for _, r := range append([]machine.Record(nil), m.Ready().Intents...) {
			i := r.(machine.Intended)
			i.At = at
			require.NoError(t, m.Apply(i))
		}
	}
	answer(20*time.Second, calling("a"))
	require.Equal(t, 40*time.Second, left())
	wait := m.Waits()[0]
	require.NoError(t, m.Apply(machine.Replied{At: after(5 * time.Hour), Reply: machine.Reply{WaitID: wait.ID, Approve: true}}))
	require.Equal(t, 40*time.Second, left(), "nobody worked")
	require.NoError(t, m.Apply(machine.Resumed{At: after(time.Hour)}))
	require.Equal(t, 40*time.Second, left(), "no process was there")
	for _, r := range append([]machine.Record(nil), m.Ready().Intents...) {
		i := r.(machine.Intended)
		i.At = at
		require.NoError(t, m.Apply(i))
	}
	answer(30*time.Second, result("c1", "done"))
	require.Equal(t, 10*time.Second, left())
	require.False(t, m.Done())
	answer(15*time.Second, calling("a"))
	require.True(t, m.Done(), "no further step is made")
	limitOf(t, m.Output().Err, "duration")
	require.ErrorContains(t, m.Output().Err, "the limit of 1m0s is reached")
}
