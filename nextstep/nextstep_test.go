package nextstep_test

import (
	"encoding/json"
	"errors"
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
		Message: conversation[2].(messages.Assistant), Finish: llmclient.FinishStop, Usage: messages.Usage{Input: 1, Output: 2, Total: 3},
		Attempts: []llmclient.Attempt{{Code: llmclient.CodeRateLimited, Wait: time.Second}},
	}, Elapsed: time.Second},
	nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1", ToolName: "add", Output: "3", Status: messages.StatusOK}}},
	nextstep.DelegationResult{Output: delegation.Output{Result: new("r"), Err: &delegation.Error{Code: "x", Message: "y"}}},
	nextstep.Failure{Source: nextstep.SourceModel, Code: "auth", Message: "no key", Partial: messages.AssistantText("par")},
	nextstep.Stop{Reason: "asked", Results: []messages.ToolOutput{{CallID: "c1", Status: messages.StatusUnknown}}},
}

func TestAnswer_JSON(t *testing.T) {
	for _, answer := range answers {
		data, err := nextstep.MarshalAnswer(answer)
		require.NoError(t, err)
		got, err := nextstep.UnmarshalAnswer(data)
		require.NoError(t, err)
		require.Equal(t, answer, got, "%s", data)
	}
}

// A cause lives only in the process it came from: a stored failure, and a strategy that is shown
// one, have none.
func TestFailure_causeIsNotStored(t *testing.T) {
	data, err := nextstep.MarshalAnswer(nextstep.Failure{Code: "x", Message: "m", Err: errors.New("secret")})
	require.NoError(t, err)
	require.NotContains(t, string(data), "secret")
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
	_, err := nextstep.UnmarshalAnswer([]byte(`{"v":1,"kind":"complete","body":{}}`))
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
		4: {nextstep.KindGetChatCompletion, nextstep.KindExecuteTools, nextstep.KindDelegate},
	}
	for i, a := range answers {
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

// Any bytes are an error or a value that is written as it was read.
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
