package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// solver is an Orchestrator of one complete-task strategy over a client.
func solver(t *testing.T, client llmclient.Client, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	cfg := orchestrator.Config{Client: client, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}}
	for _, e := range edit {
		e(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

func with(list ...tools.Tool) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Tools = append(c.Tools, list...) }
}

func task(goal string) orchestrator.Task {
	return orchestrator.Task{Run: "r", Input: delegation.Input{Goal: goal}}
}

func echo(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(_ context.Context, args string) (string, error) { return name + args, nil })
}

// collect runs a task through Stream and returns its events and error.
func collect(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task) ([]orchestrator.Event, error) {
	t.Helper()
	var events []orchestrator.Event
	var last error
	for e, err := range o.Stream(t.Context(), ta) {
		require.NoError(t, last, "nothing comes after an error")
		events, last = append(events, e), err
	}
	return events, last
}

func kinds(events []orchestrator.Event) []orchestrator.EventKind {
	var list []orchestrator.EventKind
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

func finished(t *testing.T, events []orchestrator.Event) orchestrator.RunFinished {
	t.Helper()
	require.NotEmpty(t, events)
	end, ok := events[len(events)-1].Detail.(orchestrator.RunFinished)
	require.True(t, ok, "the last event is %s", events[len(events)-1].Kind)
	return end
}

func TestNew_reportsEverything(t *testing.T) {
	broken := completetask.New(completetask.Config{OnEmpty: "guess"})
	_, err := orchestrator.New(orchestrator.Config{
		Strategies: strategy.Set{"broken": broken, "nil": nil},
		Tools:      []tools.Tool{echo("a"), echo("a")},
		Default:    "nobody",
		Middleware: []orchestrator.Middleware{nil},
		Remote:     map[string]orchestrator.Remote{"broken": nil},
	})
	for _, want := range []string{
		"orchestrator: Client: is nil",
		`orchestrator: Strategies: strategy "broken": completetask: OnEmpty: "guess" is not one of`,
		`orchestrator: Strategies: strategy: the factory of "nil" is nil`,
		`orchestrator: Tools:`,
		`orchestrator: Default: strategy: no strategy "nobody"; known: broken, nil`,
		`orchestrator: Middleware: number 0 is nil`,
		`orchestrator: Remote: "broken" is in Strategies too`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = orchestrator.New(orchestrator.Config{Client: scripted.New()})
	require.ErrorContains(t, err, "Strategies: is empty")
}

// provider is a strategy with a tool of its own.
type provider struct{ scene }

func (*provider) Tools() []tools.Tool { return []tools.Tool{echo("submit")} }

func TestNew_toolNameTaken(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(),
		Strategies: strategy.Set{"p": func() strategy.Strategy { return &provider{} }},
		Tools:      []tools.Tool{echo("submit")},
	})
	require.ErrorContains(t, err, `strategy "p" brings a tool "submit", and so does Tools`)
}

// A strategy's own tools run like any other, without standing in the request or the run's tools.
func TestToolProvider(t *testing.T) {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Calls(scripted.Call("submit", "!", "c1"))),
		Strategies: strategy.Set{"p": func() strategy.Strategy {
			p := &provider{}
			p.reply = func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} }
			p.results = func(r []messages.ToolOutput) nextstep.NextStep { return done(r[0].Output) }
			return p
		}},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, "submit!", res.Output.Text())
}

func TestUnknownStrategy(t *testing.T) {
	o := solver(t, scripted.New())
	ta := task("go")
	ta.Strategy = "nobody"
	ta.Input.Messages = messages.History{messages.UserText("before")}
	res, err := o.Run(t.Context(), ta)
	unknown, ok := errors.AsType[*strategy.UnknownError](err)
	require.True(t, ok)
	require.Equal(t, []string{"solve"}, unknown.Known)
	require.Equal(t, orchestrator.StatusFailed, res.Status)
	require.Equal(t, ta.Input.Messages, res.Output.Messages)

	events, err := collect(t, o, ta)
	require.Error(t, err)
	require.Equal(t, []orchestrator.EventKind{""}, kinds(events), "a run that never was has no events")
}

// S1-1: the events of a run, in order.
func TestS1_1_eventOrder(t *testing.T) {
	sequential := func(name string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, Sequential: true}, func(ctx context.Context, _ string) (string, error) {
			tools.Progress(ctx, "half")
			return name, nil
		})
	}
	first := scripted.Stream("a", "b")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1"), scripted.Call("two", "{}", "2")}
	o := solver(t, scripted.New(first, scripted.Text("c")), with(sequential("one"), sequential("two")))
	events, err := collect(t, o, task("go"))
	require.NoError(t, err)
	var story []string
	for _, e := range events {
		switch d := e.Detail.(type) {
		case nil:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, e.Text))
		case orchestrator.StateChanged:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.To))
		case orchestrator.ToolStarted:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.Call.Name))
		case orchestrator.ToolProgress:
			story = append(story, fmt.Sprintf("%s %s %s", e.Kind, d.ToolName, e.Text))
		case orchestrator.ToolFinished:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.Output.ToolName))
		default:
			story = append(story, string(e.Kind))
		}
		require.Equal(t, "r", e.Run)
		require.Equal(t, "0", e.Frame)
		require.Equal(t, 1, e.Depth)
		require.False(t, e.Time.IsZero())
	}
	require.Equal(t, []string{
		"run_started", "frame_entered", "state_changed awaiting_model",
		"text_delta a", "text_delta b", "step_taken", "state_changed awaiting_tools",
		"tool_started one", "tool_progress one half", "tool_finished one",
		"tool_started two", "tool_progress two half", "tool_finished two",
		"step_taken", "state_changed awaiting_model",
		"text_delta c", "step_taken", "state_changed done",
		"frame_left", "run_finished",
	}, story)
}

// S1-4: a request that is meant to have no tools has no tools, and one in text format none that a client would send.
func TestS1_4_noTools(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Text("concluded"))
	o := solver(t, model, with(echo("a")), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{MaxModelCalls: 1})}
	})
	res, err := o.Run(t.Context(), task("go"))
	require.Error(t, err)
	require.Equal(t, "concluded", res.Output.Text())
	require.Len(t, model.Requests()[0].Tools, 1)
	require.Nil(t, model.Requests()[1].Tools)
}

// S1-5: fifty model calls, then an end that is marked as limited.
func TestS1_5_fiftyCalls(t *testing.T) {
	calls := 0
	again := scripted.Func(func(*llmclient.Request) scripted.Reply {
		calls++
		return scripted.Calls(scripted.Call("a", "{}", "1"))
	})
	again.Times = -1
	o := solver(t, scripted.New(again), with(echo("a")), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{OnLimit: completetask.LimitFail})}
	})
	res, err := o.Run(t.Context(), task("go"))
	require.ErrorContains(t, err, "the limit of 50 model calls is reached")
	require.Equal(t, 50, calls)
	require.Equal(t, orchestrator.StatusLimit, res.Status)
	require.Len(t, res.Output.Messages, 101)
}

// S1-9: a task may name another strategy than the default, for itself only.
func TestS1_9_perTaskStrategy(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("1"), scripted.Text("2"), scripted.Text("3")), func(c *orchestrator.Config) {
		c.Strategies["other"] = completetask.New(completetask.Config{})
		c.Default = "solve"
	})
	var ran []string
	for _, name := range []string{"", "other", ""} {
		ta := task("go")
		ta.Strategy = name
		events, err := collect(t, o, ta)
		require.NoError(t, err)
		ran = append(ran, events[0].Detail.(orchestrator.RunStarted).Strategy)
	}
	require.Equal(t, []string{"solve", "other", "solve"}, ran)
}

// S1-10: one Orchestrator, a hundred runs at once, each with its own script: no cross-talk.
func TestS1_10_concurrentRuns(t *testing.T) {
	client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		goal := req.Messages[0].(messages.User).Text()
		if len(req.Messages) < 9 {
			call := messages.ToolCall{ID: fmt.Sprint(len(req.Messages)), Name: "echo", Arguments: goal}
			return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}, nil
		}
		return &llmclient.Response{Message: messages.AssistantText("done " + goal)}, nil
	})
	o := solver(t, client, with(echo("echo")))
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			goal := fmt.Sprintf("goal %d", i)
			res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: goal}})
			if err != nil || res.Output.Text() != "done "+goal {
				t.Errorf("%v: %q", err, res.Output.Text())
			}
			for _, m := range res.Output.ToolMetas() {
				if m.Output != "echo"+goal {
					t.Errorf("%q in the run of %q", m.Output, goal)
				}
			}
		})
	}
	group.Wait()
}

// Run is a fold over the loop of Stream: the same outcome by both.
func TestRunEqualsStream(t *testing.T) {
	build := func() *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Text("done")), with(echo("a")))
	}
	res, err := build().Run(t.Context(), task("go"))
	require.NoError(t, err)
	events, err := collect(t, build(), task("go"))
	require.NoError(t, err)
	end := finished(t, events)
	for _, out := range []*delegation.Output{&res.Output, &end.Output} {
		out.Elapsed = 0
		for i, m := range out.Messages {
			if tool, ok := m.(messages.Tool); ok {
				tool.Elapsed = 0
				out.Messages[i] = tool
			}
		}
	}
	require.Equal(t, res.Output, end.Output)
	require.Equal(t, res.Status, end.Status)
}

// S4-20: a stream that fails before any piece is an error; after one, the text is kept in the messages.
func TestS4_20_streamFails(t *testing.T) {
	cut := &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the connection was cut", Err: io.ErrUnexpectedEOF}
	for _, partial := range []string{"", "partial answer"} {
		reply := scripted.Error(cut)
		reply.Text = partial
		events, err := collect(t, solver(t, scripted.New(reply)), task("go"))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, llmclient.CodeTruncated, llmclient.CodeOf(err))
		end := finished(t, events)
		require.Equal(t, orchestrator.StatusFailed, end.Status)
		want := messages.History{messages.UserText("go")}
		if partial != "" {
			want = append(want, messages.AssistantText(partial))
		}
		require.Equal(t, want, end.Output.Messages)
		terminal := 0
		for _, e := range events {
			if e.Kind == orchestrator.EventRunFinished {
				terminal++
			}
		}
		require.Equal(t, 1, terminal)
	}
}

// S4-21: text that streams before a call comes before the tool's events, and stands in the history once.
func TestS4_21_textBeforeCall(t *testing.T) {
	first := scripted.Stream("let me ", "look")
	first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
	events, err := collect(t, solver(t, scripted.New(first, scripted.Text("done")), with(echo("a"))), task("go"))
	require.NoError(t, err)
	text, closed := "", false
	for _, e := range events {
		if e.Kind == orchestrator.EventToolStarted {
			require.Equal(t, "let me look", text)
			closed = true
		}
		if e.Kind == orchestrator.EventTextDelta {
			text += e.Text
		}
	}
	require.True(t, closed)
	require.Equal(t, "let me lookdone", text)
	count := 0
	for _, said := range finished(t, events).Output.Texts() {
		count += strings.Count(said, "let me look")
	}
	require.Equal(t, 1, count)
}

// Breaking out of the events stops the run at once: nothing more is asked, and no goroutine is left.
func TestStream_break(t *testing.T) {
	model := scripted.New(scripted.Stream("a", "b", "c"), scripted.Text("never"))
	for range solver(t, model).Stream(t.Context(), task("go")) {
		break
	}
	require.Empty(t, model.Requests())
	for e := range solver(t, model).Stream(t.Context(), task("go")) {
		if e.Kind == orchestrator.EventTextDelta {
			break
		}
	}
	require.Len(t, model.Requests(), 1)
}

// A run is stopped now by its context, and after the step in progress by its Stop channel. Either way the messages come
// back, and obey the laws.
func TestStop(t *testing.T) {
	t.Run("before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the user left"))
		model := scripted.New(scripted.Text("never"))
		res, err := solver(t, model).Run(ctx, task("go"))
		require.ErrorContains(t, err, "the user left")
		require.Equal(t, orchestrator.StatusStopped, res.Status)
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
		require.Equal(t, orchestrator.StatusStopped, res.Status)
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
		require.Equal(t, orchestrator.StatusStopped, res.Status)
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
		var end orchestrator.RunFinished
		for e := range solver(t, client).Stream(ctx, task("go")) {
			if e.Kind == orchestrator.EventTextDelta {
				cancel()
			}
			end, _ = e.Detail.(orchestrator.RunFinished)
		}
		require.Equal(t, orchestrator.StatusStopped, end.Status)
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
		status   orchestrator.Status
		after    time.Duration
		want     string
	}{
		"run":   {orchestrator.Timeouts{Run: time.Minute}, orchestrator.StatusStopped, time.Minute, "the run took longer than 1m0s"},
		"model": {orchestrator.Timeouts{Model: 90 * time.Second}, orchestrator.StatusFailed, 90 * time.Second, "no reply within 1m30s"},
		"idle":  {orchestrator.Timeouts{ModelIdle: 20 * time.Second}, orchestrator.StatusFailed, 60 * time.Second, "nothing arrived for 20s"},
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

// A middleware sees each step, may change it, and may answer it itself; what it does wrong fails the step, not the process.
func TestMiddleware(t *testing.T) {
	run := func(m orchestrator.Middleware, replies ...scripted.Reply) (orchestrator.Result, error) {
		o := solver(t, scripted.New(replies...), with(echo("a")), func(c *orchestrator.Config) { c.Middleware = []orchestrator.Middleware{m} })
		return o.Run(t.Context(), task("go"))
	}
	t.Run("answers", func(t *testing.T) {
		res, err := run(func(orchestrator.Handler) orchestrator.Handler {
			return func(_ context.Context, call orchestrator.Call) (nextstep.Answer, error) {
				require.Equal(t, "r/1", call.Key())
				return said("from the middleware"), nil
			}
		})
		require.NoError(t, err)
		require.Equal(t, "from the middleware", res.Output.Text())
	})
	t.Run("panics", func(t *testing.T) {
		_, err := run(func(orchestrator.Handler) orchestrator.Handler {
			return func(context.Context, orchestrator.Call) (nextstep.Answer, error) { panic("oops") }
		})
		require.ErrorContains(t, err, "performing get_chat_completion panicked: oops")
	})
	t.Run("answers nothing", func(t *testing.T) {
		_, err := run(func(orchestrator.Handler) orchestrator.Handler {
			return func(context.Context, orchestrator.Call) (nextstep.Answer, error) { return nil, nil }
		})
		require.ErrorContains(t, err, "does not answer get_chat_completion: it is nil")
	})
	t.Run("answers something else", func(t *testing.T) {
		_, err := run(func(orchestrator.Handler) orchestrator.Handler {
			return func(context.Context, orchestrator.Call) (nextstep.Answer, error) { return nextstep.ToolResults{}, nil }
		})
		require.ErrorContains(t, err, "it answers another kind of step")
	})
	t.Run("suspends", func(t *testing.T) {
		wait := orchestrator.Wait{ID: "w", Kind: "approval", Text: "May I?"}
		res, err := run(func(next orchestrator.Handler) orchestrator.Handler {
			return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
				if call.Step.Kind() == nextstep.KindExecuteTools {
					return nil, fmt.Errorf("ask first: %w", &orchestrator.SuspendedError{Waits: []orchestrator.Wait{wait}})
				}
				return next(ctx, call)
			}
		}, scripted.Calls(scripted.Call("a", "{}", "1")))
		require.NoError(t, err)
		require.Equal(t, orchestrator.StatusWaiting, res.Status)
		require.Equal(t, []orchestrator.Wait{wait}, res.Waits)
		require.NoError(t, res.Output.Messages.Validate())
	})
	t.Run("context values reach tools", func(t *testing.T) {
		type key struct{}
		see := tools.NewRaw(tools.Definition{Name: "see"}, func(ctx context.Context, _ string) (string, error) {
			return fmt.Sprint(ctx.Value(key{}), " ", tools.IdempotencyKey(ctx)), nil
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("see", "{}", "c9")), scripted.Text("done")), with(see))
		res, err := o.Run(context.WithValue(t.Context(), key{}, "value"), task("go"))
		require.NoError(t, err)
		require.Equal(t, "value r/2/c9", res.Output.ToolMetas()[0].Output)
	})
}

// Events that tools cause from their own goroutines arrive while the tools run, on the goroutine of the loop.
func TestEmit_whileToolsRun(t *testing.T) {
	var call orchestrator.Call
	seen := make(chan struct{})
	noisy := tools.NewRaw(tools.Definition{Name: "noisy"}, func(context.Context, string) (string, error) {
		call.Emit(orchestrator.Event{Kind: "note", Text: "hello"})
		<-seen
		return "ok", nil
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("noisy", "{}", "1")), scripted.Text("done")), with(noisy), func(c *orchestrator.Config) {
		c.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
			return func(ctx context.Context, c orchestrator.Call) (nextstep.Answer, error) {
				call = c
				return next(ctx, c)
			}
		}}
	})
	for e, err := range o.Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		if e.Kind == "note" {
			require.Equal(t, "hello", e.Text)
			require.Equal(t, 2, e.Seq)
			close(seen) // the tool waits for this: the event came while it ran
		}
	}
}

// What a client's wrapper does is told live, and counted.
func TestRetryIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmclient.Retry(scripted.New(
			scripted.Error(&llmclient.Error{Code: llmclient.CodeRateLimited, RetryAfter: 3 * time.Second}),
			scripted.Text("done"),
		), llmclient.RetryConfig{})
		ta := task("go")
		ta.Limits.ModelCalls = 2
		events, err := collect(t, solver(t, model), ta)
		require.NoError(t, err)
		require.Contains(t, kinds(events), orchestrator.EventRetryWaiting)
		for _, e := range events {
			if d, ok := e.Detail.(orchestrator.RetryWaiting); ok {
				require.GreaterOrEqual(t, d.Wait, 3*time.Second)
				require.Equal(t, llmclient.NoticeRetry, d.Kind)
			}
		}
	})
}

func TestRemote(t *testing.T) {
	hi := "hi"
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(),
		Strategies: strategy.Set{"main": func() strategy.Strategy {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "far", Input: delegation.Input{Goal: "g"}}
				},
				child: func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
			}
		}},
		Remote: map[string]orchestrator.Remote{"far": func(_ context.Context, d nextstep.Delegate) (delegation.Output, error) {
			require.Equal(t, "g", d.Input.Goal)
			return delegation.Output{Result: &hi}, nil
		}},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, "hi", res.Output.Text())
}

// A client that panics, or returns nothing at all, fails its step.
func TestBadClients(t *testing.T) {
	for want, client := range map[string]llmclient.ClientFunc{
		"panicked: oops": func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			panic("oops")
		},
		"neither a response nor an error": func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			return nil, nil
		},
	} {
		res, err := solver(t, client).Run(t.Context(), task("go"))
		require.ErrorContains(t, err, want)
		require.Equal(t, orchestrator.StatusFailed, res.Status)
		require.Equal(t, messages.History{messages.UserText("go")}, res.Output.Messages)
	}
}

// Events have one JSON form, which reads back as it was.
func TestEvent_JSON(t *testing.T) {
	first := scripted.Stream("a", "b")
	first.Thought = "hm"
	first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
	events, err := collect(t, solver(t, scripted.New(first, scripted.Text("c")), with(echo("a"))), task("go"))
	require.NoError(t, err)
	for _, e := range events {
		e.Time = e.Time.Round(0).UTC()
		data, err := json.Marshal(e)
		require.NoError(t, err)
		var back orchestrator.Event
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, e, back, "%s", data)
	}
	var e orchestrator.Event
	require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"nonsense"}`), &e), `event "nonsense": no event is of this kind`)
}

// S0-6: arguments that cannot be used never reach the tool; the model is told everything that is wrong, and the run goes
// on.
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

// S3-5: the calls of a batch run at the same time; one that fails touches no other, and the results come in call order.
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
