package openairesponses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// These servers do not do as OpenAI's does. The tests are named after docs/internal/scenarios.md.

func TestW8_ContentDecidesNotContentType(t *testing.T) {
	for _, contentType := range []string{"text/plain", "text/event-stream", ""} {
		resp, err := askWhole(t, say(t, 200, contentType, "\n\n "+speech{items: []part{text("hi")}}.whole()))
		require.Equal(t, "hi", must(t, resp, err).Message.Text(), contentType)
	}
	for body, code := range map[string]llmclient.Code{
		"<html><body>Log in</body></html>": llmclient.CodeBadResponse, " \n": llmclient.CodeTruncated, `{"output":[}`: llmclient.CodeBadResponse,
		"data: {]\n\n": llmclient.CodeBadResponse, ": nothing\n\n": llmclient.CodeTruncated, "data: [DONE]\n\n": llmclient.CodeTruncated,
	} {
		_, err := ask(t, say(t, 200, "application/json", body))
		require.Equal(t, code, err.Code, body)
	}
}

func TestW10_CallWithoutIDIsGivenOne(t *testing.T) {
	bare := part{kind: "function_call", rest: `,"name":"f"`, pieces: []string{"{}"}}
	resp := same(t, speech{items: []part{bare, bare}})
	require.Equal(t, []messages.ToolCall{call("call_1_0", "f", "{}"), call("call_1_1", "f", "{}")}, resp.Message.Calls())
	resp = same(t, speech{items: []part{toolCall("a", "f", "{}"), toolCall("a", "g", "{}")}})
	require.Equal(t, []messages.ToolCall{call("a", "f", "{}"), call("call_1_0", "g", "{}")}, resp.Message.Calls())
}

// W-4: arguments that are missing, null, or JSON itself.
func TestW4_Arguments(t *testing.T) {
	for raw, want := range map[string]string{`null`: "{}", `""`: "{}", `"null"`: "{}", `{"x": 1}`: `{"x": 1}`, `" {\"x\":1}"`: ` {"x":1}`, `7`: "7"} {
		item := `{"type":"function_call","call_id":"a","name":"f","arguments":` + raw + `}`
		resp, err := askWhole(t, sayJSON(t, speech{}.response("completed", []string{item})))
		require.Equal(t, []messages.ToolCall{call("a", "f", want)}, must(t, resp, err).Message.Calls(), raw)
		require.Equal(t, llmclient.FinishToolCalls, resp.Finish)
	}
}

// Streams that lack what others have, or have it twice or in another way, are the same reply.
func TestStream_inOtherWays(t *testing.T) {
	said := speech{items: []part{thought("e", "I look."), text("So: ", "four."), toolCall("a", "f", `{"x"`, `:1}`), toolCall("b", "f", `{}`)}}
	all := said.events()
	resp, err := ask(t, sayEvents(t, all...))
	want := must(t, resp, err)
	without := func(kinds ...string) (list []string) {
		for _, e := range all {
			keep := true
			for _, kind := range kinds {
				keep = keep && !strings.Contains(e, `{"type":"`+kind+`"`)
			}
			if keep {
				list = append(list, e)
			}
		}
		return list
	}
	changed := func(edit func(i int, e string) string) (list []string) {
		for i, e := range all {
			list = append(list, edit(i, e))
		}
		return list
	}
	last := all[len(all)-1]
	for name, data := range map[string][]string{
		"no deltas":                 without("response.output_text.delta", "response.reasoning_summary_text.delta", "response.function_call_arguments.delta"),
		"no items at their end":     without("response.output_item.done"),
		"no announcements":          without("response.output_item.added"),
		"only the end":              {last},
		"the end without its items": append(all[:len(all)-1:len(all)-1], `{"type":"response.completed","response":`+speech{}.response("completed", nil)+`}`),
		"DONE instead of the end":   append(all[:len(all)-1:len(all)-1], "[DONE]"),
		"ids that change": changed(func(i int, e string) string {
			for _, id := range []string{"rs_e", "msg_1", "fc_a", "fc_b"} {
				e = strings.ReplaceAll(e, `"item_id":"`+id, fmt.Sprintf(`"item_id":"x%d_%s`, i, id))
			}
			return e
		}),
		"no indexes": changed(func(_ int, e string) string { return strings.ReplaceAll(e, `"output_index"`, `"x"`) }),
		"one index": changed(func(_ int, e string) string {
			for i := range 4 {
				e = strings.ReplaceAll(e, fmt.Sprintf(`"output_index":%d`, i), `"output_index":0`)
			}
			return e
		}),
		"items done twice": changed(func(i int, e string) string {
			if strings.Contains(e, "output_item.done") {
				return e + "\n\ndata: " + e
			}
			return e
		}),
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, sayEvents(t, data...))
			require.Equal(t, want.Message, must(t, resp, err).Message)
			require.Equal(t, want.Finish, resp.Finish)
		})
	}
	_, err = ask(t, sayEvents(t, append(all[:len(all)-3:len(all)-3], "[DONE]")...))
	require.Equal(t, llmclient.CodeTruncated, err.Code, "an item is open")
}

// A reasoning item that only the end has stands before what it belongs to.
func TestStream_reasoningOnlyAtTheEnd(t *testing.T) {
	late := func(said speech, first int) *llmclient.Response {
		begun := speech{items: said.items[first:]}.events()
		resp, err := ask(t, sayEvents(t, append(begun[:len(begun)-1:len(begun)-1], said.events()[len(said.events())-1])...))
		return must(t, resp, err)
	}
	for _, summary := range [][]string{nil, {"I look."}} {
		said := speech{items: []part{thought("e", summary...), text("four")}}
		want, err := askWhole(t, sayJSON(t, said.whole()))
		require.Equal(t, must(t, want, err).Message, late(said, 1).Message)
	}
	said := speech{items: []part{thought("e", "First."), thought("f"), text("four")}}
	require.Equal(t, "First.", late(said, 1).Message.Thought())
	said = speech{items: []part{thought("e", "First."), thought("f", "Then."), text("four")}}
	resp := late(said, 1)
	require.Equal(t, "Then.", resp.Message.Thought(), "a summary that comes behind its successor's is not handed on")
	require.Len(t, resp.Message.Content, 3)
	require.JSONEq(t, said.items[0].item("First."), string(resp.Message.Content[0].(messages.Thought).Extras["openai_reasoning"]))
}

// The items of the whole response are those with the same ids, in whatever order it has them.
func TestStream_endInAnotherOrder(t *testing.T) {
	first, second := text("I look."), text("Four.")
	second.id, first.rest, second.rest = "msg_2", `,"phase":"commentary"`, `,"phase":"final_answer"`
	var data []string
	for _, e := range (speech{items: []part{first, second}}).events() {
		if !strings.Contains(e, "output_item.done") && !strings.Contains(e, "response.completed") {
			data = append(data, e)
		}
	}
	end := speech{}.response("completed", []string{second.item("Four."), first.item("I look.")})
	resp, err := ask(t, sayEvents(t, append(data, `{"type":"response.completed","response":`+end+`}`)...))
	require.Equal(t, "I look.\n\nFour.", must(t, resp, err).Message.Text())
	require.JSONEq(t, `["commentary","final_answer"]`, string(resp.Message.Extras["openai_phases"]))
}
