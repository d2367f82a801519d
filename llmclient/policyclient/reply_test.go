package policyclient_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The blanks at both ends of a reply are the same as without a policy: a text that continues
// another needs them.
func TestOuterBlanks(t *testing.T) {
	for name, policy := range builtins(t) {
		for _, text := range []string{" and so on, \n\n", "\nthis ", "x"} {
			resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Stream(pieces(text, 1)...)), policy), question())
			require.NoError(t, err, name)
			require.Equal(t, messages.AssistantText(text), resp.Message, name)
			require.Equal(t, text, h.text, name)
		}
		if name == "structured" { // without tools it reads nothing
			continue
		}
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text(" \n")), policy), &llmclient.Request{Messages: question().Messages})
		require.NoError(t, err, name)
		require.Empty(t, resp.Message.Content, name)
		require.Empty(t, h.pieces, name)
	}
}

// If the token limit cut off the end of a call, the call is text and is not made, because its
// missing part is unknown. If the model stopped by itself, it is a call.
func TestTruncated_open(t *testing.T) {
	calls := []messages.AssistantContent{messages.Text{Text: "Two."}, messages.ToolCall{Name: "add", Arguments: `{"a":1}`}}
	for _, c := range []struct {
		policy markdownpolicy.Policy
		reply  string
	}{
		{markdownpolicy.Fenced, strings.TrimSuffix(markdownpolicy.Fenced.Render(calls), "\n```")},
		{markdownpolicy.Fenced, strings.TrimSuffix(markdownpolicy.Fenced.Render(calls), "`")},
		{markdownpolicy.XML, strings.TrimSuffix(markdownpolicy.XML.Render(calls), "</tool_call>")},
		{markdownpolicy.XML, strings.TrimSuffix(markdownpolicy.XML.Render(calls), "_call>")},
		{markdownpolicy.Hermes, strings.TrimSuffix(markdownpolicy.Hermes.Render(calls), "</tool_call>")},
		{markdownpolicy.Think{Policy: markdownpolicy.Hermes}, strings.TrimSuffix(markdownpolicy.Hermes.Render(calls), "</tool_call>")},
		{markdownpolicy.Chain{markdownpolicy.Hermes, markdownpolicy.Fenced}, strings.TrimSuffix(markdownpolicy.Hermes.Render(calls), "</tool_call>")},
		{markdownpolicy.Pythonic.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}), "Two.\n[add(a=1), add(a=2)"},
	} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Deltas: pieces(c.reply, 5), Finish: llmclient.FinishLength}), c.policy), question())
		require.NoError(t, err)
		require.Equal(t, llmclient.FinishLength, resp.Finish)
		require.Equal(t, h.text, resp.Message.Text())
		if whole := resp.Message.Calls(); len(whole) > 0 { // those before the cut
			require.Len(t, whole, 1, c.reply)
			require.Equal(t, "Two.\n\nadd(a=2)", resp.Message.Text())
		} else {
			require.Equal(t, strings.TrimSpace(c.reply), strings.TrimSpace(resp.Message.Text()))
		}

		resp, _, err = ask(t, policyclient.Wrap(scripted.New(scripted.Text(c.reply)), c.policy), question())
		require.NoError(t, err)
		require.NotEmpty(t, resp.Message.Calls(), "%s", c.reply)
		require.Equal(t, "Two.", resp.Message.Text())
	}
	react := markdownpolicy.ReAct{}
	for reply, made := range map[string]int{"Action: add\nAction Input: {\"a\":1}": 1, "Action: ad": 0, "Action: add\nAction Input: on": 0} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Text: reply, Finish: llmclient.FinishLength}), react), &llmclient.Request{
			Messages: question().Messages, Tools: []tools.Definition{{Name: "other"}},
		})
		require.NoError(t, err)
		require.Len(t, resp.Message.Calls(), made, reply)
		require.Equal(t, h.text, resp.Message.Text())
		require.Equal(t, made == 0, resp.Message.Text() == reply)
	}
}

// The same is true of a call that the policy could repair.
func TestTruncated_mended(t *testing.T) {
	policy := markdownpolicy.Fenced.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair})
	text := "Two.\n" + policy.Render([]messages.AssistantContent{messages.ToolCall{Name: "add", Arguments: `{"a":1}`}}) +
		"\n```tool_call\n{\"name\":\"add\",\"arguments\":{\"a\":1}"
	for finish, calls := range map[llmclient.FinishReason]int{llmclient.FinishLength: 1, llmclient.FinishStop: 2} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Text: text, Finish: finish}), policy), question())
		require.NoError(t, err)
		require.Len(t, resp.Message.Calls(), calls, "%s", finish)
		require.Equal(t, h.text, resp.Message.Text())
		want := "Two."
		if finish == llmclient.FinishLength {
			want += "\n\n" + text[strings.LastIndex(text, "```"):]
		}
		require.Equal(t, want, resp.Message.Text())
	}
}

// Texts and thoughts that were released in pieces are whole in the rest of a reply that broke off.
func TestTruncated_pieces(t *testing.T) {
	text := "One, two,\nthree.\n\n```tool_call\n{\"name\":"
	model := scripted.New(scripted.Reply{Deltas: pieces(text, 3), Finish: llmclient.FinishLength}, scripted.Reply{Deltas: pieces("<think>a\nb", 2), Finish: llmclient.FinishLength})
	resp, h, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced), question())
	require.NoError(t, err)
	require.Equal(t, messages.AssistantText(text), resp.Message)
	require.Equal(t, text, h.text)
	require.Greater(t, len(h.pieces), 1)

	resp, h, err = ask(t, policyclient.Wrap(model, markdownpolicy.Think{}), question())
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "a\nb"}}, resp.Message.Content)
	require.Equal(t, "a\nb", h.thought)
}

// The same is true if the policy had released nothing yet, because it reads only whole replies, or
// because a thought could still have begun.
func TestTruncated_nothingReleased(t *testing.T) {
	for text, policy := range map[string]markdownpolicy.Policy{
		"Two.\n!add {\"a\":":                           bang{},
		"Two.\n\n```tool_call\n{\"name\":":             markdownpolicy.Think{},
		"Two.\n\n```tool_call\n{\"name\":\n\n\"add\",": markdownpolicy.Think{Policy: markdownpolicy.Fenced},
	} {
		model := scripted.New(scripted.Reply{Text: text, Finish: llmclient.FinishLength}, scripted.Text(text))
		resp, h, err := ask(t, policyclient.Wrap(model, policy), question())
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(text), resp.Message)
		require.Equal(t, text, h.text)

		_, err = policyclient.Config{MaxRepairs: -1}.Wrap(model, policy).Complete(t.Context(), question(), nil)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.Equal(t, messages.AssistantText("Two."), e.Partial)
	}
}

// The returned reply counts, also if the client streamed something else, or nothing.
func TestStreamUnlikeResponse(t *testing.T) {
	for _, streamed := range []string{"", "Hel", "Else."} {
		inner := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			onDelta(llmclient.Delta{Text: streamed})
			return &llmclient.Response{Message: messages.AssistantText("Hello.\ncall add {}")}, nil
		})
		resp, h, err := ask(t, policyclient.Wrap(inner, lines{}), question())
		require.NoError(t, err)
		require.Equal(t, "Hello.\n", resp.Message.Text())
		require.Len(t, resp.Message.Calls(), 1)
		if strings.HasPrefix("Hello", streamed) {
			require.Equal(t, "Hello.\n", h.text)
		}
	}
}

// refusing is a policy that reads nothing, and returns an error of its own.
type refusing struct{ markdownpolicy.Policy }

var errRefused = errors.New("not today")

func (refusing) ParseResponse(string) (markdownpolicy.Document, error) {
	return markdownpolicy.Document{}, errRefused
}

func TestErrorOfAnotherType(t *testing.T) {
	model := scripted.New(scripted.Text("a"), scripted.Text("b"), scripted.Text("c"))
	_, err := policyclient.Wrap(model, refusing{lines{}}).Complete(t.Context(), question(), nil)
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, llmclient.CodeMalformedToolCall, llmclient.CodeOf(err))
	require.Zero(t, model.Remaining())
}

// A reply that may contain no call keeps apparent calls as text.
func TestCallsThatMayNotBe(t *testing.T) {
	text := "Two.\n\n```tool_call\n{\"name\":\"add\",\"arguments\":{}}\n```\n\nThree."
	without, none := question(), question()
	without.Tools, none.ToolChoice = nil, llmclient.ToolChoice{Mode: llmclient.ChooseNone}
	for _, req := range []*llmclient.Request{without, none} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Stream(pieces(text, 3)...)), markdownpolicy.Fenced), req)
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(text), resp.Message)
		require.Equal(t, llmclient.FinishStop, cmp.Or(resp.Finish, llmclient.FinishStop))
		require.Equal(t, text, h.text)
	}
	for _, finish := range []llmclient.FinishReason{llmclient.FinishRefusal, llmclient.FinishContentFilter} {
		model := scripted.New(scripted.Reply{Text: text, Finish: finish})
		resp, _, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced), question())
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(text), resp.Message)
		require.Equal(t, finish, resp.Finish)
	}
}

// So does a reply with a native call beside the text: the call becomes text after everything else.
func TestNativeCallsThatMayNotBe(t *testing.T) {
	call := messages.ToolCall{ID: "x", Name: "add", Arguments: `{"a":"<"}`}
	const asText = `{"name":"add","arguments":{"a":"<"}}`
	without, none := question(), question()
	without.Tools, none.ToolChoice = nil, llmclient.ToolChoice{Mode: llmclient.ChooseNone}
	for text, want := range map[string]string{"": asText, "Two.": "Two.\n" + asText} {
		for _, req := range []*llmclient.Request{without, none} {
			model := scripted.New(scripted.Reply{Text: text, Calls: []messages.ToolCall{call}, Finish: llmclient.FinishToolCalls})
			resp, h, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced), req)
			require.NoError(t, err)
			require.Empty(t, resp.Message.Calls())
			require.Equal(t, want, resp.Message.Text())
			require.Equal(t, want, h.text)
			require.Equal(t, llmclient.FinishStop, resp.Finish)
		}
		model := scripted.New(scripted.Reply{Text: text, Calls: []messages.ToolCall{call}, Finish: llmclient.FinishRefusal})
		resp, h, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced), question())
		require.NoError(t, err)
		require.Empty(t, resp.Message.Calls())
		require.Equal(t, want, resp.Message.Text())
		require.Equal(t, text, h.text)
	}
	broken := scripted.Reply{Calls: []messages.ToolCall{{ID: "x", Name: "add", Arguments: "{"}}}
	resp, _, err := ask(t, policyclient.Wrap(scripted.New(broken), markdownpolicy.Fenced), without)
	require.NoError(t, err)
	require.Equal(t, `{"name":"add","arguments":"{"}`, resp.Message.Text())
}

// A call that stands in a thought which was cut off is not made: the thought may only consider it.
func TestComplete_callInAThoughtThatWasCutOff(t *testing.T) {
	const call = `<tool_call>{"name":"add","arguments":{}}</tool_call>`
	for _, c := range []struct {
		reply  string
		finish llmclient.FinishReason
		calls  int
	}{
		{"I could say " + call + ", but then", llmclient.FinishLength, 0},
		{"I could say " + call, llmclient.FinishLength, 0},
		{"I say " + call, llmclient.FinishStop, 1},
		{"I say so.</think>" + call + "And", llmclient.FinishLength, 1},
	} {
		for reply, thoughts := range map[string]markdownpolicy.Thoughts{c.reply: markdownpolicy.ThoughtsOpen, "<think>" + c.reply: markdownpolicy.ThoughtsTagged} {
			hermes := thinks(markdownpolicy.Hermes, thoughts)
			resp, _, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Deltas: pieces(reply, 4), Finish: c.finish}), hermes), question())
			require.NoError(t, err, reply)
			require.Len(t, resp.Message.Calls(), c.calls, reply)
		}
	}
}
