package delegation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

func roundTrip[T any](t require.TestingT, in T) T {
	data, err := json.Marshal(in)
	require.NoError(t, err)
	var out T
	require.NoError(t, json.Unmarshal(data, &out), "%s", data)
	return out
}

func TestInputJSON(t *testing.T) {
	data, err := json.Marshal(delegation.Input{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(data))

	in := delegation.Input{Goal: "sum up", Messages: messages.History{messages.UserText("<a>")}, Data: json.RawMessage(`{"n":1.50}`)}
	require.Equal(t, in, roundTrip(t, in))

	err = json.Unmarshal([]byte(`{"messages":{"v":9}}`), &in)
	require.ErrorContains(t, err, `unknown version "9"`)
}

func TestOutputJSON(t *testing.T) {
	text := func(s string) *string { return &s }
	out := delegation.Output{
		Messages: messages.History{messages.UserText("q"), messages.AssistantText("a")},
		Data:     json.RawMessage(`[1,2]`),
		Metadata: delegation.Metadata{"plan": json.RawMessage(`["x"]`)},
		Usage:    messages.Usage{Input: 3, Total: 4},
		Counts:   delegation.Counts{Steps: 3, ModelCalls: 2, ToolCalls: 1},
		Elapsed:  time.Second,
		Err:      &delegation.Error{Code: delegation.CodeLimit, Message: "steps"},
	}
	for name, result := range map[string]*string{"absent": nil, "empty": text(""), "present": text("done")} {
		t.Run(name, func(t *testing.T) {
			out.Result, out.Untrusted = result, result == nil
			back := roundTrip(t, out)
			require.Equal(t, out, back)
			require.Equal(t, result == nil, back.Result == nil, "an absent result is not an empty one")
		})
	}

	data, err := json.Marshal(delegation.Output{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(data))
}

func TestOutputJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := delegation.Output{
			Result:  rapid.Ptr(rapid.String(), true).Draw(t, "result"),
			Usage:   messages.Usage{Input: rapid.Int64().Draw(t, "input"), Reasoning: rapid.Int64().Draw(t, "reasoning")},
			Counts:  delegation.Counts{Steps: rapid.Int().Draw(t, "steps"), ToolCalls: rapid.Int().Draw(t, "calls")},
			Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")),
		}
		if rapid.Bool().Draw(t, "failed") {
			out.Err = &delegation.Error{Code: delegation.Code(rapid.String().Draw(t, "code")), Message: rapid.String().Draw(t, "message")}
		}
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			out.Messages = append(out.Messages, messages.AssistantText(rapid.String().Draw(t, "text")))
		}
		require.Equal(t, out, roundTrip(t, out))
	})
}

func TestOutputViews(t *testing.T) {
	result := "done"
	first := messages.ToolOutput{CallID: "1", Output: "x"}
	second := messages.ToolOutput{CallID: "2", Status: messages.StatusFailed}
	out := delegation.Output{Result: &result, Messages: messages.History{
		messages.UserText("not mine"), messages.AssistantText("a"),
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{}}},
		messages.Tool{ToolOutput: first},
		messages.Tool{ToolOutput: second},
		messages.AssistantText("b"),
	}}
	require.Equal(t, "done", out.Text())
	require.Equal(t, []string{"a", "b"}, out.Texts())
	require.Equal(t, []messages.ToolOutput{first, second}, out.ToolMetas())

	require.Equal(t, "", delegation.Output{}.Text())
	require.Nil(t, delegation.Output{}.Texts())
	require.Nil(t, delegation.Output{}.ToolMetas())
}

// A turn is what follows the conversation of the input. The work of children is at its place.
func TestOutputTurn(t *testing.T) {
	tool := func(id string) messages.Tool { return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id}} }
	grandchild := delegation.Output{Messages: messages.History{messages.AssistantText("grandchild"), tool("3")}}
	child := delegation.Output{
		Begin:    1,
		Messages: messages.History{messages.AssistantText("handed over"), messages.AssistantText("child"), messages.AssistantText("child again")},
		Parts:    delegation.PartsOf(grandchild, "b", 2),
	}
	out := delegation.Output{
		Begin:    2,
		Messages: messages.History{messages.AssistantText("old"), tool("0"), messages.AssistantText("plan"), tool("1"), messages.AssistantText("answer")},
		Parts:    delegation.PartsOf(child, "a", 4),
	}
	require.Equal(t, []string{"plan", "child", "grandchild", "child again", "answer"}, out.Texts())
	require.Equal(t, []messages.ToolOutput{tool("1").ToolOutput, tool("3").ToolOutput}, out.ToolMetas())
	require.Equal(t, []string{"a", "a/b", "a"}, []string{out.Parts[0].Name, out.Parts[1].Name, out.Parts[2].Name})
	require.Equal(t, out, roundTrip(t, out))

	out.Begin = 99
	require.Equal(t, []string{"child", "grandchild", "child again"}, out.Texts(), "a place beyond the end is the end")
}

func TestMetadata(t *testing.T) {
	var m delegation.Metadata
	require.NoError(t, m.Set("attempts", 3))
	require.ErrorContains(t, m.Set("bad", func() {}), `delegation: metadata "bad": `)
	require.Len(t, m, 1)

	var attempts int
	found, err := m.Decode("attempts", &attempts)
	require.True(t, found)
	require.NoError(t, err)
	require.Equal(t, 3, attempts)

	found, err = m.Decode("missing", &attempts)
	require.False(t, found)
	require.NoError(t, err)

	found, err = m.Decode("attempts", new(string))
	require.True(t, found)
	require.ErrorContains(t, err, `delegation: metadata "attempts": `)

	_, err = delegation.Metadata(nil).Decode("x", &attempts)
	require.NoError(t, err)
	require.Equal(t, m, roundTrip(t, m))
}

func TestError(t *testing.T) {
	cause := fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)
	err := delegation.NewError(delegation.CodeInvalid, cause)
	require.EqualError(t, err, "reading: unexpected EOF")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	back := roundTrip(t, err)
	require.Equal(t, err.Code, back.Code)
	require.Equal(t, err.Message, back.Message)
	require.NoError(t, errors.Unwrap(back), "the cause stays in its process")

	none := delegation.NewError(delegation.CodeInvalid, nil)
	require.Equal(t, delegation.CodeDefect, none.Code)
	require.NotEmpty(t, none.Error())
}

func TestAsError(t *testing.T) {
	require.Nil(t, delegation.AsError(nil))

	own := &delegation.Error{Code: delegation.CodeLimit, Message: "steps"}
	require.Same(t, own, delegation.AsError(own))

	wrapped := delegation.AsError(fmt.Errorf("frame 0.1: %w", own))
	require.Equal(t, delegation.CodeLimit, wrapped.Code)
	require.EqualError(t, wrapped, "frame 0.1: steps", "the text is kept whole")
	require.ErrorIs(t, wrapped, own)

	other := delegation.AsError(io.EOF)
	require.Equal(t, delegation.CodeFailed, other.Code)
	require.ErrorIs(t, other, io.EOF)
}

// A limit that there is not is printed as that, alone and within what holds it, and no other is.
func TestLimits_String(t *testing.T) {
	none := delegation.Limits{Depth: -1, Steps: -1, ModelCalls: -1, ToolCalls: -1, InputTokens: -1, OutputTokens: -1, TotalTokens: -1, Cost: -1, Duration: -1, Handoffs: -1}
	require.Equal(t, 10, strings.Count(none.String(), "no limit"))
	some := delegation.Limits{Steps: 1000, ModelCalls: -7, Cost: messages.Dollar / 2, Duration: -time.Second, TotalTokens: 5}
	require.Equal(t, "depth 0, steps 1000, model_calls no limit, tool_calls 0, input_tokens 0, output_tokens 0, total_tokens 5, cost $0.50, duration no limit, handoffs 0", some.String())
	require.NotContains(t, fmt.Sprintf("%+v", struct{ Left delegation.Limits }{none}), "-1")
	text, err := json.Marshal(none)
	require.NoError(t, err)
	require.Contains(t, string(text), `"cost":-1,"duration":-1`)
}
