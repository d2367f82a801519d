package policyclient_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/markdownpolicy/policyclient"
	"github.com/segue-go/segue/messages"
)

// The blanks at both ends of a reply are there as they are without a policy: a text that goes on from another needs them.
func TestOuterBlanks(t *testing.T) {
	for name, policy := range builtins(t) {
		for _, text := range []string{" and so on, \n\n", "\nthis ", "x"} {
			resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Stream(pieces(text, 1)...)), policy), question())
			require.NoError(t, err, name)
			require.Equal(t, messages.AssistantText(text), resp.Message, name)
			require.Equal(t, text, h.text, name)
		}
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text(" \n")), policy), &llmclient.Request{Messages: question().Messages})
		require.NoError(t, err, name)
		require.Empty(t, resp.Message.Content, name)
		require.Empty(t, h.pieces, name)
	}
}

// A call that the token limit cut is not made, though the policy could mend it.
func TestTruncated_mended(t *testing.T) {
	policy := markdownpolicy.Fenced{Options: markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}}
	text := "Two.\n" + policy.Render([]messages.AssistantContent{messages.ToolCall{Name: "add", Arguments: `{"a":1}`}}) +
		"\n```tool_call\n{\"name\":\"add\",\"arguments\":{\"a\":1}"
	for finish, calls := range map[llmclient.FinishReason]int{llmclient.FinishLength: 1, llmclient.FinishStop: 2} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Text: text, Finish: finish}), policy), question())
		require.NoError(t, err)
		require.Equal(t, "Two.", h.text)
		require.Equal(t, "Two.", resp.Message.Text())
		require.Len(t, resp.Message.Calls(), calls, "%s", finish)
	}
}

// Texts and thoughts that were released in pieces before a reply broke off are whole in what is left of it.
func TestTruncated_pieces(t *testing.T) {
	text := "One, two,\nthree.\n\n```tool_call\n{\"name\":"
	model := scripted.New(scripted.Reply{Deltas: pieces(text, 3), Finish: llmclient.FinishLength}, scripted.Reply{Deltas: pieces("<think>a\nb", 2), Finish: llmclient.FinishLength})
	resp, h, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced{}), question())
	require.NoError(t, err)
	require.Equal(t, messages.AssistantText("One, two,\nthree."), resp.Message)
	require.Equal(t, "One, two,\nthree.", h.text)
	require.Greater(t, len(h.pieces), 1)

	resp, h, err = ask(t, policyclient.Wrap(model, markdownpolicy.Think{}), question())
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "a\nb"}}, resp.Message.Content)
	require.Equal(t, "a\nb", h.thought)
}

// So it is where a policy had released nothing by then, since it reads whole replies only, or since a thought might still
// have begun.
func TestTruncated_nothingReleased(t *testing.T) {
	for text, policy := range map[string]markdownpolicy.Policy{
		"Two.\n!add {\"a\":":                           bang{},
		"Two.\n\n```tool_call\n{\"name\":":             markdownpolicy.Think{},
		"Two.\n\n```tool_call\n{\"name\":\n\n\"add\",": markdownpolicy.Think{Policy: markdownpolicy.Fenced{}},
	} {
		model := scripted.New(scripted.Reply{Text: text, Finish: llmclient.FinishLength}, scripted.Text(text))
		resp, h, err := ask(t, policyclient.Wrap(model, policy), question())
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText("Two."), resp.Message)
		require.Equal(t, "Two.", h.text)

		_, err = policyclient.Config{MaxRepairs: -1}.Wrap(model, policy).Complete(t.Context(), question(), nil)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.Equal(t, messages.AssistantText("Two."), e.Partial)
	}
}

// What a client returns counts, also where it streamed something else, or nothing.
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

// refusing is a policy that reads nothing, and says so with an error of its own.
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

// A reply that may hold no call keeps what looks like one as text.
func TestCallsThatMayNotBe(t *testing.T) {
	text := "Two.\n\n```tool_call\n{\"name\":\"add\",\"arguments\":{}}\n```\n\nThree."
	without, none := question(), question()
	without.Tools, none.ToolChoice = nil, llmclient.ToolChoice{Mode: llmclient.ChooseNone}
	for _, req := range []*llmclient.Request{without, none} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Stream(pieces(text, 3)...)), markdownpolicy.Fenced{}), req)
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(text), resp.Message)
		require.Equal(t, llmclient.FinishStop, cmp.Or(resp.Finish, llmclient.FinishStop))
		require.Equal(t, text, h.text)
	}
	for _, finish := range []llmclient.FinishReason{llmclient.FinishRefusal, llmclient.FinishContentFilter} {
		model := scripted.New(scripted.Reply{Text: text, Finish: finish})
		resp, _, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced{}), question())
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(text), resp.Message)
		require.Equal(t, finish, resp.Finish)
	}
}
