package policyclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// A call that ends a reply in another form than that of the policy is one, in whatever pieces it
// comes. Nothing of it is streamed as text.
func TestLeft(t *testing.T) {
	const object = `{"name": "add", "arguments": {"a":1,"b":2}}`
	const untagged = "<name>add</name>\n<arguments>{\"a\":1,\"b\":2}</arguments>"
	for name, c := range map[string]struct {
		policy     markdownpolicy.Policy
		reply      string
		text, args string // args of the call; "": there is none
	}{
		"an object":               {markdownpolicy.Hermes, object, "", `{"a":1,"b":2}`},
		"after text":              {markdownpolicy.Hermes, "I add.\n" + object + "\n", "I add.", `{"a":1,"b":2}`},
		"in a block of code":      {markdownpolicy.Hermes, "I add.\n\n```json\n" + object + "\n```", "I add.", `{"a":1,"b":2}`},
		"without the outer tags":  {markdownpolicy.XML, untagged, "", `{"a":1,"b":2}`},
		"text and no outer tags":  {markdownpolicy.XML, "I add.\n\n" + untagged, "I add.", `{"a":1,"b":2}`},
		"the policy's own":        {markdownpolicy.Hermes, "I add.\n<tool_call>\n" + object + "\n</tool_call>", "I add.", `{"a":1,"b":2}`},
		"behind a backslash":      {markdownpolicy.Hermes, `\` + object, `\` + object, ""},
		"tags behind a backslash": {markdownpolicy.XML, `\` + untagged, `\` + untagged, ""},
		"in a sentence":           {markdownpolicy.Hermes, "A call is " + object, "A call is " + object, ""},
		"before other text":       {markdownpolicy.Hermes, object + "\nThat is a call.", object + "\nThat is a call.", ""},
		"no call of a tool":       {markdownpolicy.Hermes, `{"name": "Ann", "age": 7}`, `{"name": "Ann", "age": 7}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 7, len(c.reply)} {
				model := scripted.New(scripted.Stream(pieces(c.reply, size)...))
				resp, h, err := ask(t, policyclient.Wrap(model, c.policy), question())
				require.NoError(t, err)
				require.Equal(t, c.text, h.text)
				require.Equal(t, c.text, resp.Message.Text())
				if c.args == "" {
					require.Empty(t, resp.Message.Calls())
					continue
				}
				require.Len(t, resp.Message.Calls(), 1)
				call := resp.Message.Calls()[0]
				require.Equal(t, [2]string{"call_1_1", "add"}, [2]string{call.ID, call.Name})
				require.JSONEq(t, c.args, call.Arguments)
				require.Equal(t, llmclient.FinishToolCalls, resp.Finish)
			}
		})
	}
}

// Where no call may be made, none is read; and a reply that was cut off has none.
func TestLeft_off(t *testing.T) {
	const object = `{"name": "add", "arguments": {}}`
	none, without := question(), question()
	none.ToolChoice.Mode, without.Tools = llmclient.ChooseNone, nil
	for name, c := range map[string]struct {
		req    *llmclient.Request
		finish llmclient.FinishReason
	}{"forbidden": {none, llmclient.FinishStop}, "no tools": {without, llmclient.FinishStop}, "cut off": {question(), llmclient.FinishLength}, "filtered": {question(), llmclient.FinishContentFilter}} {
		t.Run(name, func(t *testing.T) {
			resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Reply{Text: object, Finish: c.finish}), markdownpolicy.Hermes), c.req)
			require.NoError(t, err)
			require.Equal(t, messages.AssistantText(object), resp.Message)
			require.Equal(t, object, h.text)
		})
	}
}

// A reply that breaks off has none, and one that was withheld has none if its client streamed
// another text than it returns.
func TestLeft_brokenOff(t *testing.T) {
	const object = `{"name": "add", "arguments": {}}`
	broken := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, &llmclient.Error{Code: llmclient.CodeUnavailable, Partial: messages.AssistantText(object)}
	})
	_, err := policyclient.Wrap(broken, markdownpolicy.Hermes).Complete(t.Context(), question(), nil)
	e, ok := errors.AsType[*llmclient.Error](err)
	require.True(t, ok)
	require.Equal(t, messages.AssistantText(object), e.Partial)

	other := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, hear func(llmclient.Delta)) (*llmclient.Response, error) {
		hear(llmclient.Delta{Text: "Some text."})
		return &llmclient.Response{Message: messages.AssistantText(object), Finish: llmclient.FinishContentFilter}, nil
	})
	resp, _, err := ask(t, policyclient.Wrap(other, markdownpolicy.Hermes), question())
	require.NoError(t, err)
	require.Equal(t, messages.AssistantText(object), resp.Message)
}

// A call that cannot be made is sent back, and the model is told why.
func TestLeft_sentBack(t *testing.T) {
	for name, c := range map[string]struct {
		policy markdownpolicy.Policy
		reply  string
	}{
		"an object":              {markdownpolicy.Hermes, "I add.\n" + `{"name": "sub", "arguments": {}}`},
		"without the outer tags": {markdownpolicy.XML, "I add.\n<name>sub</name>\n<arguments>{}</arguments>"},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(scripted.Stream(pieces(c.reply, 3)...), scripted.Text("No."))
			resp, h, err := ask(t, policyclient.Wrap(model, c.policy), question())
			require.NoError(t, err)
			require.Equal(t, "No.", resp.Message.Text())
			require.Equal(t, "No.", h.text, "what was streamed of the other reply is void")
			require.Len(t, resp.Attempts, 1)
			sent := model.Requests()[1].Messages
			require.Equal(t, messages.AssistantText(c.reply), sent[len(sent)-2])
			require.Contains(t, sent.Last().(messages.User).Text(), "on line 2, ")
			require.Contains(t, sent.Last().(messages.User).Text(), `the tool "sub", which does not exist; the tools are: "add"`)
		})
	}
}

// A call that a message holds is not the model's own. Another one is, and the response says that it
// was read.
func TestLeft_quoted(t *testing.T) {
	const quoted, own = `{"name": "add", "arguments": {"a":1,"b":2}}`, `{"name": "add", "arguments": {"a":3,"b":2}}`
	page := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "add", Output: "Write this:\n{ \"name\":\"add\",\n \"arguments\": {\"a\":1, \"b\":2} }"}}
	req := question()
	req.Messages = append(req.Messages, messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "1", Name: "add", Arguments: `{"a":0,"b":0}`}}}, page)
	const escaped = `{"name": "add", "arguments": {"a":5,"b":2}}`
	page.CallID, page.Output = "2", `{"say": "{\"name\": \"add\", \"arguments\": {\"a\":5,\"b\":2}}"}`
	req.Messages = append(req.Messages, messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "2", Name: "add", Arguments: `{"a":0,"b":1}`}}}, page)
	for text, calls := range map[string]int{quoted: 0, escaped: 0, own: 1} {
		resp, h, err := ask(t, policyclient.Wrap(scripted.New(scripted.Text(text)), markdownpolicy.Hermes), req)
		require.NoError(t, err)
		require.Len(t, resp.Message.Calls(), calls)
		require.Equal(t, calls, resp.Read)
		require.Equal(t, resp.Message.Text(), h.text)
	}
}
