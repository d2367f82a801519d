package anthropic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
)

// The API refuses a failed result without a text, and blank texts in results.
func TestEncode_resultsWithoutAText(t *testing.T) {
	failed := func(id string, status messages.Status, reason, text string) messages.Tool {
		m := output(id, text)
		m.Status, m.Reason = status, reason
		return m
	}
	got := conversation(t, config{}, messages.UserText("go"), said(call("a", "f", "{}"), call("b", "f", "{}"), call("c", "f", "{}"), call("d", "f", "{}")),
		output("a", " \n"), failed("b", messages.StatusFailed, "timeout", ""), failed("c", messages.StatusUnknown, "", "\n"), failed("d", messages.StatusFailed, "", "no"))
	require.Contains(t, got, `[{"type":"tool_result","tool_use_id":"a"},`+
		`{"type":"tool_result","tool_use_id":"b","content":"The call failed, and the tool said nothing. Reason: timeout","is_error":true},`+
		`{"type":"tool_result","tool_use_id":"c","content":"The call was cut off. It may have had its effect.","is_error":true},`+
		`{"type":"tool_result","tool_use_id":"d","content":"no","is_error":true}]`)
}

// "The final block in an assistant message cannot be `thinking`": a reply that was cut in its call,
// and has lost it, ends so.
func TestEncode_thoughtsAtTheEnd(t *testing.T) {
	resp, err := askWhole(t, sayJSON(t, whole(`{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}`, "max_tokens")))
	cut := must(t, resp, err).Message
	require.Len(t, cut.Content, 1)
	got := conversation(t, config{}, messages.UserText("a"), cut, messages.UserText("go on"))
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"go on"}]}]`, got)

	got = conversation(t, config{}, messages.UserText("a"), said(signed("t", "s"), messages.Text{Text: "b"}, signed("t", "s"), messages.Text{Text: "\n"}), messages.UserText("c"))
	require.Contains(t, got, `[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b"}]`)
}

// The API says that final content must not end with trailing whitespace.
func TestEncode_blanksAtTheEnd(t *testing.T) {
	got := conversation(t, config{}, messages.UserText("a"), said(messages.Text{Text: "b \n"}), messages.UserText("c"), said(messages.Text{Text: "d "}, messages.Text{Text: "e \n"}))
	require.Contains(t, got, `{"type":"text","text":"b \n"}`)
	require.Contains(t, got, `[{"type":"text","text":"d "},{"type":"text","text":"e"}]`)
}

// "`tool_use` ids must be unique": other providers begin again in each reply.
func TestEncode_idsUsedAgain(t *testing.T) {
	turns := func(n int) (h messages.History) {
		h = append(h, messages.UserText("go"))
		for range n {
			h = append(h, said(call("call_0", "f", "{}"), call("call_0_2", "f", "{}")), output("call_0_2", "y"), output("call_0", "x"))
		}
		return h
	}
	got := conversation(t, config{}, turns(3)...)
	for _, pair := range [][2]string{{"call_0", "call_0_2"}, {"call_0_3", "call_0_2_2"}, {"call_0_4", "call_0_2_3"}} {
		require.Contains(t, got, `"id":"`+pair[0]+`","name":"f","input":{}},{"type":"tool_use","id":"`+pair[1]+`"`)
		require.Contains(t, got, `"tool_use_id":"`+pair[1]+`","content":"y"},{"type":"tool_result","tool_use_id":"`+pair[0]+`"`)
	}
	require.True(t, strings.HasPrefix(got, strings.TrimSuffix(conversation(t, config{}, turns(2)...), "]")))
}

// A model has called what is no name of a tool.
func TestEncode_namesThatAreNone(t *testing.T) {
	got := conversation(t, config{}, messages.UserText("go"), said(call("a", "functions.list users", "{\x80}"), call("b", strings.Repeat("é", 200), "{}")), output("a", "x"), output("b", "x"))
	require.Contains(t, got, `"name":"functions_list_users","input":{"INVALID_JSON":"{�}"}`)
	require.Contains(t, got, `"name":"`+strings.Repeat("_", 128)+`"`)
}

// A gateway ends the stream as if it were whole where its own provider broke off.
func TestStream_endInsideABlock(t *testing.T) {
	half := textBlock("0", "The answer is not")
	for _, end := range []string{messageStop, "[DONE]"} {
		_, err := ask(t, sayEvents(t, append(append([]string{messageStart}, half[:2]...), end)...))
		require.NotNil(t, err, end)
		require.Equal(t, llmclient.CodeTruncated, err.Code)
		require.Equal(t, "The answer is not", err.Partial.Text())
	}
}

// The API says "no low surrogate in string", and takes nothing of such a body.
func TestEncode_halfACharacter(t *testing.T) {
	got := conversation(t, config{}, messages.UserText("go"), said(call("a", "f", `{"x":"\ud83d","y":"\ud83d\ude00"}`)), output("a", "x"))
	require.Contains(t, got, `"input":{"x":"\ufffd","y":"\ud83d\ude00"}`)
}

// "cache_control may not be specified within `tool_result.content`. Instead, place it directly on
// `tool_result`".
func TestEncode_cachedPictureOfATool(t *testing.T) {
	const image = `{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}`
	seen := output("a", "look")
	seen.Images = []messages.Image{{URL: "https://x.example/a.png", Cache: messages.Cache1h}, {URL: "https://x.example/a.png"}}
	turn := messages.History{messages.UserText("go"), said(call("a", "f", "{}"))}
	require.Contains(t, conversation(t, config{}, append(turn, seen)...), `"content":[{"type":"text","text":"look"},`+image+`,`+image+`],"cache_control":{"type":"ephemeral","ttl":"1h"}}`)
	seen.Cache = messages.Cache5m
	require.Contains(t, conversation(t, config{}, append(turn, seen)...), image+`],"cache_control":{"type":"ephemeral"}}`)
	seen.Cache, seen.Status = messages.CacheNone, messages.StatusFailed
	require.Contains(t, conversation(t, config{}, append(turn, seen)...), `"is_error":true},`+strings.TrimSuffix(image, "}")+`,"cache_control":{"type":"ephemeral","ttl":"1h"}}`)
}

// The API takes no system message behind another one.
func TestEncode_systemMessagesInARow(t *testing.T) {
	h := []messages.Message{messages.UserText("a"), messages.System{Text: "be brief"}, messages.System{Text: " "}, messages.System{Text: "and kind", Cache: messages.Cache5m}}
	got := conversation(t, config{}, h...)
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"system","content":[{"type":"text","text":"be brief"},`+
		`{"type":"text","text":"and kind","cache_control":{"type":"ephemeral"}}]}]`, got)
	_, err := anthropic.Encode(config{}, one(append(h, messages.System{Text: "x", Name: "eve"})...), false)
	require.ErrorContains(t, err, `message 4 has the Name "eve"`)
}
