package orchestrator_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// S4-20: a stream that fails before any piece is an error; after one, the text is kept in the
// messages.
func TestS4_20_streamFails(t *testing.T) {
	cut := &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the connection was cut", Err: io.ErrUnexpectedEOF}
	for _, partial := range []string{"", "partial answer"} {
		reply := scripted.Error(cut)
		reply.Text = partial
		events, err := collect(t, solver(t, scripted.New(reply)), task("go"))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, llmclient.CodeTruncated, llmclient.CodeOf(err))
		end := finished(t, events)
		require.Equal(t, machine.StatusFailed, end.Status)
		want := messages.History{messages.UserText("go")}
		if partial != "" {
			want = append(want, messages.AssistantText(partial))
		}
		require.Equal(t, want, end.Output.Messages)
		terminal := 0
		for _, e := range events {
			if e.Kind == machine.EventRunFinished {
				terminal++
			}
		}
		require.Equal(t, 1, terminal)
	}
}

// Breaking out of the events stops the run at once: nothing more is asked, and no goroutine is
// left.
func TestStream_break(t *testing.T) {
	model := scripted.New(scripted.Stream("a", "b", "c"), scripted.Text("never"))
	for range solver(t, model).Stream(t.Context(), task("go")) {
		break
	}
	require.Empty(t, model.Requests())
	for e := range solver(t, model).Stream(t.Context(), task("go")) {
		if e.Kind == machine.EventTextDelta {
			break
		}
	}
	require.Len(t, model.Requests(), 1)
}

// A run is stopped now by its context, and after the step in progress by its Stop channel. Either
// way the messages come back, and obey the laws.
func TestStop(t *testing.T) {
	t.Run("before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the user left"))
		model := scripted.New(scripted.Text("never"))
		res, err := solver(t, model).Run(ctx, task("go"))
		require.ErrorContains(t, err, "the user left")
		require.Equal(t, machine.StatusStopped, res.Status)
		require.Empty(t, model.Requests())
		require.Equal(t, messages.History{messages.UserText("go")}, res.Output.Messages)
	})
	t.Run("now, while a tool runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wait := tools.NewRaw(tools.Definition{Name: "wait", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		})
		calls := scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("wait", "{}", "2"))
		res, err := solver(t, scripted.New(calls), with(echo("a"), wait)).Run(ctx, task("go"))
		require.Error(t, err)
		require.Equal(t, machine.StatusStopped, res.Status)
		metas := res.Output.ToolMetas()
		require.Len(t, metas, 2)
		require.Equal(t, messages.StatusFailed, metas[1].Status)
		require.NoError(t, res.Output.Messages.Validate())
	})
	t.Run("after this step", func(t *testing.T) {
		stop := make(chan struct{})
		closing := tools.NewRaw(tools.Definition{Name: "close"}, func(context.Context, string) (string, error) {
			close(stop)
			return "closed", nil
		})
		ta := task("go")
		ta.Stop = stop
		res, err := solver(t, scripted.New(scripted.Calls(scripted.Call("close", "{}", "1"))), with(closing)).Run(t.Context(), ta)
		require.ErrorContains(t, err, "stop was asked for")
		require.Equal(t, machine.StatusStopped, res.Status)
		require.Equal(t, "closed", res.Output.ToolMetas()[0].Output)
	})
	t.Run("now, while a model streams", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			onDelta(llmclient.Delta{Text: "half"})
			<-ctx.Done()
			return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("half"), Err: ctx.Err()}
		})
		var end machine.RunFinished
		for e := range solver(t, client).Stream(ctx, task("go")) {
			if e.Kind == machine.EventTextDelta {
				cancel()
			}
			end, _ = e.Detail.(machine.RunFinished)
		}
		require.Equal(t, machine.StatusStopped, end.Status)
		require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("half")}, end.Output.Messages)
	})
}

func TestTimeouts(t *testing.T) {
	hang := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if onDelta != nil {
			for range 5 {
				time.Sleep(8 * time.Second)
				if ctx.Err() == nil {
					onDelta(llmclient.Delta{Text: "."})
				}
			}
		}
		<-ctx.Done()
		return nil, &llmclient.Error{Code: llmclient.CodeTimeout, Err: context.Cause(ctx)}
	})
	for name, test := range map[string]struct {
		timeouts orchestrator.Timeouts
		status   machine.Status
		after    time.Duration
		want     string
	}{
		"run":   {orchestrator.Timeouts{Run: time.Minute}, machine.StatusStopped, time.Minute, "the run took longer than 1m0s"},
		"model": {orchestrator.Timeouts{Model: 90 * time.Second}, machine.StatusFailed, 90 * time.Second, "no reply within 1m30s"},
		"idle":  {orchestrator.Timeouts{ModelIdle: 20 * time.Second}, machine.StatusFailed, 60 * time.Second, "nothing arrived for 20s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := solver(t, hang, func(c *orchestrator.Config) { c.Timeouts = test.timeouts })
				start := time.Now()
				events, err := collect(t, o, task("go"))
				require.ErrorContains(t, err, test.want)
				require.Equal(t, test.status, finished(t, events).Status)
				require.InDelta(t, test.after.Seconds(), time.Since(start).Seconds(), 6)
			})
		})
	}
}

// A panic in the consumer's loop is the consumer's: it is not taken for one of the run.
func TestStream_consumerPanics(t *testing.T) {
	for _, kind := range []machine.EventKind{machine.EventRunStarted, machine.EventTextDelta, machine.EventToolStarted, machine.EventRunFinished} {
		first := scripted.Stream("a")
		first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
		o := solver(t, scripted.New(first, scripted.Text("b")), with(echo("a")))
		require.PanicsWithValue(t, "the consumer's own", func() {
			for e := range o.Stream(t.Context(), task("go")) {
				if e.Kind == kind {
					panic("the consumer's own")
				}
			}
		}, "%s", kind)
	}
}

// A consumer may panic while a model streams on another goroutine, and goes on to for a while.
func TestStream_consumerPanicsBesideAModel(t *testing.T) {
	ended := make(chan struct{})
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		defer close(ended)
		onDelta(llmclient.Delta{Text: "a"})
		<-ctx.Done()
		for range 1000 {
			onDelta(llmclient.Delta{Text: "b"})
		}
		return nil, ctx.Err()
	})
	through := func(next orchestrator.Handler) orchestrator.Handler { return next }
	o := solver(t, client, func(c *orchestrator.Config) { c.Middleware = []orchestrator.Middleware{through} })
	require.PanicsWithValue(t, "the consumer's own", func() {
		for e := range o.Stream(t.Context(), task("go")) {
			if e.Kind == machine.EventTextDelta {
				panic("the consumer's own")
			}
		}
	})
	<-ended
}

// A stop and a time-out keep their causes within reach.
func TestCauses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user left")
	cancel(gone)
	_, err := solver(t, scripted.New()).Run(ctx, task("go"))
	require.ErrorIs(t, err, gone)
	require.ErrorIs(t, err, context.Canceled)

	synctest.Test(t, func(t *testing.T) {
		plain := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for _, timeouts := range []orchestrator.Timeouts{{Model: time.Minute}, {ModelIdle: time.Minute}, {Run: time.Minute}} {
			_, err := collect(t, solver(t, plain, func(c *orchestrator.Config) { c.Timeouts = timeouts }), task("go"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if timeouts.Run == 0 {
				require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(err))
			}
		}
	})
}

// concluding gives messages of its own when it is stopped.
type concluding struct{ scene }

func (c *concluding) Conclude(string) delegation.Output {
	return delegation.Output{Messages: messages.History{messages.UserText("in my own words")}}
}

// What a stop cut off stands behind the messages that a strategy gives itself, too.
func TestStop_ownMessages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		cancel()
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("half"), Err: ctx.Err()}
	})
	o := solver(t, client, func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": func() strategy.Strategy { return new(concluding) }}
	})
	res, err := o.Run(ctx, task("go"))
	require.Error(t, err)
	require.Equal(t, messages.History{messages.UserText("in my own words"), messages.AssistantText("half")}, res.Output.Messages)
}

// inheriting delegates, and gives back what its child had reached when the run was stopped.
type inheriting struct {
	scene
	to    string
	child delegation.Output
}

func (s *inheriting) Initialize(in delegation.Input) nextstep.NextStep {
	return nextstep.Delegate{Strategy: s.to, Input: in}
}

func (s *inheriting) Inherit(out delegation.Output) { s.child = out }

func (s *inheriting) Conclude(string) delegation.Output {
	text := s.child.Text() + " of it, " + string(s.child.Err.Code)
	return delegation.Output{Result: &text}
}

// reaching has a result when it is stopped.
type reaching struct{ scene }

func (s *reaching) Conclude(string) delegation.Output {
	half := "half"
	return delegation.Output{Result: &half}
}

// A strategy hears what its child had reached before it concludes, over any depth.
func TestStop_inherited(t *testing.T) {
	set := strategy.Set{
		"main":   func() strategy.Strategy { return &inheriting{to: "middle"} },
		"middle": func() strategy.Strategy { return &inheriting{to: "work"} },
		"work":   func() strategy.Strategy { return new(reaching) },
	}
	m := machine.New(&machine.Config{Strategies: set})
	require.NoError(t, m.Apply(machine.Started{Run: "r", Strategy: "main", Input: delegation.Input{Goal: "go"}}))
	require.NoError(t, m.Apply(machine.Stopped{Reason: "enough", Now: true}))
	require.NoError(t, m.Apply(machine.Answered{Effect: machine.EffectID{Seq: 3}, NotBegun: true}))
	require.Equal(t, "half of it, stopped of it, stopped", m.Output().Text())
}
