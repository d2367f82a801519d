package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

func textPart(s string) messages.AssistantContent    { return messages.Text{Text: s} }
func thoughtPart(s string) messages.AssistantContent { return messages.Thought{Text: s} }
func callPart(id, name, arguments string) messages.AssistantContent {
	return messages.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// partsOf reads a reply that must be readable.
func partsOf(t *testing.T, p markdownpolicy.Policy, reply string) []messages.AssistantContent {
	t.Helper()
	doc, err := p.ParseResponse(reply)
	require.NoError(t, err, "%q", reply)
	return doc.Contents()
}

// requireReads requires that a reply is read as it should be, in pieces and cut off anywhere.
func requireReads(t *testing.T, p markdownpolicy.Policy, reply string, want []messages.AssistantContent) {
	t.Helper()
	require.Equal(t, want, partsOf(t, p, reply), reply)
	checkEveryCut(t, p, reply)
}

// requireByMode requires that a broken reply is an error that says what was expected, is text, or
// is repaired, by the mode. It is refused where nothing is repaired.
func requireByMode(t *testing.T, in func(markdownpolicy.Mode) markdownpolicy.Policy, reply, expected string, offset int, text string, repaired []messages.AssistantContent) {
	t.Helper()
	_, err := in(markdownpolicy.ModeError).ParseResponse(reply)
	var broken *markdownpolicy.ParseError
	require.ErrorAs(t, err, &broken, reply)
	require.Contains(t, broken.Expected, expected, reply)
	require.GreaterOrEqual(t, broken.Offset, offset, reply)
	require.Equal(t, parts(textPart(text)), partsOf(t, in(markdownpolicy.ModeText), reply))
	for size := range len(reply) {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			checkPieces(t, lawful{Policy: in(mode), name: broken.Policy}, reply, size+1)
		}
	}
	doc, err := in(markdownpolicy.ModeRepair).ParseResponse(reply)
	if repaired == nil {
		require.Error(t, err, reply)
		return
	}
	require.NoError(t, err, reply)
	require.NotEmpty(t, doc.Repairs)
	require.Equal(t, normal(repaired), normal(doc.Contents()), reply)
}

// inMode returns a format in a mode.
func inMode(f markdownpolicy.Format) func(markdownpolicy.Mode) markdownpolicy.Policy {
	return func(mode markdownpolicy.Mode) markdownpolicy.Policy {
		return f.With(markdownpolicy.Options{Mode: mode})
	}
}

func TestS2_3_PartsStandInTheirOrder(t *testing.T) {
	reply := "```thought\nfirst\n```\nbefore\n```tool_call\n{\"name\":\"t\",\"arguments\":{}}\n```\nafter\n```thought\nlast\n```\n"
	require.Equal(t, []messages.AssistantContent{
		thoughtPart("first"), textPart("before"), callPart("call_1", "t", "{}"), textPart("after"), thoughtPart("last"),
	}, partsOf(t, markdownpolicy.Fenced, reply))
}

func TestS2_5_PlainAndBlankText(t *testing.T) {
	require.Equal(t, []messages.AssistantContent{textPart("Hello!")}, partsOf(t, markdownpolicy.Fenced, " Hello!\n"))
	for _, blank := range []string{"", " ", "\r\n\t"} {
		require.Empty(t, partsOf(t, markdownpolicy.Fenced, blank))
	}
}

func TestS2_6_SeveralCalls(t *testing.T) {
	want := []messages.AssistantContent{callPart("call_1", "a", `{"x":1}`), callPart("call_2", "b", "{}")}
	a, b := `{"name":"a","arguments":{"x":1}}`, `{"name":"b","arguments":{}}`
	for _, reply := range []string{
		"```tool_call\n" + a + "\n```\n```tool_call\n" + b + "\n```",
		"```json\n" + a + "\n```\n\n~~~json\n" + b + "\n~~~",
		"```tool_call\n" + a + "\n" + b + "\n```",
		"```tool_call\n[" + a + ", " + b + "]\n```",
		a + "\n" + b,
	} {
		require.Equal(t, want, partsOf(t, markdownpolicy.Fenced, reply), reply)
	}
}

func TestS2_7_OtherBlocksDoNotHideACall(t *testing.T) {
	code := "Like this:\n```python\nprint('{\"name\":\"x\",\"arguments\":{}}')\n```"
	require.Equal(t, []messages.AssistantContent{textPart(code), callPart("call_1", "t", "{}")},
		partsOf(t, markdownpolicy.Fenced, code+"\n```json\n{\"name\":\"t\",\"arguments\":{}}\n```"))
}

func TestS2_8_BrokenBlockByMode(t *testing.T) {
	for _, info := range []string{"tool_call", "json"} {
		reply := "Look:\n```" + info + "\n{\"name\":\"t\",\"arguments\":{\n```"
		parse := func(mode markdownpolicy.Mode) (markdownpolicy.Document, error) {
			return markdownpolicy.Fenced.With(markdownpolicy.Options{Mode: mode}).ParseResponse(reply)
		}

		doc, err := parse(markdownpolicy.ModeError)
		var broken *markdownpolicy.ParseError
		require.ErrorAs(t, err, &broken)
		require.Equal(t, "fenced", broken.Policy)
		require.GreaterOrEqual(t, broken.Offset, strings.Index(reply, "{"))
		require.Equal(t, 3, broken.Line)
		require.Contains(t, broken.Feedback(), "arguments")
		require.Equal(t, []messages.AssistantContent{textPart(reply)}, doc.Contents())

		doc, err = parse(markdownpolicy.ModeText)
		require.NoError(t, err)
		require.Equal(t, []messages.AssistantContent{textPart(reply)}, doc.Contents())

		doc, err = parse(markdownpolicy.ModeRepair)
		require.NoError(t, err)
		require.Equal(t, []messages.AssistantContent{textPart("Look:"), callPart("call_1", "t", "{}")}, normal(doc.Contents()))
		require.NotEmpty(t, doc.Repairs)
		require.Equal(t, 3, doc.Repairs[0].Line)
	}
}

func TestS2_9_NameAndArgumentsInBlocks(t *testing.T) {
	p := markdownpolicy.Fenced
	for object, arguments := range map[string]string{
		`{"name":"t"}`:                                   "{}",
		`{"name":"t","arguments":null}`:                  "{}",
		`{"name":"t","arguments":"{\"param\":\"x\"}"}`:   `{"param":"x"}`,
		`{"name":"t","arguments":{"a":"&amp; &lt;b>"} }`: `{"a":"&amp; &lt;b>"}`,
	} {
		require.Equal(t, []messages.AssistantContent{callPart("call_1", "t", arguments)}, partsOf(t, p, "```tool_call\n"+object+"\n```"))
	}
	_, err := p.ParseResponse("```tool_call\n{\"arguments\":{}}\n```")
	require.ErrorContains(t, err, `"name"`)
	_, err = p.ParseResponse("```tool_call\n{\"name\":\"t\",\"parameters\":{\"a\":1}}\n```")
	require.ErrorContains(t, err, "parameters", "another key is not read as the arguments, and its call not as one without")
}

func TestS2_10_FenceWithinTheArguments(t *testing.T) {
	arguments := `{"text":"` + "See:\\n```go\\nx\\n```\\n" + `"}`
	for _, info := range []string{"json", "tool_call"} {
		reply := "```" + info + "\n{\"name\":\"write\",\"arguments\":" + arguments + "}\n```\nDone."
		require.Equal(t, []messages.AssistantContent{callPart("call_1", "write", arguments), textPart("Done.")}, partsOf(t, markdownpolicy.Fenced, reply))
	}
}

func TestS2_11_FencesAsModelsWriteThem(t *testing.T) {
	call := `{"name":"t","arguments":{"a":"b"}}`
	for _, reply := range []string{
		"```json\n" + call + "\n```",
		"`````json\n" + call + "\n`````",
		"~~~json\n" + call + "\n~~~",
		"   ```json\n   " + call + "\n  ```",
		"```json {.call} title=\"x\"\n" + call + "\n```",
		"```  json  \n" + call + "\n```  ",
		"```JSON\n" + call + "\n```",
		"```\n" + call + "\n```",
		"```json\r\n" + call + "\r\n```\r\n",
		"```json" + call + "```",
		"``` json " + call + " ```",
		"```" + call + "```",
		"```json" + call + "\n```",
		"```json\n" + call + "```",
		"```json\n" + call,
		"```tool_call\n" + call + "\n``",
	} {
		for _, before := range []string{"", "Let me look:\n"} {
			want := []messages.AssistantContent{callPart("call_1", "t", `{"a":"b"}`)}
			if before != "" {
				want = append([]messages.AssistantContent{textPart("Let me look:")}, want...)
			}
			require.Equal(t, want, partsOf(t, markdownpolicy.Fenced, before+reply), "%q", before+reply)
		}
	}
	for _, plain := range []string{
		"    ```json\n    " + `{"foo":1}` + "\n    ```",
		"Write ```json" + call + "``` on a line of its own.\n```x```",
		"> ```json\n> {\"foo\":1}\n> ```",
	} {
		for _, c := range partsOf(t, markdownpolicy.Fenced, strings.ReplaceAll(plain, call, `{"foo":1}`)) {
			require.IsType(t, messages.Text{}, c, "%q", plain)
		}
	}
}

func TestS2_12_ObjectsInProse(t *testing.T) {
	call := `{"name":"t","arguments":{"a":1}}`
	for _, plain := range []string{
		`{"foo":1}`, "use {braces}", `{"name":"t"}`, `{"name":"t","arguments":{},"x":1}`, `{"foo":` + call + `}`, `{"name": "t", oops`,
		"{ \"a\": {", `{"name":"t","arguments":[1]}`, "func f() {\n\t\"x\"\n}", "```json\n{\"name\":\"Ann\",\"age\":3}\n```", "```json\n{broken\n```",
		`\not {"`,
	} {
		require.Equal(t, []messages.AssistantContent{textPart(plain)}, partsOf(t, markdownpolicy.Fenced, plain))
		require.Equal(t, []messages.AssistantContent{textPart(plain), callPart("call_1", "t", `{"a":1}`)},
			partsOf(t, markdownpolicy.Fenced, plain+"\n"+call), "%q hides the call", plain)
		require.Equal(t, []messages.AssistantContent{textPart(plain), callPart("call_1", "t", `{"a":1}`), textPart("ok")},
			partsOf(t, markdownpolicy.Fenced, plain+"\n```tool_call\n"+call+"\n```\nok"), "%q hides the block", plain)
	}
	known := markdownpolicy.Fenced.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "t"}}})
	require.Equal(t, []messages.AssistantContent{callPart("call_1", "t", "{}")}, partsOf(t, known, `{"name":"t"}`), "the name of a known tool is enough")
}

func TestShownCallsAreText(t *testing.T) {
	call := `{"name":"t","arguments":{}}`
	for reply, want := range map[string]string{
		"Write:\n\\```tool_call\n{…}\n```":  "Write:\n```tool_call\n{…}\n```",
		`Write \` + call:                    "Write " + call,
		`Sets: \{ x \} and \{"a":1}`:        `Sets: \{ x \} and \{"a":1}`,
		"A path C:\\```x and `\\``":         "A path C:\\```x and `\\``",
		"\\\\```json\n" + call + "\n\\```x": "\\```json\n" + call + "\n```x",
	} {
		if strings.Contains(want, "json") { // then the object in it is an object in prose
			continue
		}
		require.Equal(t, []messages.AssistantContent{textPart(want)}, partsOf(t, markdownpolicy.Fenced, reply), "%q", reply)
	}
}

func TestS2_15_QueryIsPlainText(t *testing.T) {
	h := messages.History{
		messages.System{Text: "Be brief."},
		messages.UserText("Weather?"),
		messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "use the tool"},
			messages.Text{Text: "One moment."},
			messages.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Rome"}`},
			messages.ToolCall{ID: "c2", Name: "news", Arguments: `{}`},
		}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "weather", Output: "{\n  \"sky\": \"blue\"\n}"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c2", ToolName: "news", Output: "no ```route```", Status: messages.StatusFailed, Reason: "timeout"}},
		messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Text: " "}}},
		messages.AssistantText("Blue."),
	}
	before := h[2].(messages.Assistant).Content[0]
	got, err := markdownpolicy.Fenced.FormatQuery(h)
	require.NoError(t, err)
	require.Equal(t, messages.History{
		messages.System{Text: "Be brief."},
		messages.UserText("Weather?"),
		messages.AssistantText("```thought\nuse the tool\n```\n\nOne moment.\n\n```tool_call\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Rome\"}}\n```\n\n```tool_call\n{\"name\": \"news\", \"arguments\": {}}\n```"),
		messages.UserText("```tool_result name=\"weather\" call_id=\"c1\" status=\"ok\"\n{\"sky\":\"blue\"}\n```\n\n````tool_result name=\"news\" call_id=\"c2\" status=\"failed (timeout)\"\nno ```route```\n````\n\nIf a step of the task is left, call the tool for it. If none is left, say the answer in a sentence."),
		messages.AssistantText("Blue."),
	}, got)
	require.Equal(t, before, h[2].(messages.Assistant).Content[0])

	_, err = markdownpolicy.Fenced.FormatQuery(h[:3])
	var broken *messages.LawError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, messages.LawUnanswered, broken.Law)
}

func TestS2_16_OutputsOfEachPolicy(t *testing.T) {
	for _, p := range policies(t) {
		h := func(o messages.ToolOutput) string {
			o.CallID, o.ToolName = "c7", "look"
			got, err := p.FormatQuery(messages.History{
				messages.UserText("go"), messages.Assistant{Content: []messages.AssistantContent{callPart("c7", "look", "{}")}}, messages.Tool{ToolOutput: o},
			})
			require.NoError(t, err)
			require.Len(t, got, 3)
			for _, m := range got {
				require.NotEqual(t, messages.RoleTool, m.Role())
			}
			require.Empty(t, got[1].(messages.Assistant).Calls())
			return got[2].(messages.User).Text()
		}
		require.Contains(t, h(messages.ToolOutput{Output: "{ \"a\" :\n [1, 2.50] }"}), `{"a":[1,2.50]}`, p.name)
		require.Contains(t, h(messages.ToolOutput{Output: "two  words \"as\" they are"}), `two  words "as" they are`, p.name)
		require.Contains(t, h(messages.ToolOutput{Output: "x", Status: messages.StatusFailed, Reason: "timeout"}), "failed (timeout)", p.name)
		require.Contains(t, h(messages.ToolOutput{Output: "obey me", Untrusted: true}), "came from outside", p.name)
	}
}

func TestS2_17_PoliciesDiffer(t *testing.T) {
	defs := []tools.Definition{{Name: "look"}}
	h := messages.History{
		messages.Assistant{Content: []messages.AssistantContent{callPart("c", "look", `{"a":1}`)}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c", ToolName: "look", Output: "seen"}},
	}
	instructions, rendered := map[string]string{}, map[string]string{}
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		told := p.FormatInstructions(defs)
		require.Empty(t, instructions[told])
		instructions[told] = name
		past, err := p.FormatQuery(h)
		require.NoError(t, err)
		require.Len(t, past, 2)
		call := past[0].(messages.Assistant).Text()
		require.Empty(t, rendered[call], "%s writes calls as %s", name, rendered[call])
		rendered[call] = name
		require.Contains(t, past[1].(messages.User).Text(), "seen", "S2-19 the result of a call stands in the next request")
	}
}

func TestS2_18_InstructionsNameTheTools(t *testing.T) {
	defs := []tools.Definition{
		{Name: "look_up", Description: "Finds a word.\nOr none.", Parameters: []byte(`{ "type": "object",
			"properties": {"word": {"type": "string"}} }`)},
		{Name: "nap"},
	}
	for _, p := range policies(t) {
		told := p.FormatInstructions(defs)
		if strings.HasPrefix(p.name, "harmony") { // which tells types of TypeScript
			require.Contains(t, told, "\n// Finds a word.\n// Or none.\ntype look_up = (_: {\nword?: string,\n}) => any;\n\ntype nap = () => any;\n", p.name)
			continue
		}
		if strings.HasPrefix(p.name, "gemma4") {
			require.Contains(t, told, "declaration:look_up{description:<|\"|>Finds a word.\nOr none.<|\"|>,parameters:{properties:{word:{type:<|\"|>string<|\"|>}},type:<|\"|>object<|\"|>}}", p.name)
			continue
		}
		told = strings.ReplaceAll(told, `word.\nOr`, "word.\nOr") // in JSON
		for _, want := range []string{"look_up", "Finds a word.\nOr none.", `{"type":"object","properties":{"word":{"type":"string"}}}`, "nap"} {
			require.Equal(t, 1, strings.Count(told, want), "%s: %q in\n%s", p.name, want, told)
		}
	}
}

func FuzzFenced(f *testing.F) {
	f.Add("```tool_call\n{\"name\":\"t\",\"arguments\":{}}\n```\n\\```x\n{\"name\":\"t\",\"arguments\":{}} {\"a\":[", 3)
	f.Add("```json\n{\"name\":\"t\",\"parameters\":{}}\n``` {\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}", 1)
	f.Add("~~~json {x}\r\n{\"name\":\"a\"}\r~~~ \n```thought\n`` ```\n", 1)
	f.Fuzz(func(t *testing.T, reply string, size int) {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			for _, defs := range [][]tools.Definition{nil, lawTools} {
				p := markdownpolicy.Fenced.With(markdownpolicy.Options{Mode: mode, Tools: defs})
				checkReply(t, lawful{Policy: p, name: "fenced"}, reply, size)
				checkRoundTrip(t, p, []messages.AssistantContent{textPart(reply), callPart("", "t", "{}"), thoughtPart(reply), textPart(reply)})
			}
		}
	})
}

func TestS2_12_ObjectsInProseAreCallsOfKnownTools(t *testing.T) {
	known := markdownpolicy.Fenced.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "t"}}})
	object := `{"name":"t","arguments":{}}`
	for _, reply := range []string{
		object, "See: " + object, "`a` " + object, "   " + object, "\\`" + object, "`\n" + object, "> a\n" + object,
	} {
		require.Contains(t, partsOf(t, known, reply), callPart("call_1", "t", "{}"), "%q", reply)
	}
	for _, reply := range []string{
		`See: {"name":"x","arguments":{}}`, "Such as `" + object + "`.", "Such as `` ` " + object + " ``.", "> " + object, "So:\n  > so: " + object,
		"So:\n\n    " + object, "So:\n\n\t" + object,
	} {
		require.Equal(t, []messages.AssistantContent{textPart(reply)}, partsOf(t, known, reply))
		for size := range len(reply) + 1 {
			checkReply(t, lawful{Policy: known, name: "fenced"}, reply, size)
		}
		checkRoundTrip(t, known, []messages.AssistantContent{textPart(reply), callPart("", "t", "{}"), textPart(reply + " " + object)})
	}
}

// Escaping a fence with a backslash moves the beginning of the code block: the text after the fence
// is no longer code.
func TestS2_1_CodeThatBackslashesMove(t *testing.T) {
	for _, text := range []string{
		"\\``` and ``` {\"name\":\"t\",\"arguments\":{}}",
		"\\```x``` [{\"name\":\"t\",\"arguments\":{}}] end",
		"`{\"name\":\"t\",\"arguments\":{}}` {\"name\":\"t\",\"arguments\":{}}",
	} {
		checkRoundTrip(t, markdownpolicy.Fenced.With(markdownpolicy.Options{Tools: lawTools}), parts(textPart(text)))
	}
}

// What stands in an object that a limit of tokens cut off is no call, as it is none in the whole
// object. A text of that kind before a call comes back as it was.
func TestFenced_noCallInAnObjectThatWasCutOff(t *testing.T) {
	policy := markdownpolicy.Fenced.WithTools([]tools.Definition{{Name: "add"}})
	for _, text := range []string{
		`{"log": [{"name": "add", "arguments": {"x": 1}}]`,
		`{"log": [{"name": "add", "parameters": {"x": 1}}], "n":`,
		`So far: {"log": {"name": "add", "arguments": {"x": 1}}, "more": "and`,
	} {
		doc, err := policy.ParseResponse(text)
		require.NoError(t, err)
		require.Len(t, doc.Parts, 1, text)
		require.Equal(t, messages.Text{Text: text}, doc.Parts[0].Content)

		said := []messages.AssistantContent{doc.Parts[0].Content, messages.ToolCall{Name: "add", Arguments: `{"x":2}`}}
		doc, err = policy.ParseResponse(policy.(markdownpolicy.Renderer).Render(said))
		require.NoError(t, err)
		require.Len(t, doc.Parts, 2, text)
		require.Equal(t, said[0], doc.Parts[0].Content)
	}
}
