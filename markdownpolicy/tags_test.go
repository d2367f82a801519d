package markdownpolicy_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// A quote in a text does not make the one before an argument the second of a pair.
func TestS2_1_QuoteBeforeCall(t *testing.T) {
	for _, l := range policies(t) {
		if l.turns || l.mixes {
			continue
		}
		for _, text := range []string{`"`, `5" wide`, `so "that`} {
			for _, value := range []string{"</think>", "<think>", `\"</think>`} {
				call := callPart("", "read_file", `{"path":"`+value+`"}`)
				checkRoundTrip(t, l.Policy, parts(textPart(text), call))
				checkRoundTrip(t, l.Policy, parts(call, call))
				checkRoundTrip(t, l.Policy, parts(thoughtPart(text), textPart(text), call))
			}
		}
	}
}

// checkPieces checks that a reply in pieces gives the same parts as the whole, and that the
// released parts add up to them.
func checkPieces(t require.TestingT, l lawful, reply string, size int) {
	doc, err := l.ParseResponse(reply)
	p := l.parser()
	var released []markdownpolicy.Part
	for rest := reply; rest != ""; {
		n := min(size, len(rest))
		released = append(released, p.Write(rest[:n])...)
		rest = rest[n:]
	}
	again, rest, err2 := p.Close()
	require.Equal(t, doc, again, "%s: %q in pieces of %d", l.name, reply, size)
	require.Equal(t, err, err2, "%s: %q", l.name, reply)
	require.Equal(t, joined(doc.Parts), joined(append(released, rest...)), "%s: %q", l.name, reply)
	at := 0
	for _, part := range doc.Parts {
		require.LessOrEqual(t, at, part.Start, "%s: %q", l.name, reply)
		require.LessOrEqual(t, part.Start, part.End, "%s: %q", l.name, reply)
		at = part.End
	}
	require.LessOrEqual(t, at, len(reply))
}

func fuzzTags(f *testing.F, policies []lawful, seeds ...string) {
	for _, s := range seeds {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, reply string, size int) {
		for _, l := range policies {
			checkPieces(t, l, reply, 1+max(size, -(size+1))%max(1, len(reply)))
			if !utf8.ValidString(reply) {
				continue // bytes that are not UTF-8 may be replaced in names
			}
			said := must(l.ParseResponse(reply)).Contents()
			written := l.render(said)
			doc, err := l.ParseResponse(written)
			require.NoError(t, err)
			if !strings.HasPrefix(l.name, "pythonic") || !slices.ContainsFunc(said, l.misses) {
				require.Equal(t, written, l.render(doc.Contents()))
			}
		}
	})
}

// misses reports whether a part is a call of a tool that the policy does not know: behind a text,
// Pythonic reads one only behind its mark, and writes it without.
func (l lawful) misses(part messages.AssistantContent) bool {
	call, ok := part.(messages.ToolCall)
	return ok && l.tools != nil && !slices.ContainsFunc(l.tools, func(d tools.Definition) bool { return d.Name == call.Name })
}

func named(all []lawful, prefix string) (some []lawful) {
	for _, l := range all {
		if strings.HasPrefix(l.name, prefix) {
			some = append(some, l)
		}
	}
	return some
}

func FuzzXML(f *testing.F) {
	fuzzTags(f, named(policies(f), "xml"),
		"a <tool_call><name>n</name><arguments>{\"a\":\"</arguments>\"}</arguments></tool_call> b", "<read_file><path>x</path></read_file>",
		"<write_file><content></content></content>", "<think>x</think>\\<tool_call>", "<read_file/>`<read_file />`\\<read_file/>", "<function=read_file><parameter=path>x</parameter></function>")
}

func FuzzHermes(f *testing.F) {
	fuzzTags(f, named(policies(f), "hermes"),
		`<think>x</think><tool_call>[{"name":"a","arguments":{}},{"name":"b"}]</tool_call>`, `<tool_call>{"name":"a"}}`, "x</think>\\<tool_call>{",
		"<tool_call><function=f><parameter=a>1</parameter></function></tool_call>", "<function=read_file>{\"path\":\"</function>\"}</function>\n</tool_call>",
		"<tool_call><function=f/><function='g'>{\"a\":1}</function></tool_call>", "x<tool_call>{\"name\":\"a\"}</tool_call></think>y", "x<tool_call>{\"name\":\"a\"}</tool_call>\n</think>\n",
		"<function=read_file><parameter=path></function></parameter></function>", "x <tool_call> and</think>y<think>z<tool_call>f()", "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
		"<|tool_call_start|>[f(a='b')]<|tool_call_end|>", "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>",
		"<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>")
}

func FuzzMistral(f *testing.F) {
	fuzzTags(f, named(policies(f), "mistral"),
		`a [TOOL_CALLS][{"name":"a","arguments":{"x":"]"}},{"name":"b"}][/TOOL_CALLS]`, `[THINK]x[/THINK][TOOL_CALLS]f[CALL_ID]1[ARGS]{"a":1}b`,
		`[{"name":"read_file","arguments":{}}]]`, `\[{`, `[TOOL_CALLS]f{"a":`)
}
