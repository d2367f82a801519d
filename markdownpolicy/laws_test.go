package markdownpolicy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lawful is a policy that must obey the laws of the package.
type lawful struct {
	markdownpolicy.Policy
	name   string
	tools  []tools.Definition // tools that the policy knows
	around string             // what may be around calls besides blanks
	drops  bool               // text around what it reads is dropped
	turns  bool               // a reply is thoughts, and then one call or a text
	mixes  bool               // text of one format may hold marks of another
	quoted bool               // texts stand in JSON
	parted bool               // a line break in a text may stand for a mark between two texts
}

func (l lawful) render(parts []messages.AssistantContent) string {
	return l.Policy.(markdownpolicy.Renderer).Render(parts)
}

func (l lawful) parser() markdownpolicy.Parser {
	return l.Policy.(markdownpolicy.Streamer).NewParser()
}

// policies are the built-in policies, and some made from them.
func policies(t testing.TB) (all []lawful) {
	for _, name := range markdownpolicy.Names() {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			p, err := markdownpolicy.New(name, markdownpolicy.Options{Mode: mode})
			require.NoError(t, err)
			l := lawful{Policy: p, name: name + "/" + string(mode)}
			switch name {
			case "react":
				l.drops, l.turns = true, true
			case "pythonic":
				l.around = "[],"
			case "harmony":
				l.parted = true
			case "structured":
				l.quoted = true
			}
			all = append(all, l)
		}
	}
	fenced := markdownpolicy.Fenced
	all = append(all,
		lawful{Policy: markdownpolicy.Think{}, name: "think"},
		lawful{Policy: markdownpolicy.Think{Policy: fenced, Start: markdownpolicy.ThoughtsTagged}, name: "think/tagged"},
		lawful{Policy: markdownpolicy.Think{Policy: fenced, Start: markdownpolicy.ThoughtsOpen}, name: "think/open"},
		lawful{Policy: markdownpolicy.Chain{fenced}, name: "chain/one"},
		lawful{Policy: markdownpolicy.Chain{fenced, markdownpolicy.Think{}, markdownpolicy.Hermes}, name: "chain/three", mixes: true},
		lawful{Policy: markdownpolicy.Think{Policy: markdownpolicy.Chain{fenced, fenced}}, name: "think/chain"},
		lawful{Policy: markdownpolicy.Think{Policy: thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone)}, name: "think/hermes"},
		lawful{Policy: markdownpolicy.Think{Policy: markdownpolicy.GLM47}, name: "think/glm"},
	)
	for _, l := range tagVariants() {
		l.parted = strings.HasPrefix(l.name, "harmony")
		all = append(all, l)
	}
	for _, l := range all {
		if strings.HasSuffix(l.name, "/tools") {
			continue
		}
		l.Policy = l.Policy.(markdownpolicy.Tooled).WithTools(lawTools)
		l.name, l.tools = l.name+"/tools", lawTools
		all = append(all, l)
	}
	return all
}

// lawTools are the tools that policies know. Some names are keys or marks elsewhere.
var lawTools = []tools.Definition{
	{Name: "t", Parameters: []byte(`{"type":"object","properties":{"a":{"type":["string","integer"]}}}`)},
	{Name: "read_file", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "name"},
	{Name: "thought"},
	{Name: "a-b"},
	{Name: "_1"},
}

// scraps are pieces of replies: the marks of every format, whole and cut, and texts around them.
var scraps = []string{
	"```", "~~~", "````", "```tool_call\n", "```json", "```thought\n", "\n```\n", "`", "``", "\\", "\\\\", "{", "}", "[", "]", "\"", "'", ",", ":",
	`{"name":"t","arguments":{"a":"b"}}`, "}; {", ";", "<t>", "</t>", "<a>", "</a>", "<read_file><path>", "</path></read_file>", `[{"name":"t"}]`, `{"name":"t","arguments":{`, `{"foo":`, `{"name"`, `"arguments"`, "{}", "null",
	"<think>", "</think>", "<tool_call>", "</tool_call>", "<name>", "</name>", "<arguments>", "</arguments>", "<thought>", "</thought>", "<", ">", "</", "<tool",
	"[TOOL_CALLS]", "[TOOL_CALLS][]", "[/TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]", "[CALL_ID]", "[TOOL", "<|python_tag|>", "<|eom_id|>", "t(a=1)", "[t(a='b')]", "```python\n", "```tool_code\n",
	"<function=t>", "</function>", "<function=", "<parameter=a>", "</parameter>", "<t/>", "<t />", "/>", `{"a":{"name":"t","parameters":{}}}`, `\'`, `"parameters":{`,
	"Thought:", "\nThought: ", "Action:", "\nAction: t", "\nAction Input: {\"a\":1}", "Observation:", "\nFinal Answer: ", "Final", "Action",
	"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_call>t<arg_key>a</arg_key><arg_value>", "</arg_value></tool_call>",
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.t:0", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "function<｜tool▁sep｜>t\n```json\n",
	"<|start|>", "<|start|>assistant", "<|channel|>", "<|channel|>analysis<|message|>", "<|channel|>commentary to=functions.t <|constrain|>json<|message|>", "final", "<|message|>", "commentary to=functions.t json{\"a\":1}", "assistantcommentary to=functions.read_file", "functions.t:0{\"a\":1}", "t\n```json\n{\"a\":1}\n```", "t<|tool▁sep|>{}", "t<arg_key>a</arg_key><arg_value>", "<|end|>", "<|call|>", "to=", "<|",
	"to=functions.", "to=functions.t", "to=python", "<|constrain|>", "<|return|>", "analysis", "commentary", "functions.", "assistant", ":0", "<|tool_call_section_begin|>", "<|tool_call_section_end|>",
	"<minimax:tool_call>", "<minimax:tool_call>\n<invoke name=\"t\">", "<parameter name=\"a\">", "</parameter>\n</invoke>", "</minimax:tool_call>", "<｜DSML｜function_calls><｜DSML｜invoke name=\"t\">", "<｜DSML｜parameter name=\"a\" string=\"true\">", "</｜DSML｜parameter></｜DSML｜invoke>", "</｜DSML｜function_calls>",
	"<|tool_call>call:t{", "a:<|\"|>", "<|\"|>}<tool_call|>", "<tool_call|>", "<|channel>thought\n", "<channel|>", "[e~[", "<turn|>",
	"print(", "print(t(a=1))", "[t(a=1), t(a=2)]", "(", ")", "=", "#", "\"\"\"", "> ", "* ", "1. ",
	"<|im_end|>", "<|eot_id|>", "<|eom|>", "<|observation|>", "<|user|>", "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</s>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<|tool▁call▁begin|>", "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool",
	"<|tool_call_start|>", "<|tool_call_end|>", "[f(a='x')]", "f(a=1)\n", "<function_calls>", "</function_calls>",
	"<start_function_call>", "<end_function_call>", "call:f{a:<escape>x<escape>}", "<escape>", "call:",
	"<function=f>", "<function=read_file>", `<function="read_file">`, "<function=read_file/>", "<read_file/>", "<read_file />", `{"path":"x"}`, `{"path":"</think>"}`, "```json\n{}```", "`", "<parameter=a>", "</parameter>", "</function>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "function",
	"<read_file>", "<path>", "</path>", "</read_file>", "<write_file>", "<content>", "</content>", "</write_file>", "read_file",
	`[{"name":"read_file","arguments":{}}]`, "[ {", "}]",
	"\nAction: None", "**Action:**", "FINISH", "\nAnswer:", "Thought 2:", "Thought：",
	"\n", "\r\n", "\n\n", " ", "    ", "\t", "\r", "word", "Zażółć 日本 🙂", "\x00", "\xff", "&lt;", "\u2028", "\u200b",
}

var scrap = rapid.OneOf(rapid.SampledFrom(scraps), rapid.SampledFrom(scraps), rapid.String())

// prose draws text made of scraps.
var prose = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(scrap, 0, 12).Draw(t, "scraps"), "")
})

var toolName = rapid.OneOf(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{0,12}`), rapid.StringMatching(`[a-zA-Z0-9_-]{1,64}`))

var arguments = rapid.Custom(func(t *rapid.T) string {
	values := rapid.OneOf(rapid.Map(prose, func(s string) any { return s }), rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.SampledFrom([]any{nil, true, 2.5, []any{}, []any{"x", 1}, map[string]any{"</tool_call>": "```"}}))
	object := rapid.MapOfN(rapid.OneOf(rapid.StringMatching(`[a-z_]{1,8}`), prose), values, 0, 4).Draw(t, "arguments")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(rapid.Bool().Draw(t, "escaped"))
	require.NoError(t, enc.Encode(object))
	return strings.TrimSuffix(b.String(), "\n")
})

// parts draws parts that a policy can express.
func (l lawful) parts(t *rapid.T) (parts []messages.AssistantContent) {
	name := toolName
	if l.tools != nil {
		name = rapid.Map(rapid.SampledFrom(l.tools), func(d tools.Definition) string { return d.Name })
	}
	call := func() messages.AssistantContent {
		return messages.ToolCall{Name: name.Draw(t, "name"), Arguments: arguments.Draw(t, "arguments")}
	}
	if l.turns {
		for range rapid.IntRange(0, 2).Draw(t, "thoughts") {
			parts = append(parts, thoughtPart(prose.Draw(t, "thought")))
		}
		if rapid.Bool().Draw(t, "call") {
			return append(parts, call())
		}
		return append(parts, textPart("So: "+prose.Draw(t, "text")))
	}
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			parts = append(parts, textPart(prose.Draw(t, "text")))
		case 1:
			parts = append(parts, thoughtPart(prose.Draw(t, "thought")))
		default:
			parts = append(parts, call())
		}
	}
	return parts
}

const blanks = " \t\r\n\v\f"

// normal returns parts as a parser returns them: neighbouring texts joined, no blank parts, ids by
// number, arguments compact.
func normal(parts []messages.AssistantContent) []messages.AssistantContent {
	var out []messages.AssistantContent
	run, calls := "", 0
	end := func() {
		if run = strings.Trim(run, blanks); run != "" {
			out = append(out, textPart(run))
		}
		run = ""
	}
	for _, p := range parts {
		switch p := p.(type) {
		case messages.Text:
			run += p.Text
		case messages.Thought:
			if s := strings.Trim(p.Text, blanks); s != "" {
				end()
				out = append(out, thoughtPart(s))
			}
		case messages.ToolCall:
			end()
			calls++
			var b bytes.Buffer
			if json.Compact(&b, []byte(p.Arguments)) == nil {
				p.Arguments = b.String()
			}
			p.ID = fmt.Sprintf("call_%d", calls)
			out = append(out, p)
		}
	}
	end()
	return out
}

func checkRoundTrip(t require.TestingT, p markdownpolicy.Policy, parts []messages.AssistantContent) {
	written := p.(markdownpolicy.Renderer).Render(parts)
	doc, err := p.ParseResponse(written)
	require.NoError(t, err, "%q", written)
	want, got := normal(parts), normal(doc.Contents())
	if think, ok := p.(markdownpolicy.Think); ok {
		p = think.Policy
	}
	if n, ok := p.(markdownpolicy.Namer); ok && slices.Contains([]string{"glm", "minimax", "gemma4", "deepseekv32"}, n.Name()) { // strings are written without quotes
		for i, part := range want {
			if call, ok := part.(messages.ToolCall); ok && len(got) == len(want) {
				if read, ok := got[i].(messages.ToolCall); ok && reflect.DeepEqual(valueOf(t, call.Arguments), valueOf(t, read.Arguments)) {
					call.Arguments = read.Arguments
					want[i] = call
				}
			}
		}
	}
	require.Equal(t, want, got, "%q", written)
}

// valueOf returns a value of JSON, with its numbers as they are written.
func valueOf(t require.TestingT, text string) (value any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&value), text)
	return value
}

func TestS2_1_WhatIsRenderedIsRead(t *testing.T) {
	prove.Checks(t, prove.Cases()/2)
	for _, l := range policies(t) {
		if l.mixes {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, l.Policy, l.parts(t)) })
		})
	}
}

func TestS2_1_LargeArgumentsAreRead(t *testing.T) {
	large, err := json.Marshal(map[string]string{"text": strings.Repeat("\"quoted\" ``` </tool_call> \\ \n{[日本]}", prove.DepthOr(1<<10, 1<<15))})
	require.NoError(t, err)
	require.Greater(t, len(large), prove.DepthOr(1<<15, 1<<20))
	for _, l := range policies(t) {
		if l.mixes || l.tools != nil {
			continue
		}
		checkRoundTrip(t, l.Policy, []messages.AssistantContent{thoughtPart("Long."), callPart("", "t", string(large))})
	}
}

func TestS2_2_ExamplesAreWhatTheyShow(t *testing.T) {
	defs := []tools.Definition{{Name: "look", Description: "Looks."}}
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		told := p.FormatInstructions(defs)
		switch name {
		case "structured": // its schema shows the form
			continue
		case "react":
			form := "Action: tool_name\nAction Input: {\"argument_name\": \"value\"}"
			require.Contains(t, told, form)
			require.Equal(t, []messages.AssistantContent{callPart("call_1", "tool_name", `{"argument_name": "value"}`)}, partsOf(t, p, form))
			continue
		}
		examples := markdownpolicy.ShownBy(p)
		require.NotEmpty(t, examples)
		for _, e := range examples {
			require.Contains(t, told, "looks like this:\n\n"+e.Text+"\n\n", name)
			require.Equal(t, e.Parts, partsOf(t, p, e.Text), "%s: %s", name, e.Text)
		}
		require.Equal(t, len(examples), strings.Count(told, "looks like this:"), "%s: every example is one of these", name)
	}
}

// checkReply checks the laws for one reply: read in pieces it gives the same parts, the released
// parts add up to these, and nothing is lost or doubled.
func checkReply(t require.TestingT, l lawful, reply string, size int) {
	doc, err := l.ParseResponse(reply)
	if err != nil {
		broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, "%v", err)
		require.NotEmpty(t, broken.Policy)
		require.NotEmpty(t, broken.Expected)
		require.LessOrEqual(t, broken.Offset, len(reply))
		require.Equal(t, 1+strings.Count(reply[:broken.Offset], "\n"), broken.Line)
	}
	for _, r := range doc.Repairs {
		require.LessOrEqual(t, r.Offset, len(reply))
		require.Equal(t, 1+strings.Count(reply[:r.Offset], "\n"), r.Line)
	}
	checkPlaces(t, l, reply, doc.Parts)
	size = 1 + max(size, -size)%max(1, len(reply))
	p := l.parser()
	var released []markdownpolicy.Part
	for rest := reply; rest != ""; {
		n := min(size, len(rest))
		released = append(released, p.Write(rest[:n])...)
		rest = rest[n:]
	}
	again, rest, err2 := p.Close()
	require.Equal(t, doc, again, "%s: %q in pieces of %d", l.name, reply, size)
	require.Equal(t, err, err2, "%s: %q in pieces of %d", l.name, reply, size)
	require.Equal(t, joined(doc.Parts), joined(append(released, rest...)), "%s: %q in pieces of %d", l.name, reply, size)
}

// joined joins neighbouring texts, and neighbouring thoughts, as the receiver of pieces does.
func joined(parts []markdownpolicy.Part) (out []messages.AssistantContent) {
	for _, p := range parts {
		var last messages.AssistantContent
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch c := p.Content.(type) {
		case messages.Text:
			if before, ok := last.(messages.Text); ok {
				out[len(out)-1] = textPart(before.Text + c.Text)
				continue
			}
		case messages.Thought:
			if before, ok := last.(messages.Thought); ok {
				out[len(out)-1] = thoughtPart(before.Text + c.Text)
				continue
			}
		}
		out = append(out, p.Content)
	}
	return out
}

// checkPlaces checks that parts are at their stated positions, in order, with only blanks in
// between.
func checkPlaces(t require.TestingT, l lawful, reply string, parts []markdownpolicy.Part) {
	at := 0
	for i, p := range parts {
		require.LessOrEqual(t, at, p.Start, "%s: %q: part %d of %v", l.name, reply, i, parts)
		require.Less(t, p.Start, p.End, "%s: %q: part %d", l.name, reply, i)
		require.LessOrEqual(t, p.End, len(reply))
		l.requireBlank(t, reply, reply[at:p.Start])
		at = p.End
		if c, ok := p.Content.(messages.Text); ok {
			require.Equal(t, strings.Trim(c.Text, blanks), c.Text)
			require.NotEmpty(t, c.Text)
			if !l.drops && !l.quoted {
				there := reply[p.Start:p.End]
				require.True(t, l.parted || isWithin(c.Text, there), "%s: %q: part %d, %q, is not there", l.name, reply, i, c.Text)
				require.Equal(t, withMeaning(c.Text), withMeaning(there), "%s: %q: part %d", l.name, reply, i)
			}
			if i > 0 {
				_, twice := parts[i-1].Content.(messages.Text)
				require.False(t, twice, "%s: %q: neighbouring texts", l.name, reply)
			}
		}
	}
	l.requireBlank(t, reply, reply[at:])
}

// isWithin reports whether text is whole with parts left out.
func isWithin(text, whole string) bool {
	for i := range len(whole) {
		if text != "" && text[0] == whole[i] {
			text = text[1:]
		}
	}
	return text == ""
}

// withMeaning returns what of a text may not be left out.
func withMeaning(text string) string {
	return noCalls.ReplaceAllString(marksOfNothing.Replace(invented.ReplaceAllString(text, "")), "")
}

// invented are results that DeepSeek's models make up, which are left out.
var invented = regexp.MustCompile(`(?s)<[｜|]tool▁outputs▁begin[｜|]>.*?(<[｜|]tool▁outputs▁end[｜|]>|$)`)

// noCalls is an empty list of calls, with which Mistral's models say that there are none.
var noCalls = regexp.MustCompile(`\[TOOL_CALLS\]\[,*\]`)

// marksOfNothing, and blanks, may be left out: they surround a blank thought, or have no meaning.
var marksOfNothing = strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "", "thought", "", "`", "", "~", "", "<think>", "", "</think>", "",
	"<thought>", "", "</thought>", "", "[/TOOL_CALLS]", "", "[THINK]", "", "[/THINK]", "", "\\", "", "<|python_tag|>", "",
	"<|eom_id|>", "", "<|eot_id|>", "", "<|eom|>", "", "<|eot|>", "", "<|observation|>", "", "<|user|>", "", "<|endoftext|>", "", "<end_of_turn>", "", "</s>", "", "[e~[", "", "<turn|>", "", "<|tool_response>", "", "<|channel>", "", "<channel|>", "",
	"<|start|>", "", "assistant", "", "<|channel|>", "", "analysis", "", "commentary", "", "final", "", "<|constrain|>", "", "json", "", "<|message|>", "", "<|end|>", "", "<|return|>", "", "<|call|>", "",
	"<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>", "", "<|tool_call_section_begin|>", "", "<|tool_call_section_end|>", "", "<|im_end|>", "",
	"<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>", "", "<｜end▁of▁sentence｜>", "")

// partsOfJSON are what stands around the values of a structured reply.
var partsOfJSON = regexp.MustCompile(`[][{},]|"(reply|answer|thought)"\s*:|"`)

func (l lawful) requireBlank(t require.TestingT, reply, between string) {
	if strings.EqualFold(strings.Trim(between, blanks+"`~"), "thought") { // a block of that name, which is blank
		return
	}
	if l.quoted {
		between = partsOfJSON.ReplaceAllString(between, "")
	}
	if !l.drops {
		require.Empty(t, strings.Trim(withMeaning(between), blanks+l.around), "%s: %q: lost", l.name, reply)
	}
}

func TestS2_4_S2_20_AnyReplyObeysTheLaws(t *testing.T) {
	prove.Checks(t, prove.Cases()/2)
	for _, l := range policies(t) {
		t.Run(l.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				reply := prose.Draw(t, "reply")
				if rapid.Bool().Draw(t, "rendered") {
					reply += l.render(l.parts(t)) + prose.Draw(t, "behind")
				}
				checkReply(t, l, reply, rapid.IntRange(0, 40).Draw(t, "size"))
			})
		})
	}
}

func TestS2_20_AnyBytesObeyTheLaws(t *testing.T) {
	prove.Checks(t, prove.Cases()/2)
	for _, l := range policies(t) {
		rapid.Check(t, func(t *rapid.T) {
			checkReply(t, l, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")), rapid.IntRange(0, 9).Draw(t, "size"))
		})
	}
}
