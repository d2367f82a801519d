package markdownpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// endMarkForm writes a call of write_file with a text as its content, in the place of VALUE.
type endMarkForm struct {
	policy func(markdownpolicy.Options) markdownpolicy.Policy
	form   string
	mark   string // the end mark of the call
	raw    bool   // the value is written without quotes
	broken bool   // the call is to be repaired
}

var endMarkForms = []endMarkForm{
	{in(markdownpolicy.Hermes), "<tool_call>\n<function=write_file>\n<parameter=path>\na.md\n</parameter>\n<parameter=content>\nVALUE\n</parameter>\n</function>\n</tool_call>", "</tool_call>", true, false},
	{in(markdownpolicy.Hermes), "<tool_call><function=write_file><parameter=content>VALUE</parameter><parameter=path>a.md</parameter></tool_call>", "</tool_call>", true, false},
	{in(markdownpolicy.Hermes), `<tool_call><function=write_file>{"path":"a.md","content":"VALUE"}</function></tool_call>`, "</tool_call>", false, false},
	{in(markdownpolicy.Hermes), "<tool_call>write_file<arg_key>path</arg_key><arg_value>a.md</arg_value><arg_key>content</arg_key><arg_value>VALUE</arg_value></tool_call>", "</tool_call>", true, false},
	{in(markdownpolicy.Hermes), `<tool_call>write_file(path="a.md", content="VALUE")</tool_call>`, "</tool_call>", false, false},
	{in(markdownpolicy.Hermes), `<tool_call>write_file{"path":"a.md","content":"VALUE"}</tool_call>`, "</tool_call>", false, false},
	{in(markdownpolicy.Hermes), "<tool_call>```json\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"a.md\",\"content\":\"VALUE\"}}\n```</tool_call>", "</tool_call>", false, false},
	{in(markdownpolicy.Hermes), `<tool_call>{"name":"write_file","arguments":{"path":"a.md","content":"VALUE"}}</tool_call>`, "</tool_call>", false, false},
	{in(markdownpolicy.Hermes), `<tool_call>{"name":"write_file","arguments":{"path":"a.md","content":"VALUE",}}</tool_call>`, "</tool_call>", false, true},
	{in(markdownpolicy.LFM), `<|tool_call_start|>[write_file(path="a.md", content="VALUE")]<|tool_call_end|>`, "<|tool_call_end|>", false, false},
	{in(markdownpolicy.Olmo), `<function_calls>write_file(path="a.md", content="VALUE")</function_calls>`, "</function_calls>", false, false},
	{in(markdownpolicy.FunctionGemma), "<start_function_call>call:write_file{path:<escape>a.md<escape>,content:<escape>VALUE<escape>}<end_function_call>", "<end_function_call>", true, false},
	{in(markdownpolicy.LooseDeepSeek), `<｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{"path":"a.md","content":"VALUE"}<｜tool▁call▁end｜>`, "<｜tool▁call▁end｜>", false, false},
	{in(markdownpolicy.LooseDeepSeek), "<｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n{\"path\":\"a.md\",\"content\":\"VALUE\"}\n```<｜tool▁call▁end｜>", "<｜tool▁call▁end｜>", false, false},
	{in(markdownpolicy.GLM), "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n<arg_key>content</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>", "</tool_call>", true, false},
	{in(markdownpolicy.GLM), "<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>VALUE</parameter></function></tool_call>", "</tool_call>", true, false},
	{in(markdownpolicy.Kimi), `<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{"path":"a.md","content":"VALUE"}<|tool_call_end|>`, "<|tool_call_end|>", false, false},
	{in(markdownpolicy.Kimi), `<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{"path":"a.md","content":"VALUE",}<|tool_call_end|>`, "<|tool_call_end|>", false, true},
	{in(markdownpolicy.DeepSeek), `<｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{"path":"a.md","content":"VALUE"}<｜tool▁call▁end｜>`, "<｜tool▁call▁end｜>", false, false},
	{in(markdownpolicy.Harmony), `<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{"path":"a.md","content":"VALUE"}<|call|>`, "<|call|>", false, false},
	{in(markdownpolicy.Harmony), `<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{"path":"a.md","content":"VALUE",}<|call|>`, "<|call|>", false, true},
	{in(markdownpolicy.XML), `<tool_call><name>write_file</name><arguments>{"path":"a.md","content":"VALUE"}</arguments></tool_call>`, "</arguments></tool_call>", false, false},
	{in(markdownpolicy.XML), "<write_file><path>a.md</path><content>VALUE</content></write_file>", "</write_file>", true, false},
	{in(markdownpolicy.XML), "<function=write_file><parameter=path>a.md</parameter><parameter=content>VALUE</parameter></function>", "</function>", true, false},
	{in(markdownpolicy.XML), `<function=write_file>{"path":"a.md","content":"VALUE",}</function>`, "</function>", false, true},
	{in(markdownpolicy.Mistral), `[TOOL_CALLS][{"name":"write_file","arguments":{"path":"a.md","content":"VALUE"}}][/TOOL_CALLS]`, "[/TOOL_CALLS]", false, false},
}

// write writes the call.
func (f endMarkForm) write(content string) string {
	if !f.raw {
		quoted, _ := json.Marshal(content)
		content = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(quoted[1 : len(quoted)-1]))
	}
	return strings.Replace(f.form, "VALUE", content, 1)
}

// The end mark of a call is the one after its last value: one in a value is part of the value.
func TestEndMarksInValues(t *testing.T) {
	for _, f := range endMarkForms {
		modes := []markdownpolicy.Mode{markdownpolicy.ModeRepair}
		if !f.broken {
			modes = append(modes, markdownpolicy.ModeError, markdownpolicy.ModeText)
		}
		for _, mode := range modes {
			p := f.policy(markdownpolicy.Options{Mode: mode, Tools: fileTools})
			for _, content := range []string{
				"A call ends with MARK on a line.", "MARK", "MARKMARK", "MARK\nMARK MARK", "It ends here:\n\nMARK", "don't: MARK", "a } MARK { b", "5\" MARK", "x\n  MARK\n\n  MARK\ny",
			} {
				content = strings.ReplaceAll(content, "MARK", f.mark)
				reply := f.write(content)
				doc, err := p.ParseResponse(reply)
				require.NoError(t, err, "%s: %s", mode, reply)
				requireWrites(t, doc, reply, "a.md", content)
				require.Equal(t, f.broken, len(doc.Repairs) > 0, reply)

				two := "First.\n" + reply + "\n" + f.write("two")
				doc, err = p.ParseResponse(two + "\n")
				require.NoError(t, err, two)
				require.Len(t, doc.Parts, 3, two)
				doc.Parts = doc.Parts[1:2]
				requireWrites(t, doc, two, "a.md", content)
				if mode == markdownpolicy.ModeRepair { // the laws have replies cut in every mode
					checkEveryCut(t, p, reply)
					checkEveryCut(t, p, two)
				}
			}
		}
	}
}

// callOf returns the call that a part is, or the zero value.
func callOf(c messages.AssistantContent) messages.ToolCall {
	call, _ := c.(messages.ToolCall)
	return call
}

// requireWrites requires that a reply holds one call of write_file.
func requireWrites(t *testing.T, doc markdownpolicy.Document, reply, path, content string) {
	t.Helper()
	require.Len(t, doc.Parts, 1, reply)
	arguments, err := json.Marshal(map[string]string{"path": path, "content": content})
	require.NoError(t, err)
	want := callPart("call_1", "write_file", string(arguments))
	got := doc.Contents()[0]
	require.Equal(t, callOf(want).Name, callOf(got).Name, reply)
	require.JSONEq(t, callOf(want).Arguments, callOf(got).Arguments, reply)
}

// A value may show whole calls.
func TestCallsInValues(t *testing.T) {
	for _, f := range endMarkForms {
		if f.broken || strings.Contains(f.form, "<write_file>") || strings.Contains(f.form, "<escape>") || strings.Contains(f.form, "</parameter></tool_call>") {
			continue // tags with the names of tools, values between equal marks, and a call without its end
		}
		p := f.policy(markdownpolicy.Options{Tools: fileTools})
		shown := "Two calls:\n" + f.write("one") + "\n" + f.write("two") + "\nThat was all."
		reply := f.write(shown)
		doc, err := p.ParseResponse(reply)
		require.NoError(t, err, reply)
		requireWrites(t, doc, reply, "a.md", shown)
		checkEveryCut(t, p, reply)
	}
}

// A call whose last value does not end does not take the next call into that value.
func TestUnendedValuesTakeNoCall(t *testing.T) {
	const next = "<tool_call><function=read_file><parameter=path>b.md</parameter></function></tool_call>"
	for _, reply := range []string{
		"<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>x</function></tool_call>" + next,
		"<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>x</tool_call>" + next,
		"<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>x" + next,
		"<tool_call><function=write_file><parameter=path>a.md</parameter><parameter=content>x</function></tool_call> " + next + " and " + next,
		"<tool_call>write_file<arg_key>path</arg_key><arg_value>a.md</tool_call><tool_call>read_file<arg_key>path</arg_key><arg_value>b.md</arg_value></tool_call>",
		`<tool_call>write_file(path="a.md, content="x")</tool_call><tool_call>read_file(path="b.md")</tool_call>`,
		`<tool_call>write_file(content='x)</tool_call><tool_call>read_file(path='b.md')</tool_call>`,
		`<tool_call>write_file{"content":"x}</tool_call><tool_call>read_file{"path":"b.md"}</tool_call>`,
		`<tool_call>{"name":"write_file","arguments":{"content":"x}}</tool_call><tool_call>{"name":"read_file","arguments":{"path":"b.md"}}</tool_call>`,
		`<tool_call>{"name":"write_file","arguments":{"content":"x}}</tool_call><tool_call>{"name":"read_file","arguments":{"path":'b.md'}}</tool_call>`,
		`<tool_call>{"name":"write_file","arguments":{"content":'x}}</tool_call><tool_call>{"name":'read_file',"arguments":{"path":"b.md"}}</tool_call>`,
		`<tool_call>{"name":"write_file","arguments":{"content":"x}}</tool_call> It is "y",}} <tool_call>{"name":"read_file","arguments":{"path":"b.md"}}</tool_call>`,
		`<tool_call>write_file(content="x)</tool_call> It is 5" <tool_call>read_file(path="b.md")</tool_call>`,
	} {
		for _, policy := range []func(markdownpolicy.Options) markdownpolicy.Policy{in(markdownpolicy.Hermes), in(markdownpolicy.GLM)} {
			_, err := policy(markdownpolicy.Options{Tools: fileTools}).ParseResponse(reply)
			require.Error(t, err, reply)
			for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
				p := policy(markdownpolicy.Options{Mode: mode, Tools: fileTools})
				checkEveryCut(t, p, reply)
				doc, _ := p.ParseResponse(reply)
				for _, c := range doc.Contents() {
					require.NotContains(t, callOf(c).Arguments, "tool_call", reply)
				}
			}
		}
	}
}

// The last </parameter> of a function may be missing directly before </function>, in ModeRepair.
func TestUnendedLastParameter(t *testing.T) {
	for _, c := range []struct{ reply, content string }{
		{"<tool_call>\n<function=write_file>\n<parameter=path>\na.go\n</parameter>\n<parameter=content>\npackage a\n</function>\n</tool_call>", "package a"},
		{"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>package a\n\nvar x = 1 << 2\n</function></tool_call>", "package a\n\nvar x = 1 << 2"},
		{"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content></function></tool_call>", ""},
		{"<function=write_file>\n<parameter=path>\na.go\n</parameter>\n<parameter=content>\npackage a\n</function>", "package a"},
	} {
		o := markdownpolicy.Options{Tools: fileTools}
		if !strings.Contains(c.reply, "<tool_call>") {
			requireUnendedLast(t, in(markdownpolicy.XML), o, c.reply, c.content)
			requireUnendedLast(t, in(markdownpolicy.Llama), o, c.reply, c.content)
		} else {
			requireUnendedLast(t, in(markdownpolicy.GLM), o, c.reply, c.content)
		}
		requireUnendedLast(t, in(markdownpolicy.Hermes), o, c.reply, c.content)
	}
	p := in(markdownpolicy.Hermes)(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair, Tools: fileTools})
	for _, reply := range []string{ // more than one meaning
		"<tool_call><function=write_file><parameter=path>a.go<parameter=content>package a</function></tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>x</function> y</function></tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>x</parameter> y</function></tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>x <function=y></function></tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>x</tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=content>x</tool_call></function></tool_call>",
		"<tool_call><function=write_file><parameter=path>a.go</parameter><parameter=path>b.go</function></tool_call>",
	} {
		_, err := p.ParseResponse(reply)
		require.Error(t, err, reply)
		checkEveryCut(t, p, reply)
	}
}

func requireUnendedLast(t *testing.T, policy func(markdownpolicy.Options) markdownpolicy.Policy, o markdownpolicy.Options, reply, content string) {
	t.Helper()
	if strings.Contains(reply, "<tool_call>") {
		_, err := policy(o).ParseResponse(reply)
		require.ErrorContains(t, err, "expected </parameter>")
	}
	o.Mode = markdownpolicy.ModeText
	for _, c := range must(policy(o).ParseResponse(reply)).Contents() {
		require.Empty(t, callOf(c).Name)
	}
	o.Mode = markdownpolicy.ModeRepair
	p := policy(o)
	doc, err := p.ParseResponse(reply)
	require.NoError(t, err, reply)
	requireWrites(t, doc, reply, "a.go", content)
	require.Equal(t, []markdownpolicy.Repair{{Offset: strings.LastIndex(reply, "</function>"), Line: 1 + strings.Count(reply[:strings.LastIndex(reply, "</function>")], "\n"), What: "added the missing </parameter>"}}, doc.Repairs)
	checkEveryCut(t, p, reply)
	behind := must(p.ParseResponse(reply + "\nDone: `</parameter>`."))
	require.Len(t, behind.Parts, 2)
	require.Equal(t, textPart("Done: `</parameter>`."), behind.Parts[1].Content)
}

// requireEndMarksLinear reads many end marks, in values and out of them.
func requireEndMarksLinear(t *testing.T) {
	t.Helper()
	begins := []string{
		"", "<tool_call><function=t><parameter=a>", "<tool_call>t<arg_key>a</arg_key><arg_value>", "<tool_call>t(a='", `<tool_call>t{"a":"`, `<tool_call>{"name":"t","arguments":{'a':"`, "<function=t><parameter=a>", `<function=t>{'a':"`,
	}
	units := []string{
		"</tool_call>", "</function></tool_call>", "</parameter></tool_call>", "</parameter> </function>x", "<function=t><parameter=a>", "<function=t", "</arg_value></tool_call>", "<arg_value></tool_call>", "</arg_value> ", "<function=t><parameter=a></parameter></function></tool_call>",
		"<tool_call><function=t><parameter=a></tool_call>", "<tool_call><function=t><parameter=a></function></tool_call>", "<tool_call><function=t><parameter=a>x</function>x</tool_call>", "<tool_call>t<arg_key>a</arg_key><arg_value></tool_call>", "<tool_call>t('</tool_call>", `<tool_call>{'":</tool_call>`, "'</tool_call>", `"</tool_call>`,
		"<function=t><parameter=a>x</function>", "<tool_call>'", "call:t{a:<escape></tool_call>",
	}
	n := 0
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
		o := markdownpolicy.Options{Mode: mode, Tools: []tools.Definition{{Name: "t"}}}
		for _, policy := range []func(markdownpolicy.Options) markdownpolicy.Policy{in(markdownpolicy.Hermes), in(markdownpolicy.GLM), in(markdownpolicy.XML)} {
			for _, begin := range begins {
				for _, unit := range units {
					if n++; isSpared(n) {
						continue
					}
					requireLinearReading(t, lawful{Policy: policy(o), name: string(mode)}, begin, unit, 8<<10)
				}
			}
		}
	}
}
