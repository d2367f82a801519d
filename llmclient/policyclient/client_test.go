package policyclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var add = tools.Definition{Name: "add", Description: "Adds.", Parameters: []byte(`{"type":"object"}`)}

// heard records what a listener received in one call.
type heard struct {
	pieces        []string
	text, thought string
	notices       []llmclient.Notice
}

// ask calls c with streaming, and returns what the listener received.
func ask(t *testing.T, c llmclient.Client, req *llmclient.Request) (*llmclient.Response, *heard, error) {
	t.Helper()
	h := &heard{}
	ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) {
		h.notices = append(h.notices, n)
		if n.Discard {
			h.pieces, h.text, h.thought = nil, "", ""
		}
	})
	resp, err := c.Complete(ctx, req, func(d llmclient.Delta) {
		h.pieces = append(h.pieces, d.Text)
		if d.Kind == llmclient.DeltaThought {
			h.thought += d.Text
			return
		}
		h.text += d.Text
	})
	return resp, h, err
}

func question(history ...messages.Message) *llmclient.Request {
	return &llmclient.Request{Messages: append(history, messages.UserText("Go on.")), Tools: []tools.Definition{add}}
}

func TestS2_3_partsInOrder(t *testing.T) {
	model := scripted.New(scripted.Stream("think one\nSo", "me\nca", "ll add {\"a\":", "1}\nmore\n", "think two"))
	resp, h, err := ask(t, policyclient.Wrap(model, lines{}), question())
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{
		messages.Thought{Text: "one"},
		messages.Text{Text: "Some\n"},
		messages.ToolCall{ID: "call_1_1", Name: "add", Arguments: `{"a":1}`},
		messages.Text{Text: "more\n"},
		messages.Thought{Text: "two"},
	}, resp.Message.Content)
	require.Equal(t, llmclient.FinishToolCalls, resp.Finish)
	require.Equal(t, []string{"one", "So", "me\n", "more", "\n", "two"}, h.pieces, "released as soon as it is certain, and no call")
	require.Empty(t, resp.Attempts)
}

func TestS2_18_systemPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		history messages.History
		choice  llmclient.ToolChoice
		schema  *llmclient.Schema
		want    string
	}{
		"new":    {want: "LINES. Tools: add"},
		"merged": {history: messages.History{messages.System{Text: "Be brief."}}, want: "Be brief.\n\nLINES. Tools: add"},
		"once":   {history: messages.History{messages.System{Text: "LINES. Tools: add\nBe brief."}}, want: "LINES. Tools: add\nBe brief."},
		"once with a choice": {
			history: messages.History{messages.System{Text: "LINES. Tools: add\n\nBe brief."}}, choice: llmclient.ToolChoice{Mode: llmclient.ChooseNone},
			want: "LINES. Tools: add\n\nBe brief.\n\nDo not call a tool in your next reply.",
		},
		"the choice once": {
			history: messages.History{messages.System{Text: "Do not call a tool in your next reply."}}, choice: llmclient.ToolChoice{Mode: llmclient.ChooseNone},
			want: "Do not call a tool in your next reply.\n\nLINES. Tools: add",
		},
		"of other tools": {history: messages.History{messages.System{Text: "LINES. Tools: add sub"}}, want: "LINES. Tools: add sub\n\nLINES. Tools: add"},
		"not late":       {history: messages.History{messages.UserText("Hi."), messages.System{Text: "Late."}}, want: "LINES. Tools: add"},
		"required":       {choice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, want: "LINES. Tools: add\n\nIn your next reply you must call at least one tool."},
		"one":            {choice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "add"}, want: "LINES. Tools: add\n\nIn your next reply you must call the tool \"add\"."},
		"none":           {choice: llmclient.ToolChoice{Mode: llmclient.ChooseNone}, want: "LINES. Tools: add\n\nDo not call a tool in your next reply."},
		"auto":           {choice: llmclient.ToolChoice{Mode: llmclient.ChooseAuto}, want: "LINES. Tools: add"},
		"schema": {
			schema: &llmclient.Schema{Name: "answer", Schema: []byte(`{"type":"array"}`), Strict: true},
			want:   "LINES. Tools: add\n\nWhen you give your answer, its text must be JSON alone, without anything before or after it. It must follow this JSON Schema:\n{\"type\":\"array\"}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(scripted.Text("ok"))
			req := question(c.history...)
			req.ToolChoice, req.Schema = c.choice, c.schema
			_, err := policyclient.Wrap(model, lines{}).Complete(t.Context(), req, nil)
			require.NoError(t, err)
			sent := model.Requests()[0]
			require.Equal(t, messages.System{Text: c.want}, sent.Messages[0])
			require.Equal(t, messages.UserText("Go on."), sent.Messages.Last())
			require.Nil(t, sent.Tools)
			require.Zero(t, sent.ToolChoice)
			require.Zero(t, sent.ToolFormat)
			require.Nil(t, sent.Schema)
		})
	}
}

func TestRequest_withoutTools(t *testing.T) {
	model := scripted.New(scripted.Text("ok"))
	req := &llmclient.Request{Model: "m", Messages: messages.History{messages.UserText("Hi.")}, Stop: []string{"END", "result "}, MaxTokens: 7, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseNone}}
	_, err := policyclient.Wrap(model, lines{}).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, []llmclient.Request{{Model: "m", Messages: req.Messages, Stop: req.Stop, MaxTokens: 7}}, model.Requests(), "there is nothing to say")
}

func TestS2_19_pastTurns(t *testing.T) {
	model := scripted.New(scripted.Text("call add {}\n"))
	req := question(
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "call_4_1", Name: "add", Arguments: `{"a":1}`}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "call_4_1", ToolName: "add", Output: "1"}},
		messages.AssistantText("So."),
	)
	req.Stop = []string{"END"}
	resp, err := policyclient.Wrap(model, lines{}).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	sent := model.Requests()[0]
	require.Equal(t, messages.History{
		messages.System{Text: "LINES. Tools: add"},
		messages.AssistantText("call add {\"a\":1}\n"), messages.UserText("result call_4_1 1"),
		messages.AssistantText("So."), messages.UserText("Go on."),
	}, sent.Messages)
	require.Equal(t, []string{"END", "result "}, sent.Stop)
	require.Equal(t, "call_5_1", resp.Message.Calls()[0].ID, "unlike any in the conversation")
}

// Ids of calls that were removed from a conversation are not used again while a later call is in
// it.
func TestIDsOfATrimmedConversation(t *testing.T) {
	turn := func(id string) []messages.Message {
		return []messages.Message{
			messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "add", Arguments: "{}"}}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "add", Output: "1"}},
		}
	}
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{nil, "call_1_1"},
		{[]string{"call_9_1"}, "call_10_1"},
		{[]string{"call_9_1", "call_11_3"}, "call_12_1"},
		{[]string{"call_9", "toolu_4_1", "call_x_1", "call_3_y", "call_99999999999999999999_1", "call_-4_1"}, "call_13_1"},
	} {
		var history []messages.Message
		for _, id := range c.ids {
			history = append(history, turn(id)...)
		}
		for range 2 {
			resp, err := policyclient.Wrap(scripted.New(scripted.Text("call add {}\n")), lines{}).Complete(t.Context(), question(history...), nil)
			require.NoError(t, err)
			require.Equal(t, c.want, resp.Message.Calls()[0].ID)
		}
	}
}

func TestNativeParts(t *testing.T) {
	call := messages.ToolCall{ID: "call_1_1", Name: "add", Arguments: "{}", Extras: messages.Extras{"signature": []byte(`"s"`)}}
	inner := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		for _, d := range []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "Hm."}, {Text: "Look.\ncall add {\"a\":1}\n"}} {
			onDelta(d)
		}
		return &llmclient.Response{
			Message: messages.Assistant{
				Content: []messages.AssistantContent{messages.Thought{Text: "Hm."}, messages.Text{Text: "Look.\n"}, messages.Text{Text: "call add {\"a\":1}\n"}, call},
				Extras:  messages.Extras{"id": []byte("1")},
			},
			Finish: llmclient.FinishToolCalls, ID: "r1", Raw: []byte("{}"),
		}, nil
	})
	resp, h, err := ask(t, policyclient.Wrap(inner, lines{}), question())
	require.NoError(t, err)
	require.Equal(t, &llmclient.Response{
		Message: messages.Assistant{
			Content: []messages.AssistantContent{
				messages.Thought{Text: "Hm."},
				messages.Text{Text: "Look.\n"},
				messages.ToolCall{ID: "call_1_2", Name: "add", Arguments: `{"a":1}`},
				call,
			},
			Extras: messages.Extras{"id": []byte("1")},
		},
		Finish: llmclient.FinishToolCalls, ID: "r1", Raw: []byte("{}"),
	}, resp)
	require.Equal(t, []string{"Hm.", "Look.\n"}, h.pieces)
}

func TestFinish(t *testing.T) {
	for _, c := range []struct {
		text       string
		said, want llmclient.FinishReason
	}{
		{"call add {}", llmclient.FinishStop, llmclient.FinishToolCalls},
		{"call add {}", llmclient.FinishLength, llmclient.FinishLength},
		{"call add {}", llmclient.FinishContentFilter, llmclient.FinishContentFilter},
		{"Hi.", llmclient.FinishToolCalls, llmclient.FinishStop},
		{"Hi.", llmclient.FinishRefusal, llmclient.FinishRefusal},
	} {
		resp, err := policyclient.Wrap(scripted.New(scripted.Reply{Text: c.text, Finish: c.said}), lines{}).Complete(t.Context(), question(), nil)
		require.NoError(t, err)
		require.Equal(t, c.want, resp.Finish)
	}
}

func TestToolsText_handedOn(t *testing.T) {
	model := scripted.New(scripted.Text("call add {}\n"))
	req := question()
	req.ToolFormat = llmclient.ToolsText
	resp, err := policyclient.Wrap(model, lines{}).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "call add {}\n", resp.Message.Text())
	require.Equal(t, []llmclient.Request{*req}, model.Requests())
}

func TestUnusable(t *testing.T) {
	for want, c := range map[string]llmclient.Client{
		"the client is nil":       policyclient.Wrap(nil, lines{}),
		"the policy is nil":       policyclient.Wrap(scripted.New(), nil),
		"policyclient: Prompts: ": policyclient.Config{Prompts: policyclient.Prompts{Tool: "{{.Nothing}}"}}.Wrap(scripted.New(), lines{}),
	} {
		_, err := c.Complete(t.Context(), question(), nil)
		require.ErrorContains(t, err, want)
		require.NotEmpty(t, llmclient.CodeOf(err))
	}
	c := policyclient.Wrap(scripted.New(), lines{})
	_, err := c.Complete(t.Context(), question(messages.Tool{}), nil)
	require.Equal(t, llmclient.CodeBadRequest, llmclient.CodeOf(err))
	_, ok := errors.AsType[*messages.LawError](err)
	require.True(t, ok, "%v", err)
	req := question()
	req.ToolChoice.Mode = "maybe"
	_, err = c.Complete(t.Context(), req, nil)
	require.ErrorContains(t, err, `unknown tool choice "maybe"`)

	silent := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, nil
	}) //nolint:nilnil // this is the error under test
	_, err = policyclient.Wrap(silent, lines{}).Complete(t.Context(), question(), nil)
	require.Equal(t, llmclient.CodeBadResponse, llmclient.CodeOf(err))
}

// The policy receives the tools of the request: some formats need them to read replies.
func TestToolsAreKnown(t *testing.T) {
	count := tools.Definition{Name: "count", Parameters: []byte(`{"type":"object","properties":{"word":{"type":"string"}}}`)}
	req := &llmclient.Request{Messages: question().Messages, Tools: []tools.Definition{count}}
	model := scripted.New(scripted.Text("Action: count\nAction Input: letters"))
	resp, err := policyclient.Wrap(model, markdownpolicy.Think{Policy: markdownpolicy.ReAct{}}).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, `{"word":"letters"}`, resp.Message.Calls()[0].Arguments)
}

func TestUnwrap(t *testing.T) {
	model := scripted.New()
	found, ok := llmclient.As[*scripted.Client](policyclient.Wrap(model, lines{}))
	require.True(t, ok)
	require.Same(t, model, found)
}

// plainLines is lines without the optional methods of a policy.
type plainLines struct{ markdownpolicy.Policy }

func TestPolicyOfWholeReplies(t *testing.T) {
	const text = "So.\nthink one\ncall add {}\nEnd."
	model := scripted.New(scripted.Stream("So.\nthi", "nk one\ncall add {}\nEnd."), scripted.Text(text))
	c := policyclient.Wrap(model, plainLines{lines{}})
	resp, h, err := ask(t, c, question())
	require.NoError(t, err)
	require.Equal(t, []string{"So.\n", "one", "End."}, h.pieces)
	again, err := policyclient.Wrap(model, lines{}).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	require.Equal(t, again.Message, resp.Message)
	require.Equal(t, []string{"\nresult "}, model.Requests()[0].Stop)
}
