package toolrun_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

// asker asks the question in its arguments and returns the answer.
func asker(name string) tools.Tool {
	return rawTool(name, func(ctx context.Context, arguments string) (string, error) {
		return tools.Ask(ctx, tools.Question{Text: arguments})
	})
}

// askedBy returns jobs whose Ask is ask.
func askedBy(ask tools.AskFunc, set *tools.Set, names ...string) []toolrun.Job {
	jobs := jobsFor(set, names...)
	for i := range jobs {
		jobs[i].Ask = ask
	}
	return jobs
}

func nobody(context.Context, tools.Asked) (string, error) {
	return "", fmt.Errorf("wait w1: %w", tools.ErrSuspended)
}

func TestAsk_Nobody(t *testing.T) {
	_, err := tools.Ask(t.Context(), tools.Question{Text: "who?"})
	require.Equal(t, tools.ErrNobody, err, "outside a runner")

	set := setOf(t, asker("ask"), tools.AskUser())
	jobs := jobsFor(set, "ask", "ask_user")
	jobs[1].Call.Arguments = `{"question":"who?"}`
	for _, out := range performAll(t.Context(), toolrun.Runner{}, jobs...) {
		require.Equal(t, messages.StatusFailed, out.Status)
		require.Equal(t, tools.ReasonError, out.Reason)
		require.Equal(t, tools.ErrNobody.Error(), out.Output)
	}
}

func TestAsk_IsAnswered(t *testing.T) {
	var got []tools.Question
	ask := func(_ context.Context, q tools.Asked) (string, error) {
		require.Equal(t, messages.ToolCall{ID: "c0", Name: "buy", Arguments: "{}"}, q.Call)
		got = append(got, q.Question)
		return "number " + fmt.Sprint(len(got)), nil
	}
	buy := rawTool("buy", func(ctx context.Context, _ string) (string, error) {
		first, err := tools.Ask(ctx, tools.Question{Text: "which?", Options: []string{"a", "b"}})
		if err != nil {
			return "", err
		}
		second, err := tools.Ask(ctx, tools.Question{Kind: "signature", Text: "sign here"})
		return first + ", " + second, err
	})
	out := toolrun.Runner{}.Run(t.Context(), askedBy(ask, setOf(t, buy), "buy")[0])
	require.Equal(t, messages.ToolOutput{CallID: "c0", ToolName: "buy", Output: "number 1, number 2", Status: messages.StatusOK, Elapsed: out.Elapsed}, out)
	require.Equal(t, []tools.Question{
		{Kind: tools.KindQuestion, Text: "which?", Options: []string{"a", "b"}}, {Kind: "signature", Text: "sign here"},
	}, got)
}

// A call that waits for an answer has no result.
func TestAsk_Suspended(t *testing.T) {
	wrapping := rawTool("wrapping", func(ctx context.Context, _ string) (string, error) {
		_, err := tools.Ask(ctx, tools.Question{Text: "may I?"})
		return "", fmt.Errorf("wrapping: %w", err)
	})
	own := rawTool("own", func(context.Context, string) (string, error) { return "", tools.ErrSuspended })
	set := setOf(t, asker("ask"), wrapping, own, rawTool("raw", noop))
	jobs := askedBy(nobody, set, "ask", "raw", "wrapping", "own", "nope")
	outs := performAll(t.Context(), toolrun.Runner{}, jobs...)
	var reasons []string
	for _, o := range outs {
		reasons = append(reasons, o.Reason)
	}
	const suspended = tools.ReasonSuspended
	require.Equal(t, []string{suspended, "", suspended, suspended, tools.ReasonUnknownTool}, reasons)
	for _, i := range []int{0, 2, 3} {
		require.False(t, outs[i].OK())
		require.Equal(t, jobs[i].Call.ID, outs[i].CallID)
		require.Equal(t, jobs[i].Call.Name, outs[i].ToolName)
	}
}

func TestAsk_Declined(t *testing.T) {
	for reason, want := range map[string]string{
		"":         "tools: the person declined to answer",
		"too late": "tools: the person declined to answer: too late",
	} {
		ask := func(context.Context, tools.Asked) (string, error) {
			return "", &tools.DeclinedError{Reason: reason}
		}
		out := toolrun.Runner{}.Run(t.Context(), askedBy(ask, setOf(t, asker("ask")), "ask")[0])
		require.Equal(t, messages.ToolOutput{CallID: "c0", ToolName: "ask", Output: want, Status: messages.StatusFailed, Reason: tools.ReasonError, Elapsed: out.Elapsed}, out)
	}
}

// Outside a call, Ask uses the function of its context. A tool uses the one of its Job, even if
// that is nil.
func TestWithAsk(t *testing.T) {
	var got []tools.Asked
	ctx := tools.WithAsk(t.Context(), func(_ context.Context, a tools.Asked) (string, error) {
		got = append(got, a)
		return "outside", nil
	})
	text, err := tools.Ask(ctx, tools.Question{Text: "who?"})
	require.NoError(t, err)
	require.Equal(t, "outside", text)
	require.Equal(t, []tools.Asked{{Question: tools.Question{Kind: tools.KindQuestion, Text: "who?"}}}, got)

	inside := func(context.Context, tools.Asked) (string, error) { return "inside", nil }
	set := setOf(t, asker("ask"))
	require.Equal(t, "inside", toolrun.Runner{}.Run(ctx, askedBy(inside, set, "ask")[0]).Output)
	require.Equal(t, tools.ErrNobody.Error(), toolrun.Runner{}.Run(ctx, jobFor(set, "ask")).Output)
	require.Len(t, got, 1)

	_, err = tools.Ask(tools.WithAsk(ctx, nil), tools.Question{Text: "who?"})
	require.Equal(t, tools.ErrNobody, err)
	over, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("changed my mind"))
	_, err = tools.Ask(over, tools.Question{Text: "who?"})
	require.EqualError(t, err, "changed my mind")
	require.Len(t, got, 1, "nobody is asked for what is over")
}

// If a stop of the run ends a tool's question, the tool was cut off, although its context is still
// active.
func TestAsk_StopLeavesTheContext(t *testing.T) {
	stopped := func(context.Context, tools.Asked) (string, error) {
		return "", fmt.Errorf("the run was stopped: %w", context.Canceled)
	}
	out := toolrun.Runner{}.Run(t.Context(), askedBy(stopped, setOf(t, asker("ask")), "ask")[0])
	require.Equal(t, messages.StatusUnknown, out.Status)
	require.Equal(t, messages.ReasonInterrupted, out.Reason)
}

func TestAskUser_Definition(t *testing.T) {
	def := tools.AskUser().Definition()
	require.NotEmpty(t, def.Description)
	require.JSONEq(t, `{"type":"object","properties":{
		"question":{"type":"string","description":"what you need to know, as one question"},
		"options":{"type":"array","items":{"type":"string"},"description":"answers to choose from, if there are only so many"}},
		"required":["question"],"additionalProperties":false}`, string(def.Parameters))
	def.Description, def.Parameters = "", nil
	require.Equal(t, tools.Definition{Name: "ask_user", ReadOnly: true, Timeout: -1}, def)
	_, err := tools.NewSet(tools.AskUser())
	require.NoError(t, err)
}

func TestAskUser_Arguments(t *testing.T) {
	var got []tools.Question
	ask := func(_ context.Context, q tools.Asked) (string, error) {
		got = append(got, q.Question)
		return "b", nil
	}
	job := askedBy(ask, setOf(t, tools.AskUser()), "ask_user")[0]
	for arguments, want := range map[string]string{
		`{"question":" \n"}`:                    "tools: invalid arguments for ask_user: /question: is empty",
		`{}`:                                    `tools: invalid arguments for ask_user: missing "question"`,
		`{"question":"a or b?","options":"ab"}`: "tools: invalid arguments for ask_user: /options: got string, want array",
	} {
		job.Call.Arguments = arguments
		out := toolrun.Runner{}.Run(t.Context(), job)
		require.Equal(t, tools.ReasonArguments, out.Reason)
		require.Equal(t, want, out.Output)
	}
	require.Empty(t, got, "the person is not bothered")

	job.Call.Arguments = `{"question":"a or b?","options":["a","b"]}`
	require.Equal(t, "b", toolrun.Runner{}.Run(t.Context(), job).Output)
	require.Equal(t, []tools.Question{{Kind: tools.KindQuestion, Text: "a or b?", Options: []string{"a", "b"}}}, got)
}

func TestAsk_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, _ tools.Asked) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errors.New("the user left")) })
		jobs := askedBy(ask, setOf(t, tools.AskUser(), asker("ask"), rawTool("raw", noop)), "ask_user", "ask", "raw")
		jobs[0].Call.Arguments = `{"question":"who?"}`
		outs := performAll(ctx, toolrun.Runner{Timeout: -1}, jobs...)
		require.Equal(t, []messages.ToolOutput{
			{CallID: "c0", ToolName: "ask_user", Output: "tools: ask_user was interrupted: the user left", Status: messages.StatusFailed, Reason: messages.ReasonInterrupted},
			{CallID: "c1", ToolName: "ask", Output: "tools: ask was interrupted, and whether it had an effect is unknown: the user left", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted},
			{CallID: "c2", ToolName: "raw", Output: "3", Status: messages.StatusOK},
		}, outs)
	})
}

// A person's time is not the tool's: the time-out stands still while somebody is asked, goes on
// afterwards, and cuts the tool off in the end.
func TestAsk_TimeoutStandsStill(t *testing.T) {
	for name, twice := range map[string]bool{"one question": false, "two at the same time": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ask := func(ctx context.Context, q tools.Asked) (string, error) {
					select {
					case <-time.After(24 * time.Hour):
						return "b", nil
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				}
				var answer string
				tool := rawTool("buy", func(ctx context.Context, _ string) (string, error) {
					began, child := time.Now(), context.WithValue(ctx, ctxKey{}, "derived")
					due, ok := child.Deadline()
					require.True(t, ok)
					require.Equal(t, time.Minute, due.Sub(began))
					time.Sleep(40 * time.Second)
					var other sync.WaitGroup
					if twice {
						other.Go(func() {
							time.Sleep(time.Hour)
							_, _ = tools.Ask(ctx, tools.Question{Text: "and what?"})
						})
					}
					var err error
					answer, err = tools.Ask(child, tools.Question{Text: "which?"})
					require.NoError(t, err)
					other.Wait()
					due, _ = child.Deadline()
					require.Equal(t, 20*time.Second, time.Until(due))
					time.Sleep(19 * time.Second)
					require.NoError(t, child.Err())
					child, cancel := context.WithCancel(child)
					defer cancel()
					<-child.Done()
					require.Equal(t, context.DeadlineExceeded, child.Err())
					require.Equal(t, context.DeadlineExceeded, ctx.Err())
					require.ErrorAs(t, context.Cause(child), new(*tools.TimeoutError))
					return "", child.Err()
				})
				out := perform(t.Context(), toolrun.Runner{Timeout: time.Minute}, askedBy(ask, setOf(t, tool), "buy")[0])
				require.Equal(t, "b", answer)
				require.Equal(t, tools.ReasonTimeout, out.Reason, out.Output)
				require.Equal(t, messages.StatusUnknown, out.Status)
				require.Equal(t, time.Minute, out.Elapsed)
			})
		})
	}
}

// The context of a tool that can ask ends with its caller's, with the same cause, and holds nothing
// after the call.
func TestAsk_ContextOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the user left")
		tool := rawTool("x", func(ctx context.Context, _ string) (string, error) {
			require.NoError(t, ctx.Err())
			child, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			cancel(left)
			require.Equal(t, context.Canceled, ctx.Err(), "at once")
			require.Equal(t, left, context.Cause(ctx))
			<-child.Done()
			require.Equal(t, left, context.Cause(child))
			return "", context.Cause(ctx)
		})
		out := toolrun.Runner{Timeout: time.Minute}.Run(parent, askedBy(nobody, setOf(t, tool), "x")[0])
		require.Equal(t, messages.ReasonInterrupted, out.Reason)

		var kept context.Context
		tool = rawTool("x", func(ctx context.Context, _ string) (string, error) {
			kept = ctx
			return "", ctx.Err()
		})
		require.True(t, toolrun.Runner{Timeout: time.Minute}.Run(t.Context(), askedBy(nobody, setOf(t, tool), "x")[0]).OK())
		require.Equal(t, context.Canceled, kept.Err())
		time.Sleep(2 * time.Minute)
		require.Equal(t, context.Canceled, context.Cause(kept))
	})
}

// A call that is cut off while it waits for an answer still waits: no effect is in doubt.
func TestAsk_SuspendedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, q tools.Asked) (string, error) {
			<-ctx.Done()
			return nobody(ctx, q)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := toolrun.Runner{}.Run(ctx, askedBy(ask, setOf(t, asker("ask")), "ask")[0])
		require.Equal(t, tools.ReasonSuspended, out.Reason)
		require.Zero(t, out.Elapsed, "a person has the time")
	})
}

// Once a call is over, it asks nobody.
func TestAsk_AfterTheEnd(t *testing.T) {
	kept := make(chan context.Context, 1)
	set := setOf(t, rawTool("ask", func(ctx context.Context, _ string) (string, error) {
		kept <- ctx
		short, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("changed my mind"))
		return tools.Ask(short, tools.Question{Text: "who?"})
	}))
	ask := func(context.Context, tools.Asked) (string, error) {
		t.Error("somebody is asked")
		return "", nil
	}
	out := toolrun.Runner{}.Run(t.Context(), askedBy(ask, set, "ask")[0])
	require.Equal(t, tools.ReasonError, out.Reason)
	require.Equal(t, "changed my mind", out.Output)
	_, err := tools.Ask(waittest.Receive(t, kept), tools.Question{Text: "who?"})
	require.ErrorIs(t, err, context.Canceled)
}

// Values that a tool adds to its context reach the AskFunc.
func TestAsk_DerivedContext(t *testing.T) {
	var deadline time.Time
	set := setOf(t, rawTool("ask", func(ctx context.Context, _ string) (string, error) {
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, ctxKey{}, "mine"), time.Hour)
		defer cancel()
		deadline, _ = ctx.Deadline()
		return tools.Ask(ctx, tools.Question{Text: "who?"})
	}))
	ask := func(ctx context.Context, _ tools.Asked) (string, error) {
		require.Equal(t, "mine", ctx.Value(ctxKey{}))
		got, ok := ctx.Deadline()
		require.True(t, ok)
		require.Equal(t, deadline, got)
		return tools.IdempotencyKey(ctx), nil
	}
	job := askedBy(ask, set, "ask")[0]
	job.Key = "run/7/c0"
	require.Equal(t, "run/7/c0", toolrun.Runner{Timeout: -1}.Run(t.Context(), job).Output)
}

func TestAsk_PanickingAsker(t *testing.T) {
	ask := func(context.Context, tools.Asked) (string, error) { panic("mine") }
	out := toolrun.Runner{}.Run(t.Context(), askedBy(ask, setOf(t, asker("ask")), "ask")[0])
	require.Equal(t, tools.ReasonPanic, out.Reason)
}
