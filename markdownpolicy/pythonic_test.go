package markdownpolicy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestS2_12_PythonicCalls(t *testing.T) {
	for _, c := range []struct {
		about, reply string
		want         []messages.AssistantContent
	}{
		{"one", `[f(a=1)]`, contents(call("call_1", "f", `{"a":1}`))},
		{"two", `[f(a='x', b=[True, None]), ns.g()]`, contents(call("call_1", "f", `{"a":"x","b":[true,null]}`), call("call_2", "ns.g", `{}`))},
		{"spread", "[\n  f(\n    a = {'b': (1, 2)},\n  ),\n  g( ),\n]", contents(call("call_1", "f", `{"a":{"b":[1,2]}}`), call("call_2", "g", `{}`))},
		{"marks", `<|python_start|>[f(a=1)]<|python_end|>`, contents(call("call_1", "f", `{"a":1}`))},
		{"in prose", "I look.\n  [f(a=1)] Well.", contents(text("I look."), call("call_1", "f", `{"a":1}`), text("Well."))},
		{"names that Python has not", `[f(**{"a b": 1, "": 2})]`, contents(call("call_1", "f", `{"a b":1,"":2}`))},
		{"quotes and brackets in strings", `[f(a='])\'[(', b="it's", c='''"''')]`, contents(call("call_1", "f", `{"a":"])'[(","b":"it's","c":"\""}`))},
		{"thought", `<think>[g()]</think>[f()]`, contents(messages.Thought{Text: "[g()]"}, call("call_1", "f", `{}`))},

		{"in a line", "Call [f(a=1)] now.", contents(text("Call [f(a=1)] now."))},
		{"a list", "[1, 2] and [a, b]", contents(text("[1, 2] and [a, b]"))},
		{"a link", "[f()](http://x) and\n[f(a=1)](y)", contents(text("[f()](http://x) and\n[f(a=1)](y)"))},
		{"mathematics", `\[f(x) = 1\]`, contents(text(`\[f(x) = 1\]`))},
		{"a comparison", `[f(x==1)]`, contents(text(`[f(x==1)]`))},
		{"without names", `[f("x")]`, contents(text(`[f("x")]`))},
		{"escaped", `\[f(a=1)]`, contents(text(`[f(a=1)]`))},
		{"cut off early", `[f(`, contents(text(`[f(`))},
		{"nothing", "", contents()},
	} {
		doc, err := markdownpolicy.Pythonic.ParseResponse(c.reply)
		require.NoError(t, err, c.about)
		require.Equal(t, c.want, doc.Contents(), c.about)
		for n := 1; n < 9; n++ {
			again, err := inPieces(t, markdownpolicy.Pythonic, c.reply, n)
			require.NoError(t, err)
			require.Equal(t, doc, again, "%s, in pieces of %d", c.about, n)
		}
	}
}

func TestS2_12_PythonicKnownNames(t *testing.T) {
	p := markdownpolicy.Pythonic.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "f"}}})
	doc, err := p.ParseResponse("Text:\n[g(a=1)]\n[f(a=1)]")
	require.NoError(t, err)
	require.Equal(t, contents(text("Text:\n[g(a=1)]"), call("call_1", "f", `{"a":1}`)), doc.Contents())
	doc, err = p.ParseResponse("\n[g(a=1)]")
	require.NoError(t, err)
	require.Equal(t, contents(call("call_1", "g", `{"a":1}`)), doc.Contents())
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
		require.Equal(t, contents(text(reply)), doc.Contents())
	}
	for reply, want := range map[string]messages.ToolCall{
		`[f(a='x'`:           call("call_1", "f", `{"a":"x"}`),
		`[f(a={'b': ['x'`:    call("call_1", "f", `{"a":{"b":["x"]}}`),
		`[f()`:               {},
		`[f(), `:             {},
		"[f(a='x\ny')]":      call("call_1", "f", `{"a":"x\ny"}`),
		`[f(a=1`:             {},
		`[f(a='x`:            {},
		`[f(a='x',`:          {},
		`[f(a=1, a=2)]`:      {},
		`[f(a='x 'y', b=1)]`: {},
	} {
		doc, err := parse(markdownpolicy.ModeRepair, reply)
		if want.Name == "" {
			require.True(t, err != nil || len(doc.Repairs) == 0, reply)
			continue
		}
		require.NoError(t, err, reply)
		require.Equal(t, contents(want), doc.Contents())
		require.NotEmpty(t, doc.Repairs)
	}
}

func TestS2_1_PythonicArgumentsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arguments, err := json.Marshal(rapid.MapOfN(rapid.String(), anyJSON(2), 0, 4).Draw(t, "arguments"))
		require.NoError(t, err)
		want := contents(text("x"), call("call_1", "f", string(arguments)), call("call_2", "g-2", `{"a":"\/ \u0041 \\/","b":1e5}`))
		reply := markdownpolicy.Pythonic.Render(want)
		doc, err := markdownpolicy.Pythonic.ParseResponse(reply)
		require.NoError(t, err, reply)
		require.Len(t, doc.Parts, 3, reply)
		require.JSONEq(t, string(arguments), doc.Parts[1].Content.(messages.ToolCall).Arguments)
		require.JSONEq(t, `{"a":"/ A \\/","b":1e5}`, doc.Parts[2].Content.(messages.ToolCall).Arguments)
	})
}

func FuzzPythonic(f *testing.F) {
	for _, seed := range []string{`[f(a=1), g(b='x')]`, `\[f(a=`, "x\n[f(**{'': 1})](", `<|python_start|>[f()]<|python_end|>`, `[f(a='''x`, "<think>x</think> [f()]"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, reply string, n int) {
		fuzzPolicy(t, markdownpolicy.Pythonic, reply, n)
		fuzzPolicy(t, markdownpolicy.Pythonic.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair, Tools: []tools.Definition{{Name: "f"}}}), reply, n)
		roundTrip(t, markdownpolicy.Pythonic, reply)
	})
}
