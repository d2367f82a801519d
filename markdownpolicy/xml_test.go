package markdownpolicy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// fileTools are tools with parameters of several types.
var fileTools = []tools.Definition{
	{Name: "read_file", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"},"all":{"type":["boolean","null"]}}}`)},
	{Name: "write_file", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)},
	{Name: "edit", Parameters: []byte(`{"type":"object","properties":{"lines":{"type":"array"},"how":{"anyOf":[{"type":"object"},{"type":"string"}]},"ratio":{"type":"number"}}}`)},
}

func TestS2_14_XMLReadsCalls(t *testing.T) {
	const call = "<tool_call><name>n</name><arguments>"
	for _, c := range []struct {
		name, reply string
		want        []messages.AssistantContent
	}{
		{"one", call + `{"a": 1}</arguments></tool_call>`, parts(callPart("call_1", "n", `{"a": 1}`))},
		{"over lines", "<tool_call>\n<name> n </name>\n<arguments>\n{}\n</arguments>\n</tool_call>", parts(callPart("call_1", "n", "{}"))},
		{"arguments first", "<tool_call><arguments>{}</arguments><name>n</name></tool_call>", parts(callPart("call_1", "n", "{}"))},
		{"no arguments", "<tool_call><name>n</name></tool_call>", parts(callPart("call_1", "n", "{}"))},
		{"null", call + "null</arguments></tool_call>", parts(callPart("call_1", "n", "{}"))},
		{"a string that holds an object", call + `"{\"a\":1}"</arguments></tool_call>`, parts(callPart("call_1", "n", `{"a":1}`))},
		{"tags in a string", call + `{"a":"</arguments></tool_call>"}</arguments></tool_call>`, parts(callPart("call_1", "n", `{"a":"</arguments></tool_call>"}`))},
		{"entities are left alone", call + `{"a":"&lt;b&gt;"}</arguments></tool_call>`, parts(callPart("call_1", "n", `{"a":"&lt;b&gt;"}`))},
		{"unclosed call", call + `{"a":1}</arguments>`, parts(callPart("call_1", "n", `{"a":1}`))},
		{"unclosed arguments", call + `{"a":1} `, parts(callPart("call_1", "n", `{"a":1}`))},
		{"cut within a closing tag", call + `{"a":1}</argum`, parts(callPart("call_1", "n", `{"a":1}`))},
		{"unknown tags", "a <b>bold</b> <read_file><path>x</path></read_file>", parts(textPart("a <b>bold</b> <read_file><path>x</path></read_file>"))},
		{"between texts", "See:" + call + "{}</arguments></tool_call>\nDone.", parts(textPart("See:"), callPart("call_1", "n", "{}"), textPart("Done."))},
		{"escaped", `\<tool_call> and \\<think>`, parts(textPart(`<tool_call> and \<think>`))},
		{"thoughts", "<think>a</think>b<think>c", parts(thoughtPart("a"), textPart("b"), thoughtPart("c"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireReads(t, markdownpolicy.XML, c.reply, c.want)
		})
	}
}

func TestS2_14_XMLReadsTagsOfTools(t *testing.T) {
	xml := markdownpolicy.XML.With(markdownpolicy.Options{Tools: fileTools})
	for _, c := range []struct {
		name, reply string
		want        []messages.AssistantContent
	}{
		{"typed", "<read_file><path> a.go </path><from>3</from><all>True</all></read_file>", parts(callPart("call_1", "read_file", `{"path":"a.go","from":3,"all":true}`))},
		{"a number as text", "<read_file><path>3</path><from>three</from></read_file>", parts(callPart("call_1", "read_file", `{"path":"3","from":"three"}`))},
		{"values in JSON", `<edit><lines>[1, "2"]</lines><how>{"x":1}</how><ratio>0.5</ratio></edit>`, parts(callPart("call_1", "edit", `{"lines":[1, "2"],"how":{"x":1},"ratio":0.5}`))},
		{
			"closing tags in the text", "<write_file><path>a</path><content>\n  x </content> y\n</path>\n</content></write_file>",
			parts(callPart("call_1", "write_file", `{"path":"a","content":"  x </content> y\n</path>"}`)),
		},
		{
			"tags of a tool in the text", "<write_file><content><read_file><path>x</path></read_file></content></write_file>",
			parts(callPart("call_1", "write_file", `{"content":"<read_file><path>x</path></read_file>"}`)),
		},
		{"no parameter", "<read_file></read_file>", parts(callPart("call_1", "read_file", "{}"))},
		{"unclosed", "<read_file><path>a</path>", parts(callPart("call_1", "read_file", `{"path":"a"}`))},
		{"in prose", "Use <read_file> for files.", parts(textPart("Use <read_file> for files."))},
		{"both forms", "<read_file></read_file><tool_call><name>x</name></tool_call>", parts(callPart("call_1", "read_file", "{}"), callPart("call_2", "x", "{}"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireReads(t, xml, c.reply, c.want)
		})
	}
}

func TestS2_8_XMLByMode(t *testing.T) {
	const call = "<tool_call><name>n</name><arguments>"
	for _, c := range []struct {
		reply, expected string
		offset          int
		repaired        []messages.AssistantContent // nil if it is refused
	}{
		{"Hi\n" + call + `{"a":["b"</arguments></tool_call>`, "arguments", 39, nil},
		{call + "{}</arguments> Done.", "<arguments>, <name> or </tool_call>", 51, parts(callPart("call_1", "n", "{}"), textPart("Done."))},
		{call + "text</arguments></tool_call>", "arguments", 36, nil},
		{"<tool_call><arguments>{}</arguments></tool_call>", "<name>", 0, nil},
		{"<tool_call>x", "<arguments>, <name> or </tool_call>", 11, nil},
		{call + `{"a":"b`, "</arguments>", 43, nil},
	} {
		requireByMode(t, inMode(markdownpolicy.XML), c.reply, c.expected, c.offset, c.reply, c.repaired)
	}
}

func TestXMLRendersAStringOfArguments(t *testing.T) {
	held := callPart("call_1", "n", `"{\"a\":\"</arguments></tool_call>\"}"`)
	written := markdownpolicy.XML.Render(parts(held))
	require.Equal(t, parts(callPart("call_1", "n", `{"a":"</arguments></tool_call>"}`)), partsOf(t, markdownpolicy.XML, written))
}

func TestXMLCutParameterIsAnError(t *testing.T) {
	xml := markdownpolicy.XML.With(markdownpolicy.Options{Tools: fileTools, Mode: markdownpolicy.ModeRepair})
	_, err := xml.ParseResponse("<write_file><path>a</path><content>half of it")
	require.ErrorContains(t, err, "expected </content>")
}

func TestS2_19_TagPoliciesRenderHistory(t *testing.T) {
	history := messages.History{
		messages.System{Text: "Be brief."},
		messages.UserText("Weather?"),
		messages.Assistant{Content: parts(thoughtPart("Look."), callPart("c1", "get_weather", `{"city":"Paris"}`), callPart("c2", "fetch", `{}`))},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "get_weather", Output: "{\n \"sky\": \"clear\" }"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c2", ToolName: "fetch", Output: "no </tool_response> [/TOOL_RESULTS] </tool_result>", Status: messages.StatusFailed, Reason: "timeout"}},
	}
	for name, want := range map[string][2]string{
		"xml": {
			"<think>\nLook.\n</think>\n<tool_call>\n<name>get_weather</name>\n<arguments>{\"city\":\"Paris\"}</arguments>\n</tool_call>\n<tool_call>\n<name>fetch</name>\n<arguments>{}</arguments>\n</tool_call>",
			"<tool_result name=\"get_weather\" call_id=\"c1\">\n{\"sky\":\"clear\"}\n</tool_result>\n<tool_result name=\"fetch\" call_id=\"c2\" status=\"failed (timeout)\">\nno </tool_response> [/TOOL_RESULTS] \\</tool_result>\n</tool_result>\n\nIf a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.",
		},
		"hermes": {
			"<think>\nLook.\n</think>\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"fetch\", \"arguments\": {}}\n</tool_call>",
			"<tool_response name=\"get_weather\" call_id=\"c1\">\n{\"sky\":\"clear\"}\n</tool_response>\n<tool_response name=\"fetch\" call_id=\"c2\" status=\"failed (timeout)\">\nno \\</tool_response> [/TOOL_RESULTS] </tool_result>\n</tool_response>\n\nIf a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.",
		},
		"mistral": {
			"[THINK]\nLook.\n[/THINK]\n[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}]\n[TOOL_CALLS][{\"name\": \"fetch\", \"arguments\": {}}]",
			"[TOOL_RESULTS]{\"name\": \"get_weather\", \"call_id\": \"c1\"}\n{\"sky\":\"clear\"}\n[/TOOL_RESULTS]\n[TOOL_RESULTS]{\"name\": \"fetch\", \"call_id\": \"c2\", \"status\": \"failed (timeout)\"}\nno </tool_response> \\[/TOOL_RESULTS] </tool_result>\n[/TOOL_RESULTS]",
		},
	} {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		got, err := p.FormatQuery(history)
		require.NoError(t, err)
		require.Equal(t, messages.History{history[0], history[1], messages.AssistantText(want[0]), messages.UserText(want[1])}, got)
	}
}

func parts(contents ...messages.AssistantContent) []messages.AssistantContent { return contents }

// checkEveryCut reads a reply in pieces of every size, and cut off at every place.
func checkEveryCut(t *testing.T, p markdownpolicy.Policy, reply string) {
	t.Helper()
	doc, err := p.ParseResponse(reply)
	for size := range len(reply) {
		for _, part := range must(p.ParseResponse(reply[:size])).Parts {
			if part.End > size {
				t.Fatalf("a part ends at %d of %d: %+v", part.End, size, part)
			}
		}
		if size > 16 && size%5 != 0 {
			continue
		}
		parser := p.(markdownpolicy.Streamer).NewParser()
		for rest := reply; rest != ""; {
			n := min(size+1, len(rest))
			parser.Write(rest[:n])
			rest = rest[n:]
		}
		again, _, err2 := parser.Close()
		require.Equal(t, doc, again, "in pieces of %d", size+1)
		require.Equal(t, err, err2)
	}
}

// must returns what was read, and ignores the error.
func must(doc markdownpolicy.Document, _ error) markdownpolicy.Document { return doc }

// tagVariants are tag policies with options.
func tagVariants() (all []lawful) {
	for name, f := range map[string]markdownpolicy.Format{
		"hermes/open":          thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen),
		"hermes/any":           thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsAny),
		"hermes/deepseek/open": thinking(markdownpolicy.LooseDeepSeek, markdownpolicy.ThoughtsOpen),
		"hermes/lfm":           markdownpolicy.LFM,
		"hermes/olmo":          markdownpolicy.Olmo,
		"hermes/gemma":         markdownpolicy.FunctionGemma,
	} {
		all = append(all, lawful{name: name, Policy: f})
	}
	for name, p := range trained(markdownpolicy.Options{}) {
		if strings.Contains(name, " ") { // the others are among policies
			all = append(all, lawful{name: name, Policy: p})
		}
	}
	withTools := markdownpolicy.Options{Tools: fileTools, Mode: markdownpolicy.ModeText}
	return append(all,
		lawful{name: "hermes/open/tools", Policy: thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen).With(withTools)},
		lawful{name: "hermes/tools", Policy: markdownpolicy.Hermes.With(withTools)},
		lawful{name: "xml/tools", Policy: markdownpolicy.XML.With(withTools)},
		lawful{name: "mistral/tools", Policy: markdownpolicy.Mistral.With(withTools)},
	)
}

func TestS2_8_XMLRefusesDoubledChildren(t *testing.T) {
	for _, reply := range []string{
		"<tool_call><name>a</name><name>b</name><arguments>{}</arguments></tool_call>",
		`<tool_call><name>a</name><arguments>{"x":1}</arguments><arguments>{"y":2}</arguments></tool_call>`,
		"<read_file><path>a</path><path>b</path></read_file>",
		"<read_file><path>a</path><from>1</from><path>a</path></read_file>",
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			xml := markdownpolicy.XML.With(markdownpolicy.Options{Mode: mode, Tools: fileTools})
			_, err := xml.ParseResponse(reply)
			var broken *markdownpolicy.ParseError
			require.ErrorAs(t, err, &broken, reply)
			require.Contains(t, broken.Expected, "once in <")
		}
		xml := markdownpolicy.XML.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText, Tools: fileTools})
		requireReads(t, xml, reply, parts(textPart(reply)))
	}
}

// The error of a reply does not depend on the order in which the parameters of a tool are read.
func TestXMLNamesTheSameTagEachTime(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"}}}`
	x := markdownpolicy.XML.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "t", Parameters: []byte(schema)}}})
	said := map[string]bool{}
	for range 50 {
		_, err := x.ParseResponse("<t><a>x<d><c><b></a></t>")
		said[fmt.Sprint(err)] = true
	}
	require.Len(t, said, 1)
}
