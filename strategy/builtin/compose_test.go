package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

// cost is what n replies cost in these tests.
func cost(n int64) messages.Usage { return messages.Usage{Input: 10 * n, Output: n, Total: 11 * n} }

// play is a run of strategies within strategies, and what it told.
type play struct {
	set    strategy.Set
	tools  []tools.Tool
	limits delegation.Limits
	say    func(n int, req *llmclient.Request) scripted.Reply // reply n, from 1
	at     int                                                // the reply during which it is stopped; 0: it is not
	now    bool

	mu   sync.Mutex
	n    int
	end  orchestrator.RunFinished
	err  error
	left map[string]orchestrator.FrameLeft // by frame; those of agents by their run
}

// script says the texts in order; what begins with "call " is a call: a name and arguments.
func script(texts ...string) func(int, *llmclient.Request) scripted.Reply {
	return func(n int, _ *llmclient.Request) scripted.Reply {
		if n > len(texts) {
			return scripted.Error(fmt.Errorf("there is no reply %d", n))
		}
		return line(texts[n-1])
	}
}

func line(text string) scripted.Reply {
	rest, ok := strings.CutPrefix(text, "call ")
	if !ok {
		return scripted.Text(text)
	}
	name, arguments, _ := strings.Cut(rest, " ")
	return scripted.Calls(scripted.Call(name, arguments, ""))
}

// run makes the run of the strategy "outer", and holds it to what every run is held to.
func (p *play) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := make(chan struct{})
	replies := scripted.Func(func(req *llmclient.Request) scripted.Reply {
		p.mu.Lock()
		p.n++
		n := p.n
		p.mu.Unlock()
		reply := p.say(n, req)
		reply.Usage = cost(1)
		return reply
	})
	replies.Times = -1
	model := scripted.New(replies)
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := model.Complete(ctx, req, onDelta)
		p.mu.Lock()
		stopping := p.at > 0 && p.n >= p.at
		if stopping && p.now {
			cancel()
		} else if stopping {
			p.at = 0
			close(stop)
		}
		p.mu.Unlock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return resp, err
	})
	o, err := orchestrator.New(orchestrator.Config{Client: client, Strategies: p.set, Tools: append(p.tools, composedTools[0])})
	require.NoError(t, err)
	task := orchestrator.Task{Strategy: "outer", Run: "r", Input: delegation.Input{Goal: "go"}, Limits: p.limits, Stop: stop}
	p.left = map[string]orchestrator.FrameLeft{}
	ends := 0
	for e, err := range o.Stream(ctx, task) {
		switch d := e.Detail.(type) {
		case orchestrator.FrameLeft:
			name := e.Frame
			if e.Run != "r" {
				name = e.Run + " " + e.Frame
			}
			p.left[name] = d
		case orchestrator.RunFinished:
			ends++
			p.end, p.err = d, err
		default:
		}
	}
	require.Equal(t, 1, ends)
	require.NoError(t, p.end.Output.Messages.Validate())
	require.Equal(t, p.left["0"].Usage, p.end.Output.Usage)
	for _, req := range model.Requests() {
		require.NoError(t, req.Messages.Validate())
	}
}

// used are the usages of frames, by name.
func (p *play) used(t *testing.T, want map[string]int64) {
	t.Helper()
	for name, n := range want {
		require.Equal(t, cost(n), p.left[name].Usage, "frame %s", name)
	}
	require.Len(t, p.left, len(want))
}

// reached holds the limit that a run ended with to be that of a frame.
func (p *play) reached(t *testing.T, frame string) {
	t.Helper()
	require.Equal(t, orchestrator.StatusLimit, p.end.Status)
	require.Equal(t, delegation.CodeLimit, p.end.Output.Err.Code)
	limit, ok := errors.AsType[*orchestrator.LimitError](p.err)
	require.True(t, ok, "%v", p.err)
	require.Equal(t, frame, limit.Frame)
}

// stopped holds all frames that were at work to have ended so.
func (p *play) stopped(t *testing.T, frames ...string) {
	t.Helper()
	require.Equal(t, orchestrator.StatusStopped, p.end.Status)
	for _, f := range frames {
		require.NotNil(t, p.left[f].Err, "frame %s", f)
		require.Equal(t, delegation.CodeStopped, p.left[f].Err.Code, "frame %s", f)
	}
}

func metadata[T any](t *testing.T, m delegation.Metadata, name string) (v T) {
	t.Helper()
	ok, err := m.Decode(name, &v)
	require.NoError(t, err)
	require.True(t, ok, "there is no metadata %q in %s", name, m)
	return v
}

// retried is a retry of a reflection of a task, which is tried twice: five replies.
func retried(edit func(*retry.Config, *reflection.Config)) *play {
	outer := retry.Config{Strategy: "middle", MaxRetries: 1}
	middle := reflection.Config{Generator: "inner", MaxIterations: 1, OnRejected: reflection.RejectedFail}
	if edit != nil {
		edit(&outer, &middle)
	}
	return &play{
		set: strategy.Set{"outer": retry.New(outer), "middle": reflection.New(middle), "inner": completetask.New(completetask.Config{})},
		say: script("call look {}", "draft 1", "too long", "draft 2", "APPROVED"),
	}
}

func TestCompose_retryOfReflection(t *testing.T) {
	p := retried(nil)
	p.run(t)
	require.NoError(t, p.err)
	require.Equal(t, "draft 2", p.end.Output.Text())
	p.used(t, map[string]int64{"0.1.1": 2, "0.1": 3, "0.2.1": 1, "0.2": 2, "0": 5})

	m := p.end.Output.Metadata
	require.True(t, metadata[bool](t, m, "approved"))
	require.Equal(t, 1, metadata[int](t, m, "iterations"))
	attempts := metadata[[]retry.Attempt](t, m, "attempts")
	require.Len(t, attempts, 2)
	require.Equal(t, cost(3), attempts[0].Usage)
	require.Equal(t, cost(2), attempts[1].Usage)
	require.Contains(t, attempts[0].Failure, "too long")
	require.False(t, metadata[bool](t, attempts[0].Metadata, "approved"))
	require.Equal(t, "too long", metadata[[]reflection.Critique](t, attempts[0].Metadata, "critiques")[0].Feedback)
}

func TestCompose_retryOfReflection_limits(t *testing.T) {
	t.Run("outer", func(t *testing.T) { // the second attempt has no critique left: the first one is what there is
		p := retried(nil)
		p.limits = delegation.Limits{ModelCalls: 4}
		p.run(t)
		p.reached(t, "0")
		require.Equal(t, "draft 1", p.end.Output.Text())
		require.Equal(t, "draft 2", *p.left["0.2"].Result)
		require.Len(t, metadata[[]retry.Attempt](t, p.end.Output.Metadata, "attempts"), 1)
		p.used(t, map[string]int64{"0.1.1": 2, "0.1": 3, "0.2.1": 1, "0.2": 1, "0": 4})
	})
	t.Run("middle", func(t *testing.T) { // it is not tried again
		p := retried(func(c *retry.Config, _ *reflection.Config) { c.Limits = delegation.Limits{ModelCalls: 2} })
		p.run(t)
		p.reached(t, "0.1")
		require.Equal(t, "draft 1", p.end.Output.Text())
		require.Len(t, metadata[[]retry.Attempt](t, p.end.Output.Metadata, "attempts"), 1)
		p.used(t, map[string]int64{"0.1.1": 2, "0.1": 2, "0": 2})
	})
	t.Run("inner", func(t *testing.T) {
		p := retried(func(_ *retry.Config, c *reflection.Config) { c.Limits = delegation.Limits{ModelCalls: 1} })
		p.run(t)
		p.reached(t, "0.1.1")
		require.Nil(t, p.end.Output.Result)
		require.Zero(t, metadata[int](t, p.end.Output.Metadata, "iterations"))
		p.used(t, map[string]int64{"0.1.1": 1, "0.1": 1, "0": 1})
	})
}

// stops are the two kinds.
var stops = map[string]bool{"now": true, "after the step": false}

func TestCompose_retryOfReflection_stop(t *testing.T) {
	for _, c := range []struct {
		where     string
		at        int
		now       []string // frames at work, if it is stopped at once
		then      []string // and if it is stopped behind the reply
		had, have string   // what there is then
	}{
		{"inner", 1, []string{"0.1.1", "0.1", "0"}, []string{"0.1.1", "0.1", "0"}, "", ""},
		{"inner, at its end", 2, []string{"0.1.1", "0.1", "0"}, []string{"0.1", "0"}, "", ""},
		{"middle, at its end", 3, []string{"0.1", "0"}, []string{"0.2.1", "0.2", "0"}, "", "draft 1"},
		{"inner, again", 4, []string{"0.2.1", "0.2", "0"}, []string{"0.2", "0"}, "draft 1", "draft 1"},
	} {
		for kind, now := range stops {
			t.Run(c.where+" "+kind, func(t *testing.T) {
				p := retried(nil)
				p.at, p.now = c.at, now
				p.run(t)
				frames, result, n := c.then, c.have, c.at
				if now {
					frames, result, n = c.now, c.had, c.at-1
				}
				p.stopped(t, frames...)
				require.Equal(t, result, p.end.Output.Text())
				require.Equal(t, cost(int64(n)), p.end.Output.Usage)
			})
		}
	}
}

// planned is a plan of two steps, one by a reflection and one by ReAct: five replies.
func planned(edit func(*pre.Config)) *play {
	cfg := pre.Config{Evaluation: pre.EvaluateNever, Executors: []string{"reflects", "reacts"}, MaxRevisions: -1}
	if edit != nil {
		edit(&cfg)
	}
	return &play{
		set: strategy.Set{
			"outer": pre.New(cfg), "reflects": reflection.New(reflection.Config{}), "reacts": react.New(react.Config{}),
			"complete-task": completetask.New(completetask.Config{}),
		},
		say: script(
			`call submit_plan {"steps":[{"id":"a","goal":"write","executor":"reflects"},{"id":"b","goal":"read","depends_on":["a"],"executor":"reacts"}]}`,
			"the draft", "APPROVED",
			"Thought: look\nAction: look\nAction Input: {}", "Thought: I know.\nFinal Answer: 42"),
	}
}

// plan is the plan of a run, as its metadata tells it.
func (p *play) plan(t *testing.T) []pre.Step {
	t.Helper()
	return metadata[pre.Plan](t, p.end.Output.Metadata, "plan").Steps
}

func TestCompose_planOfReflectionAndReAct(t *testing.T) {
	p := planned(nil)
	p.run(t)
	require.NoError(t, p.err)
	require.Equal(t, "42", p.end.Output.Text())
	p.used(t, map[string]int64{"0.1": 2, "0.2": 2, "0": 5})
	require.Equal(t, "reflects", p.left["0.1"].Strategy)
	require.Equal(t, "reacts", p.left["0.2"].Strategy)
	steps := p.plan(t)
	for i, want := range []string{"the draft", "42"} {
		require.Equal(t, pre.StepDone, steps[i].Status)
		require.Equal(t, want, *steps[i].Result)
		require.Equal(t, 1, steps[i].Attempts)
	}
}

func TestCompose_planOfReflectionAndReAct_limits(t *testing.T) {
	t.Run("outer, in the first step", func(t *testing.T) {
		p := planned(nil)
		p.limits = delegation.Limits{ModelCalls: 2}
		p.run(t)
		p.reached(t, "0")
		require.Nil(t, p.end.Output.Result)
		require.Equal(t, "the draft", *p.left["0.1"].Result)
		require.Nil(t, p.plan(t)[0].Result)
		p.used(t, map[string]int64{"0.1": 1, "0": 2})
	})
	t.Run("outer, in the second step", func(t *testing.T) {
		p := planned(nil)
		p.limits = delegation.Limits{ModelCalls: 4}
		p.run(t)
		p.reached(t, "0")
		require.Equal(t, "the draft", p.end.Output.Text())
		require.Equal(t, pre.StepDone, p.plan(t)[0].Status)
		p.used(t, map[string]int64{"0.1": 2, "0.2": 1, "0": 4})
	})
	t.Run("inner", func(t *testing.T) { // a step that reaches its limit has failed, and the plan with it; nothing is lost
		p := planned(func(c *pre.Config) { c.StepLimits = delegation.Limits{ModelCalls: 1} })
		p.run(t)
		require.Equal(t, orchestrator.StatusFailed, p.end.Status)
		require.Equal(t, delegation.CodeFailed, p.end.Output.Err.Code)
		step := p.plan(t)[0]
		require.Equal(t, pre.StepFailed, step.Status)
		require.Equal(t, delegation.CodeLimit, step.Err.Code)
		require.Contains(t, step.Err.Message, "frame 0.1: the limit of 1 model_calls")
		require.Equal(t, "the draft", *step.Result)
		p.used(t, map[string]int64{"0.1": 1, "0": 2})
	})
}

func TestCompose_planOfReflectionAndReAct_stop(t *testing.T) {
	for _, c := range []struct {
		where     string
		at        int
		now, then []string
		had, have string
	}{
		{"the plan", 1, []string{"0"}, []string{"0"}, "", ""},
		{"the draft", 2, []string{"0.1", "0"}, []string{"0.1", "0"}, "", ""},
		{"the critique", 3, []string{"0.1", "0"}, []string{"0.2", "0"}, "", "the draft"},
		{"the action", 4, []string{"0.2", "0"}, []string{"0.2", "0"}, "the draft", "the draft"},
	} {
		for kind, now := range stops {
			t.Run(c.where+" "+kind, func(t *testing.T) {
				p := planned(nil)
				p.at, p.now = c.at, now
				p.run(t)
				frames, result, n := c.then, c.have, c.at
				if now {
					frames, result, n = c.now, c.had, c.at-1
				}
				p.stopped(t, frames...)
				require.Equal(t, result, p.end.Output.Text())
				require.Equal(t, cost(int64(n)), p.end.Output.Usage)
			})
		}
	}
}
