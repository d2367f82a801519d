package policyclient_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

const bad = "Wait.\ncall add {\"a\":\n"

func tokens(n int64) messages.Usage { return messages.Usage{Input: n, Output: 1, Total: n + 1} }

func TestRepairTurn(t *testing.T) {
	model := scripted.New(
		scripted.Reply{Text: bad, Usage: tokens(10)},
		scripted.Reply{Deltas: []string{"Done.\n", "call add {\"a\":1}\n"}, Usage: tokens(20)},
	)
	resp, h, err := ask(t, policyclient.Wrap(model, lines{}), question())
	require.NoError(t, err)
	require.Equal(t, "Done.\n", resp.Message.Text())
	require.Equal(t, []messages.ToolCall{{ID: "call_1_1", Name: "add", Arguments: `{"a":1}`}}, resp.Message.Calls())
	require.Equal(t, tokens(20), resp.Usage)
	require.Len(t, resp.Attempts, 1)
	require.Equal(t, tokens(10), resp.Attempts[0].Usage)
	require.Equal(t, llmclient.CodeMalformedToolCall, resp.Attempts[0].Code)
	require.Contains(t, resp.Attempts[0].Error, "line 2")

	require.Equal(t, "Done.\n", h.text, "what was streamed of the reply that was sent back is void")
	require.Len(t, h.notices, 1)
	require.Equal(t, llmclient.NoticeRepair, h.notices[0].Kind)
	require.Equal(t, 1, h.notices[0].Attempt)
	require.True(t, h.notices[0].Discard)

	sent := model.Requests()
	problem := &markdownpolicy.ParseError{Line: 2, Expected: "a JSON object", Found: `{"a":`}
	require.Equal(t, append(sent[0].Messages, messages.AssistantText(bad), messages.UserText(problem.Feedback())), sent[1].Messages)
}

func TestRepairTurn_nothingToldNothingVoid(t *testing.T) {
	model := scripted.New(scripted.Text("call add ["), scripted.Text("Hi."))
	_, h, err := ask(t, policyclient.Wrap(model, lines{}), question())
	require.NoError(t, err)
	require.False(t, h.notices[0].Discard)
}

func TestRepairBound(t *testing.T) {
	for _, c := range []struct{ bound, asked int }{{0, 3}, {1, 2}, {-1, 1}} {
		model := scripted.New(scripted.Reply{Text: bad, Usage: tokens(10), Times: -1})
		resp, h, err := ask(t, policyclient.Config{MaxRepairs: c.bound, Prompts: policyclient.Prompts{Repair: "No: {{.Feedback}}"}}.Wrap(model, lines{}), question())
		require.Nil(t, resp)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.Equal(t, llmclient.CodeMalformedToolCall, e.Code)
		require.Equal(t, messages.AssistantText("Wait.\n"), e.Partial)
		require.Equal(t, bad, e.Generated)
		require.Equal(t, tokens(10), e.Usage)
		require.Len(t, e.Attempts, c.asked-1)
		problem, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok)
		require.Equal(t, 2, problem.Line)
		require.Equal(t, "Wait.\n", h.text)

		sent := model.Requests()
		require.Len(t, sent, c.asked)
		for _, again := range sent[1:] {
			require.Len(t, again.Messages, len(sent[0].Messages)+2, "only the last reply is shown")
			require.Equal(t, messages.UserText("No: "+problem.Feedback()), again.Messages.Last())
		}
	}
}

func TestRepairTurn_fails(t *testing.T) {
	refused := &llmclient.Error{Code: llmclient.CodeAuth, Message: "no", Attempts: []llmclient.Attempt{{Code: llmclient.CodeUnavailable}}}
	for _, c := range []struct {
		err  error
		want llmclient.Code
	}{{refused, llmclient.CodeAuth}, {errors.New("odd"), ""}, {context.Canceled, llmclient.CodeCanceled}} {
		_, err := policyclient.Wrap(scripted.New(scripted.Text(bad), scripted.Error(c.err)), lines{}).Complete(t.Context(), question(), nil)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.Equal(t, c.want, e.Code)
		require.Equal(t, llmclient.CodeMalformedToolCall, e.Attempts[0].Code)
	}
	require.Len(t, refused.Attempts, 1, "the client's own error is not changed")
}

// A client that ignores its ctx is not asked again once ctx is done.
func TestRepairTurn_canceled(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	inner := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		if asked++; asked == 2 {
			cancel(cause)
		}
		return &llmclient.Response{Message: messages.AssistantText(bad), Usage: tokens(10)}, nil
	})
	_, err := policyclient.Wrap(inner, lines{}).Complete(ctx, question(), nil)
	e, ok := errors.AsType[*llmclient.Error](err)
	require.True(t, ok)
	require.Equal(t, 2, asked)
	require.Equal(t, llmclient.CodeCanceled, e.Code)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	require.Equal(t, "Wait.\n", e.Partial.Text())
	require.Equal(t, bad, e.Generated)
	require.Equal(t, tokens(10), e.Usage)
	require.Len(t, e.Attempts, 1)

	ctx, cancelTimeout := context.WithTimeout(t.Context(), 0)
	defer cancelTimeout()
	_, err = policyclient.Wrap(inner, lines{}).Complete(ctx, question(), nil)
	require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(err))
	require.Equal(t, 3, asked)
}

// If no tool may be called, or the reply is not an answer, no text is meant as a call.
func TestUnreadableText(t *testing.T) {
	req := question()
	req.Tools = nil
	resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text(bad)), lines{}), req)
	require.NoError(t, err)
	require.Equal(t, messages.AssistantText(bad), resp.Message)
	require.Equal(t, bad, h.text)

	resp, err = policyclient.Wrap(scripted.New(scripted.Reply{Text: bad, Finish: llmclient.FinishRefusal}), lines{}).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	require.Equal(t, messages.AssistantText(bad), resp.Message)
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)
}

func TestTruncated(t *testing.T) {
	const text = "Two.\ncall add {\"a\":1}\ncall add {\"a\":"
	model := scripted.New(scripted.Reply{Text: text, Finish: llmclient.FinishLength})
	resp, h, err := ask(t, policyclient.Wrap(model, lines{}), question())
	require.NoError(t, err)
	require.Equal(t, llmclient.FinishLength, resp.Finish)
	require.Equal(t, []messages.AssistantContent{messages.Text{Text: "Two.\n"}, messages.ToolCall{ID: "call_1_1", Name: "add", Arguments: `{"a":1}`}, messages.Text{Text: "call add {\"a\":"}}, resp.Message.Content)
	require.Equal(t, "Two.\ncall add {\"a\":", h.text)
	require.Empty(t, h.notices)

	broken := &llmclient.Error{Code: llmclient.CodeTruncated, Message: "cut"}
	_, _, err = ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Text: text, Err: broken, Usage: tokens(3)}), lines{}), question())
	e, ok := errors.AsType[*llmclient.Error](err)
	require.True(t, ok)
	require.Equal(t, llmclient.CodeTruncated, e.Code)
	require.Equal(t, resp.Message, e.Partial)
	require.Equal(t, tokens(3), e.Usage)
}

// An inner client may begin its reply again.
func TestDiscardWithin(t *testing.T) {
	busy := &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "busy"}
	model := scripted.New(scripted.Reply{Text: "Old.\ncall add {\"a\":", Err: busy}, scripted.Text("New.\ncall add {}\n"))
	retry := llmclient.Retry(model, llmclient.RetryConfig{AfterOutput: true, Base: time.Nanosecond})
	resp, h, err := ask(t, policyclient.Wrap(retry, lines{}), question())
	require.NoError(t, err)
	require.Equal(t, "New.\n", h.text)
	require.Equal(t, "New.\n", resp.Message.Text())
	require.Len(t, resp.Message.Calls(), 1)
	require.Len(t, resp.Attempts, 1)
	require.Equal(t, llmclient.NoticeRetry, h.notices[0].Kind)
}
