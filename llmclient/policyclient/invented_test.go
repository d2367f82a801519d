package policyclient_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// turnOf returns how a policy writes a call, and its result.
func turnOf(t *testing.T, p markdownpolicy.Policy) (call, result string) {
	t.Helper()
	parts := []messages.AssistantContent{messages.ToolCall{ID: "call_1_1", Name: "add", Arguments: `{"a":1}`}}
	told, err := p.FormatQuery(messages.History{messages.UserText("Go."), messages.Assistant{Content: parts}, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "call_1_1", ToolName: "add", Output: "3"}}})
	require.NoError(t, err)
	return p.(markdownpolicy.Renderer).Render(parts), told.Last().(messages.User).Text()
}

// A result that the model writes itself ends its reply: behind a call, only the call is left.
func TestInvented_behindACall(t *testing.T) {
	for name, policy := range builtins(t) {
		call, result := turnOf(t, policy)
		for _, finish := range []llmclient.FinishReason{llmclient.FinishStop, llmclient.FinishLength} {
			text := call + "\n" + result + "\nIt is 3.\n" + call
			model := scripted.New(scripted.Reply{Deltas: strings.SplitAfter(text, ""), Finish: finish})
			resp, h, err := ask(t, policyclient.Wrap(model, policy), question())
			require.NoError(t, err, name)
			require.Len(t, resp.Message.Content, 1, name)
			require.Equal(t, "add", resp.Message.Calls()[0].Name, name)
			require.Equal(t, llmclient.FinishToolCalls, resp.Finish, name)
			require.Empty(t, h.text, name)
			mark := strings.Fields(result)[0]
			require.NotEmpty(t, model.Requests()[0].Stop, name)
			require.Contains(t, "\n"+result, model.Requests()[0].Stop[0], "%s: %s", name, mark)
		}
	}
}

// A reply that begins with a result is sent back.
func TestInvented_alone(t *testing.T) {
	for name, policy := range builtins(t) {
		call, result := turnOf(t, policy)
		model := scripted.New(scripted.Text("\n"+result+"\nIt is 3."), scripted.Text(call))
		resp, _, err := ask(t, policyclient.Wrap(model, policy), question())
		require.NoError(t, err, name)
		require.Equal(t, "add", resp.Message.Calls()[0].Name, name)
		require.Contains(t, model.Requests()[1].Messages.Last().(messages.User).Text(), "results are given to you", name)
	}
}

// What only resembles an invented result is what it was.
func TestInvented_neighbours(t *testing.T) {
	tag := markdownpolicy.Hermes
	call, result := turnOf(t, tag)
	shown := "The tag looks so:\n<tool_response>\n3\n</tool_response>\nIs that clear?"
	for text, req := range map[string]*llmclient.Request{
		shown: question(),
		"Results stand between <tool_response> and </tool_response>.": question(),
		"<tool_responses> is no mark? It begins like one.":            {Messages: question().Messages},
		result: {Messages: question().Messages},
	} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Stream(strings.SplitAfter(text, " ")...)), tag), req)
		require.NoError(t, err)
		require.Equal(t, text, resp.Message.Text())
		require.Equal(t, text, h.text)
	}
	inLine := "So <tool_response>.\n" + call
	resp, _, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text(inLine)), tag), question())
	require.NoError(t, err)
	require.Len(t, resp.Message.Calls(), 1)
	within := "<tool_call>\n<function=add>\n<parameter=note>\n<tool_response>\n3\n</tool_response>\n</parameter>\n</function>\n</tool_call>"
	resp, _, err = ask(t, policyclient.Wrap(scripted.New(scripted.Text(within)), tag), question())
	require.NoError(t, err)
	require.Contains(t, resp.Message.Calls()[0].Arguments, "tool_response", "a value of an argument")
}

// Clients that take no stop sequences are asked without them.
func TestInvented_stops(t *testing.T) {
	for client, want := range map[llmclient.StopTaker]bool{
		openaichat.MustNew(openaichat.Config{APIKey: "k", BaseURL: "http://127.0.0.1:1/v1"}):     true,
		openaichat.MustNew(openaichat.Config{APIKey: "k", BaseURL: "https://api.openai.com/v1"}): false,
		openairesponses.MustNew(openairesponses.Config{APIKey: "k"}):                             false,
	} {
		require.Equal(t, want, client.TakesStop())
	}
	model := scripted.New(scripted.Text("Done."))
	_, err := policyclient.Wrap(refuser{model}, markdownpolicy.Fenced).Complete(t.Context(), question(), nil)
	require.NoError(t, err)
	require.Empty(t, model.Requests()[0].Stop)
}

type refuser struct{ llmclient.Client }

func (refuser) TakesStop() bool { return false }
