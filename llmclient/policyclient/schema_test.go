package policyclient_test

import (
	"encoding/json"
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

var heldTools = []tools.Definition{
	{Name: "add", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`)},
	{Name: "sub", Parameters: []byte(`{"type":"object"}`)},
}

const heldAnswer = `{"reply": {"answer": "Done."}}`

// heldSchema returns what a client is asked for with a policy that has a schema.
func heldSchema(t *testing.T, policy markdownpolicy.Policy, req *llmclient.Request) *llmclient.Schema {
	t.Helper()
	model := scripted.New(scripted.Text(heldAnswer))
	req.Messages = messages.History{messages.UserText("Work.")}
	resp, _, err := ask(t, policyclient.Wrap(model, policy), req)
	require.NoError(t, err)
	if len(req.Tools) > 0 {
		require.Equal(t, "Done.", resp.Message.Text())
	}
	sent := model.Requests()[0]
	require.Nil(t, sent.Tools)
	require.Empty(t, sent.ToolChoice)
	return sent.Schema
}

func TestSchema_choiceAndAnswerAreBranches(t *testing.T) {
	policy := markdownpolicy.Structured{}
	answer := &llmclient.Schema{Name: "sum", Schema: json.RawMessage(`{"type":"object"}`)}
	choose := func(mode llmclient.ToolChoiceMode, name string) llmclient.ToolChoice {
		return llmclient.ToolChoice{Mode: mode, Name: name}
	}
	for name, c := range map[string]struct {
		req  llmclient.Request
		want json.RawMessage
	}{
		"any":               {llmclient.Request{}, policy.ReplySchema(heldTools, false, nil)},
		"auto":              {llmclient.Request{ToolChoice: choose(llmclient.ChooseAuto, "")}, policy.ReplySchema(heldTools, false, nil)},
		"required":          {llmclient.Request{ToolChoice: choose(llmclient.ChooseRequired, "")}, policy.ReplySchema(heldTools, true, nil)},
		"one":               {llmclient.Request{ToolChoice: choose(llmclient.ChooseTool, "sub")}, policy.ReplySchema(heldTools[1:], true, nil)},
		"none":              {llmclient.Request{ToolChoice: choose(llmclient.ChooseNone, "")}, policy.ReplySchema(nil, false, nil)},
		"an answer":         {llmclient.Request{Schema: answer}, policy.ReplySchema(heldTools, false, answer.Schema)},
		"an answer, no one": {llmclient.Request{Schema: answer, ToolChoice: choose(llmclient.ChooseNone, "")}, policy.ReplySchema(nil, false, answer.Schema)},
	} {
		c.req.Tools = heldTools
		require.Equal(t, &llmclient.Schema{Name: "reply", Schema: c.want, Strict: name == "none"}, heldSchema(t, policy, &c.req), name)
	}
	strict := []tools.Definition{{Name: "add", Parameters: heldTools[0].Parameters, Strict: true}}
	require.True(t, heldSchema(t, policy, &llmclient.Request{Tools: strict}).Strict)
	require.False(t, heldSchema(t, policy, &llmclient.Request{Tools: append(strict, heldTools[1])}).Strict)
	require.False(t, heldSchema(t, policy, &llmclient.Request{Tools: strict, Schema: answer}).Strict)
	require.Nil(t, heldSchema(t, policy, &llmclient.Request{}))
	require.Equal(t, answer, heldSchema(t, policy, &llmclient.Request{Schema: answer}), "without tools the answer is not wrapped")
	model := scripted.New(scripted.Text("Done."))
	_, _, err := ask(t, policyclient.Wrap(model, markdownpolicy.Fenced), &llmclient.Request{Tools: heldTools, Schema: answer, Messages: question().Messages})
	require.NoError(t, err)
	require.Nil(t, model.Requests()[0].Schema, "of a policy without a schema")
}

// An answer of a schema comes as the JSON that was asked for, and what has come of it is streamed.
func TestSchema_answersAreStreamed(t *testing.T) {
	for reply, want := range map[string]string{
		`{"reply": {"answer": {"sum": "4\n2"}}}`: `{"sum": "4\n2"}`,
		`{"reply": {"answer": "It is\n42."}}`:    "It is\n42.",
	} {
		model := scripted.New(scripted.Stream(pieces(reply, 3)...))
		resp, h, err := ask(t, policyclient.Wrap(model, markdownpolicy.Structured{}), &llmclient.Request{Tools: heldTools, Messages: question().Messages})
		require.NoError(t, err)
		require.Equal(t, messages.AssistantText(want), resp.Message)
		require.Equal(t, want, h.text)
		require.Greater(t, len(h.pieces), 3)
	}
}

// A server that refuses the schema is asked with a simpler one, and then without; the client
// remembers that, for each model.
func TestSchema_refused(t *testing.T) {
	policy := markdownpolicy.Structured{}
	refuse := func(said string) scripted.Reply {
		return scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeBadRequest, Message: said}}
	}
	model := scripted.New(
		refuse("JSON schema conversion failed"), scripted.Text("unreadable\n{\"reply\": 1}"), scripted.Text(heldAnswer), scripted.Text(heldAnswer),
		refuse("response_format is not supported"), scripted.Text("```json\n"+heldAnswer+"\n```"), scripted.Text(heldAnswer), scripted.Text(heldAnswer),
		refuse("the model is not loaded"),
	)
	client := policyclient.Wrap(model, policy)
	get := func(name string) (*llmclient.Response, error) {
		resp, _, err := ask(t, client, &llmclient.Request{Model: name, Tools: heldTools, Messages: question().Messages})
		return resp, err
	}
	resp, err := get("m")
	require.NoError(t, err)
	require.Equal(t, "Done.", resp.Message.Text())
	require.Len(t, resp.Attempts, 2, "a refusal, and an unreadable reply")
	require.Contains(t, resp.Attempts[0].Error, "JSON schema conversion failed")
	for range 2 {
		resp, err = get("m")
		require.NoError(t, err)
		require.Equal(t, "Done.", resp.Message.Text())
	}
	_, err = get("m")
	require.NoError(t, err)
	_, err = get("other")
	require.NoError(t, err)
	_, err = get("other")
	require.ErrorContains(t, err, "not loaded")
	loose := []tools.Definition{{Name: "add", Parameters: []byte(`{"type":"object"}`)}, {Name: "sub", Parameters: []byte(`{"type":"object"}`)}}
	whole, simple := policy.ReplySchema(heldTools, false, nil), policy.ReplySchema(loose, false, nil)
	for i, want := range []json.RawMessage{whole, simple, simple, simple, simple, nil, nil, whole, whole} {
		sent := model.Requests()[i].Schema
		if want == nil {
			require.Nil(t, sent, i)
			continue
		}
		require.Equal(t, string(want), string(sent.Schema), i)
	}
	require.True(t, strings.HasPrefix(string(heldTools[0].Parameters), `{"type":"object","properties"`), "the caller's tools are as before")
}
