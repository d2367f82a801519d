package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestS2_12_PythonicCalls(t *testing.T) {
	for _, c := range []struct {
		about, reply string
		want         []messages.AssistantContent
	}{
		{"one", `[f(a=1)]`, parts(callPart("call_1", "f", `{"a":1}`))},
		{"two", `[f(a='x', b=[True, None]), ns.g()]`, parts(callPart("call_1", "f", `{"a":"x","b":[true,null]}`), callPart("call_2", "ns.g", `{}`))},
		{"spread", "[\n  f(\n    a = {'b': (1, 2)},\n  ),\n  g( ),\n]", parts(callPart("call_1", "f", `{"a":{"b":[1,2]}}`), callPart("call_2", "g", `{}`))},
		{"marks", `<|python_start|>[f(a=1)]<|python_end|>`, parts(callPart("call_1", "f", `{"a":1}`))},
		{"in prose", "I look.\n  [f(a=1)] Well.", parts(textPart("I look."), callPart("call_1", "f", `{"a":1}`), textPart("Well."))},
		{"names that Python has not", `[f(**{"a b": 1, "": 2})]`, parts(callPart("call_1", "f", `{"a b":1,"":2}`))},
		{"quotes and brackets in strings", `[f(a='])\'[(', b="it's", c='''"''')]`, parts(callPart("call_1", "f", `{"a":"])'[(","b":"it's","c":"\""}`))},
		{"thought", `<think>[g()]</think>[f()]`, parts(messages.Thought{Text: "[g()]"}, callPart("call_1", "f", `{}`))},

		{"in a line", "Call [f(a=1)] now.", parts(textPart("Call [f(a=1)] now."))},
		{"a list", "[1, 2] and [a, b]", parts(textPart("[1, 2] and [a, b]"))},
		{"a link", "[f()](http://x) and\n[f(a=1)](y)", parts(textPart("[f()](http://x) and\n[f(a=1)](y)"))},
		{"mathematics", `\[f(x) = 1\]`, parts(textPart(`\[f(x) = 1\]`))},
		{"a comparison", `[f(x==1)]`, parts(textPart(`[f(x==1)]`))},
		{"without names", `[f("x")]`, parts(textPart(`[f("x")]`))},
		{"escaped", `\[f(a=1)]`, parts(textPart(`[f(a=1)]`))},
		{"cut off early", `[f(`, parts(textPart(`[f(`))},
		{"nothing", "", []messages.AssistantContent{}},
	} {
		requireReads(t, markdownpolicy.Pythonic, c.reply, c.want)
	}
}

func TestS2_12_PythonicKnownNames(t *testing.T) {
	p := markdownpolicy.Pythonic.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "f"}}})
	doc, err := p.ParseResponse("Text:\n[g(a=1)]\n[f(a=1)]")
	require.NoError(t, err)
	require.Equal(t, parts(textPart("Text:\n[g(a=1)]"), callPart("call_1", "f", `{"a":1}`)), doc.Contents())
	doc, err = p.ParseResponse("\n[g(a=1)]")
	require.NoError(t, err)
	require.Equal(t, parts(callPart("call_1", "g", `{"a":1}`)), doc.Contents())
}

func TestS2_8_PythonicModes(t *testing.T) {
	parse := func(mode markdownpolicy.Mode, reply string) (markdownpolicy.Document, error) {
		return markdownpolicy.Pythonic.With(markdownpolicy.Options{Mode: mode}).ParseResponse(reply)
	}
	for _, reply := range []string{
		`[f(a=b'z')]`, `[f(a='x 'y', b='z')]`, `[f(a=1])]`, `[f(a=1`, `[f(a='x`, "[f(a='x\ny')]", `[f(a=1, a=2)]`, `[f(a=1, 2)]`, `[f(a=1, **{'b': 2})]`,
		`[f(a=1), g]`, `[f(**'x')]`, `[f(a=x)]`, `[f(a=1) + g()]`, `[f(),,g()]`,
	} {
		_, err := parse(markdownpolicy.ModeError, "Hi.\n"+reply)
		var perr *markdownpolicy.ParseError
		require.ErrorAs(t, err, &perr, reply)
		require.Equal(t, "pythonic", perr.Policy)
		require.GreaterOrEqual(t, perr.Line, 2)
		require.NotEmpty(t, perr.Expected)

		doc, err := parse(markdownpolicy.ModeText, reply)
		require.NoError(t, err)
		require.Equal(t, parts(textPart(reply)), doc.Contents())
	}
	for reply, want := range map[string]messages.AssistantContent{
		`[f(a='x'`:           callPart("call_1", "f", `{"a":"x"}`),
		`[f(a={'b': ['x'`:    callPart("call_1", "f", `{"a":{"b":["x"]}}`),
		`[f()`:               nil,
		`[f(), `:             nil,
		"[f(a='x\ny')]":      callPart("call_1", "f", `{"a":"x\ny"}`),
		`[f(a=1`:             nil,
		`[f(a='x`:            nil,
		`[f(a='x',`:          nil,
		`[f(a=1, a=2)]`:      nil,
		`[f(a='x 'y', b=1)]`: nil,
	} {
		doc, err := parse(markdownpolicy.ModeRepair, reply)
		if want == nil {
			require.True(t, err != nil || len(doc.Repairs) == 0, reply)
			continue
		}
		require.NoError(t, err, reply)
		require.Equal(t, parts(want), doc.Contents())
		require.NotEmpty(t, doc.Repairs)
	}
}

func FuzzPythonic(f *testing.F) {
	fuzzTags(f, named(policies(f), "pythonic"), `[f(a=1), g(b='x')]`, `\[f(a=`, "x\n[f(**{'': 1})](", `<|python_start|>[f()]<|python_end|>`, `[f(a='''x`, "<think>x</think> [f()]")
}
