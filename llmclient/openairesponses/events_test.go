package openairesponses_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Each event that holds the content of an item is enough, and several of them are the same content
// once.
func TestStream_anyEventHasTheContent(t *testing.T) {
	f := toolCall("a", "f")
	args := []string{
		`{"type":"response.output_item.added","output_index":0,"item":` + f.item(`{"x":1}`) + `}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_a","output_index":0,"delta":"{\"x\":1}"}`,
		`{"type":"response.function_call_arguments.done","item_id":"fc_a","output_index":0,"arguments":"{\"x\":1}"}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + f.item(`{"x":1}`) + `}`,
		`{"type":"response.completed","response":` + speech{}.response("completed", []string{f.item(`{"x":1}`)}) + `}`,
	}
	added := `{"type":"response.output_item.added","output_index":0,"item":` + text().begun() + `}`
	texts := []string{
		strings.Replace(added, `"content":[]`, `"content":[{"type":"output_text","text":"Hello"}]`, 1),
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello"}`,
		`{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"Hello"}`,
		`{"type":"response.content_part.done","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Hello"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + text().item("Hello") + `}`,
		`{"type":"response.completed","response":` + speech{}.response("completed", []string{text().item("Hello")}) + `}`,
	}
	bare := map[string]string{ // the same events without the content
		"response.output_item.added": `{"type":"response.output_item.added","output_index":0,"item":` + f.begun() + `}`,
		"response.output_item.done":  `{"type":"response.output_item.done","output_index":0,"item":` + f.item("") + `}`,
		"response.completed":         `{"type":"response.completed","response":` + speech{}.response("completed", []string{f.item("")}) + `}`,
	}
	said := map[string]string{
		"response.output_item.added": added,
		"response.output_item.done":  `{"type":"response.output_item.done","output_index":0,"item":` + text().item("") + `}`,
		"response.completed":         `{"type":"response.completed","response":` + speech{}.response("completed", []string{text().item("")}) + `}`,
	}
	pick := func(all []string, without map[string]string, picked int) (data []string) {
		for i, e := range all {
			kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
			if picked>>i&1 == 1 {
				data = append(data, e)
			} else if other := without[kind]; other != "" {
				data = append(data, other)
			}
		}
		return data
	}
	for picked := 1; picked < 1<<len(args); picked++ {
		resp, err := ask(t, sayEvents(t, pick(args, bare, picked)...))
		require.Equal(t, []messages.ToolCall{call("a", "f", `{"x":1}`)}, must(t, resp, err).Message.Calls(), "%05b", picked)
		heard := ""
		ctx := llmclient.WithCallDeltas(t.Context(), func(d llmclient.CallDelta) { heard += d.Text })
		_, failed := newClient(t, sayEvents(t, pick(args, bare, picked)...)).Complete(ctx, hello(), func(llmclient.Delta) {})
		require.NoError(t, failed)
		require.Equal(t, `{"x":1}`, heard, "%05b", picked)
	}
	for picked := 1; picked < 1<<len(texts); picked++ {
		resp, err := ask(t, sayEvents(t, pick(texts, said, picked)...))
		require.Equal(t, "Hello", must(t, resp, err).Message.Text(), "%06b", picked)
	}
}

// Parts of one item, each of which another event has.
func TestStream_anyEventHasThePart(t *testing.T) {
	at := func(part string) string { return `"item_id":"msg_1","output_index":0,"content_index":` + part }
	end := speech{}.events()[2]
	resp, err := ask(t, sayEvents(t,
		`{"type":"response.output_text.delta",`+at("0")+`,"delta":"One, "}`, `{"type":"response.output_text.done",`+at("0")+`,"text":"One, two, "}`,
		`{"type":"response.output_text.done",`+at("1")+`,"text":"three, "}`,
		`{"type":"response.content_part.done",`+at("1")+`,"part":{"type":"output_text","text":"three, "}}`,
		`{"type":"response.output_text.delta",`+at("2")+`,"delta":"four"}`, `{"type":"response.output_text.done",`+at("3")+`,"text":"four"}`, end))
	require.Equal(t, "One, two, three, four", must(t, resp, err).Message.Text())

	resp, err = ask(t, sayEvents(t, `{"type":"response.refusal.done",`+at("0")+`,"refusal":"I will not."}`, end))
	require.Equal(t, "I will not.", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)

	const rs = `"item_id":"rs_1","output_index":0,"summary_index":`
	resp, err = ask(t, sayEvents(t,
		`{"type":"response.reasoning_summary_text.done",`+rs+`0,"text":"One."}`,
		`{"type":"response.reasoning_summary_text.delta",`+rs+`1,"delta":"Two."}`, `{"type":"response.reasoning_summary_text.done",`+rs+`1,"text":"Two."}`,
		`{"type":"response.reasoning_summary_part.done",`+rs+`1,"part":{"type":"summary_text","text":"Two."}}`, end))
	require.Equal(t, "One.\n\nTwo.", must(t, resp, err).Message.Thought())
	resp, err = ask(t, sayEvents(t, `{"type":"response.reasoning_text.done",`+rs+`0,"text":"I think."}`, end))
	require.Equal(t, "I think.", must(t, resp, err).Message.Thought())
}

// The name of a call may come with its arguments alone.
func TestStream_nameAtTheEnd(t *testing.T) {
	resp, err := ask(t, sayEvents(t, `{"type":"response.function_call_arguments.done","item_id":"fc_a","output_index":0,"name":"f","arguments":"{}"}`, speech{}.events()[2]))
	require.Equal(t, []messages.ToolCall{call("fc_a", "f", "{}")}, must(t, resp, err).Message.Calls())
}

// Events that differ in blanks and in the order of members say the same; what truly differs is an
// error, and what is told twice is not made twice.
func TestStream_contradictions(t *testing.T) {
	added := `{"type":"response.output_item.added","output_index":0,"item":` + toolCall("a", "f").begun() + `}`
	pieces := func(args string) string {
		return `{"type":"response.function_call_arguments.delta","output_index":0,"delta":` + quoted(args) + `}`
	}
	done := func(args string) string {
		return `{"type":"response.function_call_arguments.done","output_index":0,"arguments":` + quoted(args) + `}`
	}
	end := speech{}.events()[2]
	for _, c := range []struct{ came, whole, want string }{
		{`{"x":1,"y":2}`, `{ "y": 2, "x": 1 }`, `{"x":1,"y":2}`},
		{`{"x":`, `{"x":1}`, `{"x":1}`},
		{`{"x":1}`, `{"x":`, `{"x":1}`},
		{`{"x":1}`, `{}`, `{"x":1}`},
		{`{}`, `{"x":1}`, `{"x":1}`},
		{`{"x":1}`, `null`, `{"x":1}`},
		{`{"x":1}`, `[]`, `{"x":1}`},
		{`{"x":1.0,"y":1e3}`, `{"x":1,"y":1000}`, `{"x":1.0,"y":1e3}`},
		{`{"x":1}{"x":1}`, `{"x":1}`, `{"x":1}`}, // the pieces came twice
		{` {"x":1 `, `{"x":1`, ` {"x":1 `},
		{` {"x":1`, `{"x":1}`, `{"x":1}`},
		{`{"x":1}`, `{"x":1.5}`, ""},
		{`{"x":1}`, `{"x":2}`, ""},
		{`{"x":`, `{"y":1}`, ""},
	} {
		resp, err := ask(t, sayEvents(t, added, pieces(c.came), done(c.whole), end))
		if c.want == "" {
			require.Equal(t, llmclient.CodeBadResponse, err.Code, c)
			require.Contains(t, err.Message, `call "f"`, c)
			continue
		}
		require.Equal(t, []messages.ToolCall{call("a", "f", c.want)}, must(t, resp, err).Message.Calls(), c)
	}
	said := `{"type":"response.output_text.delta","output_index":0,"delta":" four "}`
	half := `{"type":"response.output_text.delta","output_index":0,"delta":"It is \ud83d"}`
	resp, err := ask(t, sayEvents(t, half, strings.Replace(half, `It is \ud83d`, `\ude00.`, 1), `{"type":"response.output_text.done","output_index":0,"text":"It is 😀."}`, end))
	require.Equal(t, "It is \ufffd\ufffd.", must(t, resp, err).Message.Text())
	for whole, want := range map[string]string{"four": " four ", " four ": " four ", "four times": " four times", "five": ""} {
		resp, err := ask(t, sayEvents(t, said, `{"type":"response.output_item.done","output_index":0,"item":`+text().item(whole)+`}`, end))
		if want == "" {
			require.Equal(t, llmclient.CodeBadResponse, err.Code)
			require.Equal(t, " four ", err.Partial.Text())
			continue
		}
		require.Equal(t, want, must(t, resp, err).Message.Text())
	}
}

// A text of many blanks that is told often is not read each time: that would take minutes.
func TestStream_blanksAreLinear(t *testing.T) {
	data := []string{`{"type":"response.output_text.delta","output_index":0,"delta":"x` + strings.Repeat(" ", 1_000_000) + `"}`, `{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"` + strings.Repeat(" ", 1_000_000) + `"}`}
	for range 30_000 {
		data = append(data, `{"type":"response.output_text.done","output_index":0,"content_index":1,"text":" "}`)
	}
	resp, err := ask(t, sayEvents(t, append(data, speech{}.events()[2])...))
	require.Len(t, must(t, resp, err).Message.Text(), 2_000_001)
}

// Servers give several calls one index. Their ids tell them apart.
func TestStream_oneIndexForSeveralCalls(t *testing.T) {
	at := func(kind, id, rest string) string {
		return `{"type":"response.` + kind + `","output_index":0,"item_id":"fc_` + id + `",` + rest + `}`
	}
	f, g := toolCall("a", "f"), toolCall("b", "g")
	addedF, addedG := at("output_item.added", "a", `"item":`+f.begun()), at("output_item.added", "b", `"item":`+g.begun())
	pieceF, pieceG := at("function_call_arguments.delta", "a", `"delta":"{\"x\":1}"`), at("function_call_arguments.delta", "b", `"delta":"{\"x\":2}"`)
	endF, endG := at("function_call_arguments.done", "a", `"arguments":"{\"x\":1}"`), at("function_call_arguments.done", "b", `"arguments":"{\"x\":2}"`)
	doneF, doneG := at("output_item.done", "a", `"item":`+f.item(`{"x":1}`)), at("output_item.done", "b", `"item":`+g.item(`{"x":2}`))
	for name, data := range map[string][]string{
		"side by side":                  {addedF, addedG, pieceF, pieceG, endF, endG, doneF, doneG},
		"side by side, in pieces alone": {addedF, addedG, pieceF, pieceG},
		"side by side, whole alone":     {addedF, addedG, doneF, doneG},
		"other order":                   {addedF, addedG, pieceG, pieceF, endF, endG},
		"an end that is late":           {addedF, pieceF, doneF, addedG, endF, pieceG, doneG, endG},
	} {
		resp, err := ask(t, sayEvents(t, append(data, speech{}.events()[2])...))
		require.Equal(t, []messages.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{"x":2}`)}, must(t, resp, err).Message.Calls(), name)
	}
}

// A call that the provider says is cut, in a response that it says is whole.
func TestStream_cutCallInAWholeResponse(t *testing.T) {
	cut := toolCall("a", "f")
	cut.partial = true
	for args, code := range map[string]llmclient.Code{"": llmclient.CodeBadResponse, `{"x":1}`: ""} {
		resp, err := askWhole(t, sayJSON(t, speech{}.response("completed", []string{cut.item(args)})))
		if code == "" {
			require.Len(t, must(t, resp, err).Message.Calls(), 1)
			continue
		}
		require.Equal(t, code, err.Code)
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
