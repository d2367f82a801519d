package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(texts ...string) *llmclient.Request {
	req := &llmclient.Request{}
	for _, text := range texts {
		req.Messages = append(req.Messages, messages.UserText(text))
	}
	return req
}

func ask(t *testing.T, c llmclient.Client, req *llmclient.Request) string {
	t.Helper()
	resp, err := c.Complete(t.Context(), req, nil)
	require.NoError(t, err)
	return resp.Message.Text()
}

func coded(t *testing.T, err error, code llmclient.Code) *llmclient.Error {
	t.Helper()
	e, ok := errors.AsType[*llmclient.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, e.Code)
	return e
}

func TestClient_RepliesInOrder(t *testing.T) {
	c := scripted.New(
		scripted.Reply{Thought: "hm", Text: "see", Calls: []messages.ToolCall{scripted.Call("add", `{"a":1}`, "c1"), scripted.Call("add", `{"a":`, "")}, Usage: messages.Usage{Input: 3}},
		scripted.Reply{Text: "cut", Finish: llmclient.FinishLength},
		scripted.Func(func(req *llmclient.Request) scripted.Reply {
			return scripted.Text(req.Messages.Last().(messages.User).Text() + "!")
		}),
		scripted.Reply{},
	)
	require.Equal(t, 4, c.Remaining())
	resp, err := c.Complete(t.Context(), user("hello"), nil)
	require.NoError(t, err)
	require.Equal(t, &llmclient.Response{
		Message: messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "hm"},
			messages.Text{Text: "see"},
			messages.ToolCall{ID: "c1", Name: "add", Arguments: `{"a":1}`},
			messages.ToolCall{ID: "call_1_2", Name: "add", Arguments: `{"a":`},
		}},
		Finish: llmclient.FinishToolCalls, Usage: messages.Usage{Input: 3}, Model: "scripted", ID: "reply_1",
	}, resp)
	resp, err = c.Complete(t.Context(), user("hello"), nil)
	require.NoError(t, err)
	require.Equal(t, llmclient.FinishLength, resp.Finish)
	require.Equal(t, "you!", ask(t, c, user("hi", "you")))
	resp, err = c.Complete(t.Context(), user("hello"), nil)
	require.NoError(t, err)
	require.Equal(t, llmclient.FinishStop, resp.Finish)
	require.Empty(t, resp.Message.Content, "a model may answer with nothing")
	require.Zero(t, c.Remaining())
}

func TestClient_Streams(t *testing.T) {
	down := &llmclient.Error{Code: llmclient.CodeTruncated}
	c := scripted.New(
		scripted.Reply{Thought: "hm", Deltas: []string{"a", "", "b"}, Calls: []messages.ToolCall{scripted.Call("f", "{}", "c")}},
		scripted.Text("whole"),
		scripted.Reply{Deltas: []string{"par", "tial"}, Err: down, Usage: messages.Usage{Output: 2}},
	)
	var deltas []llmclient.Delta
	onDelta := func(d llmclient.Delta) { deltas = append(deltas, d) }
	resp, err := c.Complete(t.Context(), user("x"), onDelta)
	require.NoError(t, err)
	require.Equal(t, "ab", resp.Message.Text())
	require.Equal(t, []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "hm"}, {Text: "a"}, {Text: ""}, {Text: "b"}}, deltas)

	deltas = nil
	_, err = c.Complete(t.Context(), user("x"), onDelta)
	require.NoError(t, err)
	require.Equal(t, []llmclient.Delta{{Text: "whole"}}, deltas)

	deltas = nil
	_, err = c.Complete(t.Context(), user("x"), onDelta)
	e := coded(t, err, llmclient.CodeTruncated)
	require.Equal(t, []llmclient.Delta{{Text: "par"}, {Text: "tial"}}, deltas)
	require.Equal(t, messages.AssistantText("partial"), e.Partial)
	require.Equal(t, int64(2), e.Usage.Output)
	require.Empty(t, down.Partial.Content, "the error of the script is not changed")
}

func TestClient_ErrorsPassThroughAsTheyAre(t *testing.T) {
	plain, own := errors.New("plain"), fmt.Errorf("around: %w", &llmclient.Error{Code: llmclient.CodeAuth})
	full := &llmclient.Error{Code: llmclient.CodeTimeout, Partial: messages.AssistantText("mine"), Usage: messages.Usage{Input: 1}}
	c := scripted.New(scripted.Error(plain), scripted.Error(own), scripted.Reply{Text: "x", Err: full, Usage: messages.Usage{Input: 9}})
	for _, want := range []error{plain, own, full} {
		_, err := c.Complete(t.Context(), user("x"), nil)
		require.Equal(t, want, err)
	}
}

func TestClient_ExhaustedScriptIsLoud(t *testing.T) {
	c := scripted.New(scripted.Text("one"), scripted.Text("two"))
	ask(t, c, user("x"))
	ask(t, c, user("x"))
	req := user("x")
	req.Messages = append(req.Messages,
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c1", Name: "f"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", Output: strings.Repeat("ä", 500)}})
	_, err := c.Complete(t.Context(), req, nil)
	coded(t, err, llmclient.CodeBadRequest)
	require.EqualError(t, err, `llmclient: bad_request (script_exhausted): scripted: no reply for request 3: all 2 replies are used; `+
		`its last message is tool c1 "`+strings.Repeat("ä", 60)+`…"`)

	c = scripted.New(scripted.Reply{For: "weather", Calls: []messages.ToolCall{scripted.Call("look", "{}", "")}}, scripted.Reply{For: "m", Func: func(*llmclient.Request) scripted.Reply { return scripted.Reply{} }}, scripted.Reply{For: "z", Err: errors.New("down")})
	_, err = c.Complete(t.Context(), &llmclient.Request{}, nil)
	require.ErrorContains(t, err, `none of the 3 replies that are left is for it: reply 1 for "weather" (assistant "", call call_1_1 look({})); `+
		`reply 2 for "m" (computed); reply 3 for "z" (error "down"); its last message is none`)
}

func TestClient_For(t *testing.T) {
	c := scripted.New(
		scripted.Reply{For: "Oslo", Text: "rain"},
		scripted.Reply{For: "small", Text: "by model"},
		scripted.Reply{For: "Oslo", Text: "more rain"},
		scripted.Text("for anyone"),
	)
	require.Equal(t, "for anyone", ask(t, c, user("Oslo", "Rome?")), "the last user message counts")
	withModel := user("x")
	withModel.Model = "small"
	require.Equal(t, "by model", ask(t, c, withModel))
	later := user("weather in Oslo?")
	later.Messages = append(later.Messages, messages.AssistantText("well"))
	require.Equal(t, "rain", ask(t, c, later))
	require.Equal(t, "more rain", ask(t, c, user("Oslo")))
}

func TestClient_Times(t *testing.T) {
	c := scripted.New(scripted.Reply{Text: "a", Times: 2}, scripted.Reply{Text: "b", Times: -1}, scripted.Text("never"))
	require.Equal(t, 3, c.Remaining())
	require.Equal(t, "aabbb", ask(t, c, user("x"))+ask(t, c, user("x"))+ask(t, c, user("x"))+ask(t, c, user("x"))+ask(t, c, user("x")))
	require.Equal(t, 1, c.Remaining())
}

func TestClient_UnusableReply(t *testing.T) {
	for _, reply := range []scripted.Reply{{Text: "ab", Deltas: []string{"a"}}, {Calls: []messages.ToolCall{{ID: "c"}}}} {
		_, err := scripted.New(reply).Complete(t.Context(), user("x"), nil)
		coded(t, err, llmclient.CodeBadRequest)
		require.ErrorContains(t, err, "scripted: reply 1 is not usable: its ")
	}
}

func TestClient_RefusesHistoriesThatBreakTheLaws(t *testing.T) {
	c := scripted.New(scripted.Text("x"))
	bad := &llmclient.Request{Messages: messages.History{messages.Tool{ToolOutput: messages.ToolOutput{CallID: "orphan"}}}}
	for range 2 {
		_, err := c.Complete(t.Context(), bad, nil)
		e := coded(t, err, llmclient.CodeBadRequest)
		require.Equal(t, 400, e.Status)
		law, ok := errors.AsType[*messages.LawError](err)
		require.True(t, ok)
		require.Equal(t, messages.LawOrphan, law.Law)
	}
	require.Equal(t, 1, c.Remaining(), "no reply is used up")
	require.Len(t, c.Requests(), 2)
	require.Equal(t, "x", ask(t, c, user("x")))
}

func TestClient_RequestsAreKept(t *testing.T) {
	c := scripted.New(scripted.Reply{Times: -1})
	req := user("one")
	req.Stop = []string{"s"}
	ask(t, c, req)
	req.Messages[0], req.Stop[0], req.Model = messages.UserText("overwritten"), "overwritten", "overwritten"
	ask(t, c, user("two"))
	kept := c.Requests()
	require.Len(t, kept, 2)
	want := user("one")
	want.Stop = []string{"s"}
	require.Equal(t, *want, kept[0])
	kept[0].Messages[0], kept[1] = nil, llmclient.Request{}
	require.Equal(t, []llmclient.Request{*want, *user("two")}, c.Requests())

	c = scripted.NewClient(scripted.Config{Replies: []scripted.Reply{{}}, NoRecord: true})
	ask(t, c, user("x"))
	require.Empty(t, c.Requests())
}

// tb records the failures of a test.
type tb struct{ failures []string }

func (*tb) Helper() {}

func (t *tb) Errorf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

func TestClient_AssertComplete(t *testing.T) {
	c := scripted.New(scripted.Text("one"), scripted.Text("two"), scripted.Reply{Times: -1})
	ask(t, c, user("x"))
	var noted tb
	c.AssertComplete(&noted)
	require.Equal(t, []string{`scripted: 1 of 3 replies were not used up after 1 requests: reply 2 (assistant "two")`}, noted.failures)
	ask(t, c, user("x"))
	c.AssertComplete(t)
}

func TestClient_ContextDone(t *testing.T) {
	mine := errors.New("mine")
	synctest.Test(t, func(t *testing.T) {
		c := scripted.New(scripted.Reply{Text: "late", Delay: time.Minute}, scripted.Reply{Delay: time.Minute, Func: func(*llmclient.Request) scripted.Reply {
			return scripted.Reply{Delay: time.Minute, Deltas: []string{"a", "b", "c"}}
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(mine)
		_, err := c.Complete(ctx, user("x"), nil)
		coded(t, err, llmclient.CodeCanceled)
		require.ErrorIs(t, err, mine)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2, c.Remaining(), "nothing was asked")

		ctx2, cancel2 := context.WithTimeout(t.Context(), time.Second)
		defer cancel2()
		start := time.Now()
		_, err = c.Complete(ctx2, user("x"), nil)
		coded(t, err, llmclient.CodeTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))

		ctx3, cancel3 := context.WithCancel(t.Context())
		start = time.Now()
		streamed := ""
		_, err = c.Complete(ctx3, user("x"), func(d llmclient.Delta) {
			if streamed += d.Text; d.Text == "b" {
				cancel3()
			}
		})
		e := coded(t, err, llmclient.CodeCanceled)
		require.Equal(t, "ab", streamed)
		require.Equal(t, messages.AssistantText("ab"), e.Partial)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}

func TestClient_Concurrent(t *testing.T) {
	const runs, calls = 20, 30
	var replies []scripted.Reply
	for run := range runs {
		for call := range calls {
			replies = append(replies, scripted.Reply{For: fmt.Sprintf("<%d>", run), Text: fmt.Sprint(run, call)})
		}
	}
	c := scripted.New(replies...)
	var all sync.WaitGroup
	for run := range runs {
		all.Go(func() {
			for call := range calls {
				if got := ask(t, c, user(fmt.Sprintf("<%d>", run))); got != fmt.Sprint(run, call) {
					t.Errorf("run %d got %q", run, got)
				}
			}
		})
	}
	waittest.All(t, &all)
	c.AssertComplete(t)
	require.Len(t, c.Requests(), runs*calls)
}

// Giving a reply allocates nothing: it costs only the validation and the lock.
func TestClient_AllocatesNothing(t *testing.T) {
	c := scripted.NewClient(scripted.Config{Replies: []scripted.Reply{{Deltas: []string{"a", "b"}, Times: -1}}, NoRecord: true})
	req, n := user("x"), 0
	onDelta := func(llmclient.Delta) { n++ }
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.Complete(t.Context(), req, onDelta) }))
	require.Equal(t, 202, n)
}
