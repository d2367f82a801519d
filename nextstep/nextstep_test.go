package nextstep_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

var conversation = messages.History{
	messages.System{Text: "be brief"},
	messages.UserText("add"),
	messages.Assistant{Content: []messages.AssistantContent{
		messages.Thought{Text: "hm"},
		messages.ToolCall{ID: "c1", Name: "add", Arguments: `{"a":`},
	}},
	messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "add", Output: "no", Status: messages.StatusFailed, Reason: "arguments", Elapsed: 3}},
}

var steps = []nextstep.NextStep{
	nextstep.GetChatCompletion{Request: llmclient.Request{
		Model: "m", Messages: conversation, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseAuto}, Stop: []string{"x"}, MaxTokens: 3,
	}},
	nextstep.GetChatCompletion{Request: llmclient.Request{Messages: conversation}, Anew: new("the conversation was cut")},
	nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "c1", Name: "add", Arguments: "{}"}}},
	nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "g", Messages: conversation, Data: json.RawMessage(`{"a":1}`)}, Limits: delegation.Limits{Steps: 3}},
	nextstep.Delegate{Strategy: "child", Tools: []string{}},
	nextstep.Complete{Output: delegation.Output{Messages: conversation, Result: new("")}},
	nextstep.Complete{Output: delegation.Output{Metadata: delegation.Metadata{"n": json.RawMessage("1")}}},
	nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "no"}, Output: delegation.Output{Result: new("draft")}},
	nextstep.ReportError{},
}

func TestStep_JSON(t *testing.T) {
	for _, step := range steps {
		t.Run(step.Kind().String(), func(t *testing.T) {
			data, err := nextstep.Marshal(step)
			require.NoError(t, err)
			got, err := nextstep.Unmarshal(data)
			require.NoError(t, err)
			require.Equal(t, step, got)
		})
	}
}

var answers = []nextstep.Answer{
	nextstep.APIResponse{Response: &llmclient.Response{
		Message: conversation[2].(messages.Assistant), Finish: llmclient.FinishStop, Usage: messages.Usage{Input: 1, Output: 2, Total: 3, Cached: 4, Reasoning: 5},
		Model: "m-1", Asked: "m", ID: "r1", Read: 1, Attempts: []llmclient.Attempt{{Model: "m-0", Code: llmclient.CodeRateLimited, Error: "slow down", Usage: messages.Usage{Total: 1}, Wait: time.Second}},
	}},
	nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c1", ToolName: "add", Output: "3", Status: messages.StatusOK}},
	nextstep.DelegationResult{Output: delegation.Output{Result: new("r"), Counts: delegation.Counts{Steps: 2}, Untrusted: true, Err: &delegation.Error{Code: "x", Message: "y"}}},
	nextstep.Failure{Source: nextstep.SourceModel, Code: "auth", Message: "no key", Model: "m", Partial: messages.AssistantText("par"), Usage: messages.Usage{Input: 1}, Attempts: []llmclient.Attempt{{Error: "e"}}},
	nextstep.APIResponse{Response: &llmclient.Response{}},
	nextstep.ToolResult{Call: &messages.ToolCall{ID: "c1", Name: "add", Arguments: "{}", Extras: messages.Extras{"x": json.RawMessage("1")}}},
	nextstep.DelegationResult{},
	nextstep.Failure{},
}

func TestAnswer_JSON(t *testing.T) {
	for _, answer := range answers {
		data, err := nextstep.MarshalAnswer(answer)
		require.NoError(t, err)
		got, err := nextstep.UnmarshalAnswer(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, answer, got, "%s", data)
	}
}

// AppendAnswer writes the fields that the tags of the answers declare, after the kind.
// MarshalAnswer writes the same text with a version.
func TestAppendAnswer(t *testing.T) {
	kinds := []string{"api_response", "tool_result", "delegation_result", "failure"}
	for i, answer := range answers {
		data, err := nextstep.AppendAnswer([]byte("kept "), answer)
		require.NoError(t, err)
		data = data[len("kept "):]
		declared, err := nextstep.Encode(answer)
		require.NoError(t, err)
		require.JSONEq(t, `{"kind":"`+kinds[i%4]+`",`+string(declared[1:]), string(data))

		got, err := nextstep.ReadAnswer(data)
		require.NoError(t, err)
		require.Equal(t, answer, got)
		versioned, err := nextstep.MarshalAnswer(answer)
		require.NoError(t, err)
		require.Equal(t, `{"v":2,`+string(data[1:]), string(versioned))
	}
}

// Bytes that are not UTF-8, and raw provider bodies, are not kept.
func TestAppendAnswer_cleans(t *testing.T) {
	response := llmclient.Response{Model: "\xff", Raw: json.RawMessage(`{"secret":1}`)}
	data, err := nextstep.AppendAnswer(nil, nextstep.APIResponse{Response: &response})
	require.NoError(t, err)
	require.Equal(t, `{"kind":"api_response","response":{"message":{"role":"assistant","content":[]},"model":"`+"\uFFFD"+`"}}`, string(data))
	data, err = nextstep.AppendAnswer(nil, nextstep.DelegationResult{Output: delegation.Output{Data: json.RawMessage("\"\xff\xff\"")}})
	require.NoError(t, err)
	require.Equal(t, `{"kind":"delegation_result","output":{"data":"`+"\uFFFD"+`"}}`, string(data))
}

func TestAppendAnswer_refuses(t *testing.T) {
	broken := messages.Extras{"x": json.RawMessage("{")}
	for want, answer := range map[string]nextstep.Answer{
		"nextstep: <nil> is not an answer":             nil,
		"nextstep: *nextstep.Failure is not an answer": &nextstep.Failure{},
		"nextstep: api_response: it holds no response": nextstep.APIResponse{},
		"nextstep: api_response: messages: x":          nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Extras: broken}}},
		"nextstep: tool_result: messages: x":           nextstep.ToolResult{Call: &messages.ToolCall{Extras: broken}},
		"nextstep: failure: messages: x":               nextstep.Failure{Partial: messages.Assistant{Extras: broken}},
		"nextstep: delegation_result: json: error":     nextstep.DelegationResult{Output: delegation.Output{Data: broken["x"]}},
	} {
		_, err := nextstep.AppendAnswer(nil, answer)
		require.ErrorContains(t, err, want)
	}
}

func TestReadAnswer_refuses(t *testing.T) {
	for data, want := range map[string]string{
		`{`:                                    "nextstep: unexpected end of JSON input",
		`null`:                                 `unknown kind of answer ""`,
		`{"kind":"complete"}`:                  `unknown kind of answer "complete"`,
		`{"kind":"tool_results","results":[]}`: `unknown kind of answer "tool_results"`,
		`{"v":1,"kind":"tool_result","output":{}}`:                                        "an answer of version 1, want one without a version",
		`{"kind":"api_response"}`:                                                         `nextstep: api_response: the field "response" is missing`,
		`{"kind":"api_response","response":{}}`:                                           `nextstep: api_response: the field "response.message" is missing`,
		`{"kind":"api_response","elapsed":1,"response":{"message":{"role":"assistant"}}}`: `the field "elapsed" is unknown`,
		`{"kind":"tool_result"}`:                                                          `nextstep: tool_result: the field "output" is missing`,
		`{"kind":"delegation_result","output":{"err":{}}}`:                                `the field "output.err" is unknown`,
		`{"kind":"failure","source":"model","message":"m"}`:                               `nextstep: failure: the field "code" is missing`,
	} {
		_, err := nextstep.ReadAnswer([]byte(data))
		require.ErrorContains(t, err, want, data)
	}
	_, err := nextstep.UnmarshalAnswer([]byte(`{"v":1,"kind":"tool_results","body":{}}`))
	require.ErrorIs(t, err, nextstep.ErrVersion)
	require.ErrorContains(t, err, "answer of version 1, want 2")
}

func TestJSON_refuses(t *testing.T) {
	for in, want := range map[string]string{
		`{"v":1,"kind":"jump","body":{}}`:            `unknown kind of step "jump"`,
		`{"v":2,"kind":"complete","body":{}}`:        `version 2, want 1`,
		`{"v":1,"kind":"execute_tools","body":"no"}`: `nextstep: execute_tools`,
		`{`: `nextstep: unexpected end of JSON`,
	} {
		_, err := nextstep.Unmarshal([]byte(in))
		require.ErrorContains(t, err, want)
	}
	_, err := nextstep.UnmarshalAnswer([]byte(`{"v":2,"kind":"complete"}`))
	require.ErrorContains(t, err, `unknown kind of answer "complete"`)
	_, err = nextstep.Marshal(nil)
	require.ErrorContains(t, err, "<nil> is not a step")
	_, err = nextstep.Marshal(&nextstep.Complete{})
	require.ErrorContains(t, err, "*nextstep.Complete is not a step")
	_, err = nextstep.MarshalAnswer(nil)
	require.ErrorContains(t, err, "<nil> is not an answer")
}

func TestAnswers(t *testing.T) {
	fits := map[int][]nextstep.Kind{
		0: {nextstep.KindGetChatCompletion},
		1: {nextstep.KindExecuteTools},
		2: {nextstep.KindDelegate},
		3: {nextstep.KindGetChatCompletion, nextstep.KindExecuteTools, nextstep.KindDelegate},
	}
	for i, a := range answers[:4] {
		for k := nextstep.Kind(0); k <= nextstep.KindReportError; k++ {
			require.Equal(t, slices.Contains(fits[i], k), a.Answers(k), "%T answers %s", a, k)
		}
	}
}

func TestKind_text(t *testing.T) {
	for k := nextstep.KindGetChatCompletion; k <= nextstep.KindReportError; k++ {
		data, err := k.MarshalText()
		require.NoError(t, err)
		var got nextstep.Kind
		require.NoError(t, got.UnmarshalText(data))
		require.Equal(t, k, got)
	}
	_, err := nextstep.Kind(0).MarshalText()
	require.Error(t, err)
	require.Equal(t, "Kind(9)", nextstep.Kind(9).String())
	require.Error(t, new(nextstep.Kind).UnmarshalText([]byte("jump")))
}

// Any input gives an error, or a value that is written as it was read.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range steps {
		data, err := nextstep.Marshal(s)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, a := range answers {
		data, err := nextstep.MarshalAnswer(a)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if step, err := nextstep.Unmarshal(data); err == nil {
			once, err := nextstep.Marshal(step)
			require.NoError(t, err)
			again, err := nextstep.Unmarshal(once)
			require.NoError(t, err)
			twice, err := nextstep.Marshal(again)
			require.NoError(t, err)
			require.JSONEq(t, string(once), string(twice))
		}
		if answer, err := nextstep.UnmarshalAnswer(data); err == nil {
			once, err := nextstep.MarshalAnswer(answer)
			require.NoError(t, err)
			again, err := nextstep.UnmarshalAnswer(once)
			require.NoError(t, err)
			twice, err := nextstep.MarshalAnswer(again)
			require.NoError(t, err)
			require.JSONEq(t, string(once), string(twice))
		}
	})
}
