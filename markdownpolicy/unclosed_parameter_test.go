package markdownpolicy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// moveTools are tools whose parameters can be confused with each other.
var moveTools = []tools.Definition{
	{Name: "move_file", Parameters: []byte(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"note":{"type":"string"}}}`)},
	{Name: "save_note", Parameters: []byte(`{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}}}`)},
}

// swallowing are replies with a missing mark, or with text where none is read. If they were read
// without an error, a call would be made with other arguments than the model wrote.
var swallowing = []struct {
	policy  func(markdownpolicy.Options) markdownpolicy.Policy
	replies []string
}{
	{in(markdownpolicy.Hermes), []string{
		"<tool_call>\n<function=move_file>\n<parameter=from>\na.txt\n<parameter=to>\nb.txt\n</parameter>\n</function>\n</tool_call>",
		`<tool_call>{"name":"move_file","arguments":{"from":"a"},"type":"milk"}</tool_call>`,
		`<tool_call>{"name":"move_file","arguments":{"from":"a"},"index":"milk"}</tool_call>`,
		"<tool_call><function=move_file><parameter=from>a.txt<parameter=to>b.txt</parameter><parameter=note>x</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from>a.txt<parameter name=\"to\">b.txt</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from>a.txt<Parameter = to>b.txt</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from><parameter=from>a.txt</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from>a.txt</from><parameter=to>b.txt</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from>a.txt</function><function=move_file><parameter=to>b.txt</parameter></function></tool_call>",
		"<tool_call><function=move_file><parameter=from>a.txt</parameter>to b.txt</function></tool_call>",
		"<tool_call><function=move_file>to b.txt<parameter=from>a.txt</parameter></function></tool_call>",
		"<tool_call>move_file\n<arg_key>from</arg_key>\n<arg_value>a.txt\n<arg_key>to</arg_key>\n<arg_value>b.txt</arg_value>\n</tool_call>",
		"<tool_call>move_file<arg_key>from<arg_value>a.txt</arg_value><arg_key>to</arg_key><arg_value>b.txt</arg_value></tool_call>",
		"<tool_call>move_file<arg_key>from</arg_key><arg_value>a.txt<arg_key>to</arg_key>b.txt</arg_value></tool_call>",
		"<tool_call>move_file<arg_key>from</arg_key><arg_value>a.txt</arg_value><arg_key>from</arg_key><arg_value>b.txt</arg_value></tool_call>",
		"<tool_call>move_file<arg_key>from</arg_key><arg_value>a.txt</arg_key><arg_key>to</arg_key><arg_value>b.txt</arg_value></tool_call>",
		`<tool_call>{"name":"save_note","arguments":{"title":"A"},"body":"milk"}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"},"body":"milk"</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"}},"body":"milk"}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"}} "body":"milk"}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"}}}, "body":"milk"`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"}} body: milk</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"}}` + "\n" + `"body": "milk"}`,
		`<tool_call>{"name":"save_note","arguments":{},"body":"milk"}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"},"parameters":{"body":"milk"}}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{},"parameters":{"body":"milk"}}</tool_call>`,
		`<tool_call>{"name":"save_note","arguments":{"title":"A"},"id":{"body":"milk"}}</tool_call>`,
		`<tool_call>[{"name":"save_note","arguments":{"title":"A"},"body":"milk"}]</tool_call>`,
		`<tool_call>{"function":{"name":"save_note","arguments":{"title":"A"}},"body":"milk"}</tool_call>`,
		`<tool_call>{"function":{"name":"save_note"},"arguments":{"body":"milk"}}</tool_call>`,
		`<tool_call>{"name":"save_note","function":{"name":"save_note","arguments":{"title":"A"}},"arguments":{"body":"milk"}}</tool_call>`,
		`<tool_call>{"function":{"name":"save_note","arguments":{"title":"A"},"body":"milk"}}</tool_call>`,
		`<tool_call>save_note(title="A") body="milk"</tool_call>`,
		`<tool_call>save_note(title="A, body="milk")</tool_call>`,
	}},
	{in(markdownpolicy.LooseDeepSeek), []string{
		"<｜tool▁call▁begin｜>save_note<｜tool▁sep｜>{\"title\":\"A\"},\"body\":\"milk\"}<｜tool▁call▁end｜>",
		"<｜tool▁call▁begin｜>function<｜tool▁sep｜>save_note\n```json\n{\"title\":\"A\"}\n```\nbody: milk<｜tool▁call▁end｜>",
	}},
	{in(markdownpolicy.FunctionGemma), []string{
		"<start_function_call>call:save_note{title:<escape>A,body:<escape>milk<escape>}<end_function_call>",
		"<start_function_call>call:save_note{title:<escape>A<escape>},body:<escape>milk<escape>}<end_function_call>",
	}},
	{in(markdownpolicy.XML), []string{
		"<move_file><from>a.txt<to>b.txt</from></move_file>",
		"<move_file><from>a.txt<to>b.txt</to><from>c</from></move_file>",
		"<move_file><from>a.txt</from>to b.txt</move_file>",
		"<move_file><from>a.txt</from><target>b.txt</target></move_file>",
		"<move_file><from>a.txt</from><target>b.txt</target>",
		"<tool_call><name>save_note</name><arguments>{\"title\":\"A\"}</arguments><body>milk</body></tool_call>",
		"<tool_call><name>save_note</name><arguments>{\"title\":\"A\"},\"body\":\"milk\"}</arguments></tool_call>",
		"<tool_call><name>save_note</name><arguments>{\"title\":\"A\"}</arguments>,\"body\":\"milk\"</tool_call>",
		"<tool_call><name>save_note<arguments>{\"title\":\"A\"}</arguments></name></tool_call>",
		"<tool_call><name>save_note<arguments>{\"title\":\"A\"}</name></tool_call>",
	}},
	{in(markdownpolicy.Fenced), []string{
		"```tool_call\n{\"name\":\"save_note\",\"arguments\":{\"title\":\"A\"},\"body\":\"milk\"}\n```",
		"```tool_call\n{\"name\":\"save_note\",\"arguments\":{\"title\":\"A\"},\"body\":\"milk\"\n```",
		"```tool_call\n{\"name\":\"save_note\",\"arguments\":{\"title\":\"A\"}},\"body\":\"milk\"}\n```",
		"```tool_call body=milk\n{\"name\":\"save_note\",\"arguments\":{\"title\":\"A\"}}\n```",
	}},
	{in(markdownpolicy.Llama), []string{
		`{"name":"save_note","parameters":{"title":"A"},"body":"milk"}`,
		`{"name":"save_note","parameters":{"title":"A"},"body":"milk"`,
		`{"name":"save_note","parameters":{"title":"A"}},"body":"milk"}`,
		`{"name":"save_note","parameters":{"title":"A"}}}, "body":"milk"}`,
		`{"name":"save_note","parameters":{},"arguments":{"body":"milk"}}`,
		`<|python_tag|>{"name":"save_note","parameters":{"title":"A"},"body":"milk"}`,
	}},
	{in(markdownpolicy.Pythonic), []string{
		`[save_note(title="A", title="B")]`,
		`[save_note(title="A") body="milk"]`,
		`[save_note(title="A")], body="milk")]`,
		`[save_note(title="A, body="milk")]`,
	}},
	{in(markdownpolicy.Mistral), []string{
		`[TOOL_CALLS][{"name":"save_note","arguments":{"title":"A"},"body":"milk"}]`,
		`[TOOL_CALLS][{"name":"save_note","arguments":{"title":"A"},"body":"milk"}`,
		`[TOOL_CALLS][{"name":"save_note","arguments":{"title":"A"}}],"body":"milk"}]`,
		`[TOOL_CALLS]save_note[ARGS]{"title":"A"},"body":"milk"}`,
		`[TOOL_CALLS]save_note{"title":"A"}}, "body":"milk"}`,
	}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy { return markdownpolicy.ReAct{Options: o} }, []string{
		"Action: {\"action\":\"save_note\",\"action_input\":{\"title\":\"A\"},\"body\":\"milk\"}",
		"Action: {\"action\":\"save_note\",\"action_input\":{\"title\":\"A\"}},\"body\":\"milk\"}",
		"Action: {\"action\":\"save_note\",\"action_input\":{},\"body\":\"milk\"}",
		"Action: save_note\nbody: milk\nAction Input: {\"title\":\"A\"}",
		"Action: save_note\nAction Input: {\"title\":\"A\"},\"body\":\"milk\"}",
		"Action: save_note\nAction Input: {\"title\":\"A\"}}, \"body\":\"milk\"}",
		"Action: save_note\nAction Input: {\"title\":\"A\"} {\"body\":\"milk\"}",
		"Action: save_note\nAction Input: {\"title\":\"A\"}\n\"body\": \"milk\"",
		"Action: save_note\nAction Input: {\"title\":\"A\"}, body=\"milk\"",
		"Action: save_note\nAction Input: {\"title\":\"A\"}\nAction Input: {\"body\":\"milk\"}",
		"Action: {\"action\":\"save_note\",\"action_input\":{\"title\":\"A\"}}\nAction Input: {\"body\":\"milk\"}",
		"Action: save_note Action Input: {\"title\":\"A\"}\nAction Input: {\"body\":\"milk\"}",
		"Action: save_note[{\"title\":\"A\"}]\nAction Input: {\"body\":\"milk\"}",
	}},
}

// in returns what builds a format with options.
func in(f markdownpolicy.Format) func(markdownpolicy.Options) markdownpolicy.Policy {
	return func(o markdownpolicy.Options) markdownpolicy.Policy { return f.With(o) }
}

// thinking returns a format for models that write thoughts in a certain way.
func thinking(f markdownpolicy.Format, thoughts markdownpolicy.Thoughts) markdownpolicy.Format {
	f.Thoughts = thoughts
	return f
}

// forgetting returns a format that does not tell past thoughts.
func forgetting(f markdownpolicy.Format) markdownpolicy.Format {
	f.ForgetThoughts = true
	return f
}

// Arguments that a model wrote are neither dropped nor made part of another argument, not even by a
// repair.
func TestNothingIsSwallowed(t *testing.T) {
	for _, s := range swallowing {
		for _, reply := range s.replies {
			t.Run(reply, func(t *testing.T) {
				for _, defs := range [][]tools.Definition{nil, moveTools} {
					if s.policy(markdownpolicy.Options{}).(markdownpolicy.Namer).Name() != "xml" || defs != nil {
						checkRefused(t, s.policy, defs, reply)
					}
				}
			})
		}
	}
}

func checkRefused(t *testing.T, policy func(markdownpolicy.Options) markdownpolicy.Policy, defs []tools.Definition, reply string) {
	t.Helper()
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
		p := policy(markdownpolicy.Options{Mode: mode, Tools: defs})
		doc, err := p.ParseResponse(reply)
		require.Error(t, err, "%s, %d tools: %+v", mode, len(defs), doc)
		var broken *markdownpolicy.ParseError
		require.ErrorAs(t, err, &broken)
		require.NotEmpty(t, broken.Feedback())
		checkEveryCut(t, p, reply)
	}
	p := policy(markdownpolicy.Options{Mode: markdownpolicy.ModeText, Tools: defs})
	for _, c := range must(p.ParseResponse(reply)).Contents() {
		_, called := c.(messages.ToolCall)
		require.False(t, called, "%+v", c)
	}
	checkEveryCut(t, p, reply)
}

// Nothing is swallowed without the marks around a function, either.
func TestNothingIsSwallowedOfFunctions(t *testing.T) {
	found := 0
	for _, reply := range swallowing[0].replies {
		function, ok := strings.CutPrefix(strings.ReplaceAll(reply, "\n", ""), "<tool_call><function=")
		if !ok {
			continue
		}
		found++
		function = "<function=" + strings.TrimSuffix(function, "</tool_call>")
		for _, p := range []func(markdownpolicy.Options) markdownpolicy.Policy{
			in(markdownpolicy.Hermes),
			in(markdownpolicy.XML),
			in(markdownpolicy.Llama),
			in(markdownpolicy.Pythonic),
		} {
			policy := p(markdownpolicy.Options{Mode: markdownpolicy.ModeText, Tools: moveTools})
			for _, c := range must(policy.ParseResponse(function)).Contents() {
				_, called := c.(messages.ToolCall)
				require.False(t, called, "%T: %s: %+v", policy, function, c)
			}
			checkEveryCut(t, policy, function)
		}
	}
	require.Greater(t, found, 5)
}

// A text that contains a mark and its end is read unchanged.
func TestMarksWithinArguments(t *testing.T) {
	write := func(content string) []messages.AssistantContent {
		arguments, err := json.Marshal(content)
		require.NoError(t, err)
		unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(arguments))
		return parts(callPart("call_1", "write_file", `{"path":"a.md","content":`+unescaped+`}`))
	}
	const function = "<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>%s</parameter></function></tool_call>"
	const pairs = "<tool_call>write_file<arg_key>path</arg_key><arg_value>a.md</arg_value><arg_key>content</arg_key><arg_value>%s</arg_value></tool_call>"
	const tags = "<write_file><path>a.md</path><content>%s</content></write_file>"
	options := markdownpolicy.Options{Tools: fileTools}
	for _, c := range []struct {
		policy        markdownpolicy.Policy
		form, content string
	}{
		{markdownpolicy.Hermes.With(options), function, "Use <parameter=path> for it."},
		{markdownpolicy.Hermes.With(options), function, "Use <parameter=x>1</parameter> for it."},
		{markdownpolicy.Hermes.With(options), function, "<parameter=x>1</parameter>"},
		{markdownpolicy.Hermes.With(options), function, "<parameter name=\"x\">1</parameter> and <parameters=x>"},
		{markdownpolicy.Hermes.With(options), function, "<parameter= and <parameter and </parameter> too"},
		{markdownpolicy.Hermes.With(options), pairs, "Use <arg_key>x</arg_key><arg_value>1</arg_value> for it."},
		{markdownpolicy.Hermes.With(options), pairs, "not </arg_value> and </arg_key> alone"},
		{markdownpolicy.XML.With(options), tags, "Usage: cp <path>"},
		{markdownpolicy.XML.With(options), tags, "<content>x</content> and <path>y</path>"},
		{markdownpolicy.XML.With(options), tags, "a <b> and </path> alone"},
	} {
		reply := fmt.Sprintf(c.form, c.content)
		require.Equal(t, write(c.content), partsOf(t, c.policy, reply), reply)
		checkEveryCut(t, c.policy, reply)
	}
}

// Text after a call is text, unless it continues the call.
func TestTextBehindACall(t *testing.T) {
	save := callPart("call_1", "save_note", "{}")
	for _, c := range []struct {
		policy        func(markdownpolicy.Options) markdownpolicy.Policy
		reply, behind string
	}{
		{in(markdownpolicy.Llama), `{"name":"save_note","parameters":{}}, and that is "it": done.`, `, and that is "it": done.`},
		{in(markdownpolicy.Llama), `{"name":"save_note","parameters":{}} "it": done.`, `"it": done.`},
		{in(markdownpolicy.Llama), `{"name":"save_note","parameters":{}}} "it" done.`, `} "it" done.`},
		{in(markdownpolicy.Mistral), `[TOOL_CALLS]save_note{}, and so on`, `, and so on`},
		{in(markdownpolicy.Mistral), `[TOOL_CALLS][{"name":"save_note"}], "quoted"`, `, "quoted"`},
		{in(markdownpolicy.Llama), "{\"name\":\"save_note\",\"parameters\":{}}\n, \"it\": 1", `, "it": 1`},
		{in(markdownpolicy.Mistral), "[TOOL_CALLS]save_note{}\n}, \"it\": 1", `}, "it": 1`},
		{in(markdownpolicy.Pythonic), "[save_note()]\n, x = 1", `, x = 1`},
		{in(markdownpolicy.Pythonic), `[save_note()], x == 1`, `, x == 1`},
		{in(markdownpolicy.Pythonic), "[save_note()]\nbody = 1", "body = 1"},
		{in(markdownpolicy.Fenced), `{"name":"save_note","arguments":{}}, and so on`, ", and so on"},
		{in(markdownpolicy.Fenced), "```tool_call json\n{\"name\":\"save_note\",\"arguments\":{}}\n```\nok", "ok"},
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			p := c.policy(markdownpolicy.Options{Mode: mode, Tools: moveTools})
			requireReads(t, p, c.reply, parts(save, textPart(c.behind)))
		}
	}
	const prose = `{"name":"save_note","arguments":{"title":"A"}},"body":"milk"}`
	require.Equal(t, parts(textPart(prose)), partsOf(t, in(markdownpolicy.Fenced)(markdownpolicy.Options{Tools: moveTools}), prose), "in prose it is no call")
}

func inReAct(o markdownpolicy.Options) markdownpolicy.Policy { return markdownpolicy.ReAct{Options: o} }

// wordForm writes a call of the tool t with marks and words: what surrounds an argument, its name,
// and a word.
type wordForm struct {
	policy            func(markdownpolicy.Options) markdownpolicy.Policy
	before, after     []string
	argument, between []string // K: the name; W: the word
}

var wordForms = []wordForm{
	{in(markdownpolicy.Hermes), []string{"<tool_call>", "<function=t>"}, []string{"</function>", "</tool_call>"}, []string{"<parameter=K>", "W", "</parameter>"}, []string{"\n"}},
	{in(markdownpolicy.Hermes), []string{"<tool_call>", "t"}, []string{"</tool_call>"}, []string{"<arg_key>", "K", "</arg_key>", "<arg_value>", "W", "</arg_value>"}, []string{"\n"}},
	{in(markdownpolicy.Hermes), []string{"<tool_call>", "{", `"name":"t"`, ",", `"arguments":`, "{"}, []string{"}", "}", "</tool_call>"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Hermes), []string{"<tool_call>", "t", "("}, []string{")", "</tool_call>"}, []string{"K", "=", "'", "W", "'"}, []string{","}},
	{in(markdownpolicy.LooseDeepSeek), []string{"<｜tool▁call▁begin｜>", "t", "<｜tool▁sep｜>", "{"}, []string{"}", "<｜tool▁call▁end｜>"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.FunctionGemma), []string{"<start_function_call>", "call:", "t", "{"}, []string{"}", "<end_function_call>"}, []string{"K", ":", "<escape>", "W", "<escape>"}, []string{","}},
	{in(markdownpolicy.XML), []string{"<t>"}, []string{"</t>"}, []string{"<K>", "W", "</K>"}, []string{"\n"}},
	{in(markdownpolicy.XML), []string{"<tool_call>", "<name>", "t", "</name>", "<arguments>", "{"}, []string{"}", "</arguments>", "</tool_call>"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Fenced), []string{"```tool_call\n", "{", `"name":"t"`, ",", `"arguments":`, "{"}, []string{"}", "}", "\n```"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Llama), []string{"{", `"name":"t"`, ",", `"parameters":`, "{"}, []string{"}", "}"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Mistral), []string{"[TOOL_CALLS]", "[", "{", `"name":"t"`, ",", `"arguments":`, "{"}, []string{"}", "}", "]"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Mistral), []string{"[TOOL_CALLS]", "t", "[ARGS]", "{"}, []string{"}"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{in(markdownpolicy.Pythonic), []string{"[", "t", "("}, []string{")", "]"}, []string{"K", "=", "'", "W", "'"}, []string{","}},
	{inReAct, []string{"Action:", " t", "\n", "Action Input:", "{"}, []string{"}"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
	{inReAct, []string{"Action:", "{", `"action":"t"`, ",", `"action_input":`, "{"}, []string{"}", "}"}, []string{`"`, "K", `"`, ":", `"`, "W", `"`}, []string{","}},
}

var wordTools = []tools.Definition{{Name: "t", Parameters: []byte(`{"type":"object","properties":{"ka":{"type":"string"},"kb":{"type":"string"},"kc":{"type":"string"}}}`)}}

// write draws a call with some marks dropped or doubled, and returns the words in it.
func (f wordForm) write(t *rapid.T, changes int) (reply string, words []string) {
	pieces := slices.Clone(f.before)
	for i := range rapid.IntRange(1, 3).Draw(t, "arguments") {
		if i > 0 {
			pieces = append(pieces, f.between...)
		}
		words = append(words, fmt.Sprintf("word%d", i))
		fill := strings.NewReplacer("K", "k"+string(rune('a'+i)), "W", words[i])
		for _, p := range f.argument {
			pieces = append(pieces, fill.Replace(p))
		}
	}
	pieces = append(pieces, f.after...)
	for range changes {
		i := rapid.IntRange(0, len(pieces)-1).Draw(t, "place")
		if strings.HasPrefix(pieces[i], "word") {
			continue
		}
		if rapid.Bool().Draw(t, "double") {
			pieces = slices.Insert(pieces, i, pieces[i])
		} else {
			pieces = slices.Delete(pieces, i, i+1)
		}
	}
	return strings.Join(pieces, ""), words
}

// Whatever happens to the marks of a call: if the call is made, each word in it is in an argument.
// No argument holds two words, unless it also holds the end mark between them; then all that the
// model wrote is visible. If the end of one argument and the beginning of the next are both
// missing, it is impossible to know that there were two.
func TestBrokenMarksLoseNoArgument(t *testing.T) {
	for n, f := range wordForms {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			t.Run(fmt.Sprint(n, mode), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					changes := rapid.IntRange(1, 2).Draw(t, "changes")
					reply, words := f.write(t, changes)
					doc, err := f.policy(markdownpolicy.Options{Mode: mode, Tools: wordTools}).ParseResponse(reply)
					if err == nil {
						checkWords(t, doc, reply, words, changes == 1)
					}
				})
			})
		}
	}
}

func checkWords(t *rapid.T, doc markdownpolicy.Document, reply string, words []string, apart bool) {
	held, calls := "", 0
	for _, c := range doc.Contents() {
		call, ok := c.(messages.ToolCall)
		if !ok {
			continue
		}
		calls++
		held += call.Arguments
		var arguments map[string]any
		if json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
			continue // a string, which is not yet an argument of a tool
		}
		for _, value := range arguments {
			n := 0
			for _, w := range words {
				n += strings.Count(fmt.Sprint(value), w)
			}
			require.True(t, n <= 1 || !apart || strings.Contains(fmt.Sprint(value), "</"), "%q: %v", reply, call)
		}
	}
	for _, w := range words {
		require.True(t, calls == 0 || strings.Contains(held, w), "%q lacks %s: %v", reply, w, doc)
	}
}
