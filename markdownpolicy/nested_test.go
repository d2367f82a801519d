package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
)

const addCall = `{"name": "add", "arguments": {"x": 1}}`

var addsOne = callPart("call_1", "add", `{"x": 1}`)

// nearlyJSON are texts that hold an object like a call within what is nearly JSON.
var nearlyJSON = withAddCall(
	`{'log': [C]}`, `{'log': C}`, `{log: [C]}`, `{log: C}`, `{1: C}`, "{'log': [\nC\n]}", `{"log": [C,]}`, `{"a": True, "log": [C]}`, `{"a": None, "log": C}`,
	"{ // past calls\n\"log\": [C]}", `{/* x */ "log": [C]}`, "{\"ok\": 1, // c\n \"log\": C}", "{'ok': 1, # c\n 'log': C}", `[1, C]`, `['a', C]`, `[True, C]`, `{"log": ['a', C]}`,
	`Here: {'log': [C, C], 'n': {}} as it was.`, `{'a': 'it\'s', 'log': [C, ...]}`, `{'a': 'so: C'}`, `{/* a * b **/ a: [[C]]}`, "it's { 'tis\n{log: C}",
	`{'log': [C`, `{'log': C`, `{log: [C, C`, `{"log": [C, {"name"`, `{'log': [{'n': 1}, C], 'x': 1`, "Here: { 'a': [ C", // cut off
)

// besideBrackets are replies with calls that are not within an open bracket, or within one that is
// no value or has no end.
var besideBrackets = []misread{
	{reply: "Use {x}. " + addCall, want: parts(textPart("Use {x}."), addsOne)},
	{reply: "{'a': 1}\n" + addCall, want: parts(textPart("{'a': 1}"), addsOne)},
	{reply: "it's { " + addCall, want: parts(textPart("it's {"), addsOne)},
	{reply: "{ 'a': 1\n\n" + addCall, want: parts(textPart("{ 'a': 1"), addsOne)},
	{reply: "{ 'a': " + addCall + ", x y", want: parts(textPart("{ 'a':"), addsOne, textPart(", x y"))},
	{reply: "See [1, " + addCall, want: parts(textPart("See [1,"), addsOne)},
	{reply: "func f() {\n}\n" + addCall, want: parts(textPart("func f() {\n}"), addsOne)},
	{reply: "See [this](url), [1]: " + addCall + " [2]", want: parts(textPart("See [this](url), [1]:"), addsOne, textPart("[2]"))},
	{reply: "[note: " + addCall + "]", want: parts(textPart("[note:"), addsOne, textPart("]"))},
	{reply: "[don't\n" + addCall + "]", want: parts(textPart("[don't"), addsOne, textPart("]"))},
	{reply: "{'log': {}}\n" + addCall + "}", want: parts(textPart("{'log': {}}"), addsOne, textPart("}"))},
}

// withAddCall puts a call at each C.
func withAddCall(texts ...string) (all []string) {
	for _, t := range texts {
		all = append(all, strings.ReplaceAll(t, "C", addCall))
	}
	return all
}

// nestedScraps are pieces of what is nearly JSON, with calls among them.
var nestedScraps = []string{
	"{", "}", "[", "]", ",", ":", "'", `"`, "a", " 1", "\n", " ", "//", "/*", "*/", "#", "\\", ";", "{'a':", "['a',", "{a: [", "}]", "]}", "[1, ", addCall, addCall, `[` + addCall + `,`,
	"```", "\n```\n", "<think>", "</think>", "<|python_tag|>", `{"a":`, `{"a": True, `,
}

// TestS2_20_CallsAmongBracketsObeyTheLaws reads and renders texts made of brackets and calls.
func TestS2_20_CallsAmongBracketsObeyTheLaws(t *testing.T) {
	for _, name := range []string{"llama", "llama/unknown", "llama/repair", "fenced", "fenced/unknown", "fenced/repair"} {
		t.Run(name, func(t *testing.T) {
			l := lawful{Policy: knowing(name), name: name}
			rapid.Check(t, func(t *rapid.T) {
				some := func(about string) string {
					return strings.Join(rapid.SliceOfN(rapid.SampledFrom(nestedScraps), 0, 14).Draw(t, about), "")
				}
				reply := some("reply")
				checkReply(t, l, reply, rapid.IntRange(0, 40).Draw(t, "size"))
				checkRoundTrip(t, l.Policy, parts(textPart(reply), addsOne, textPart(some("between")), addsOne, thoughtPart(some("thought")), textPart(some("behind")), addsOne, addsOne))
			})
		})
	}
}

// A call is released once the bracket around it has proved to be none.
func TestS2_4_CallsWaitOnlyForTheBracketAroundThem(t *testing.T) {
	for _, p := range []markdownpolicy.Streamer{knowing("llama").(markdownpolicy.Streamer), knowing("fenced").(markdownpolicy.Streamer)} {
		parser := p.NewParser()
		require.Equal(t, parts(textPart("{'a':")), joined(parser.Write("{'a': "+addCall+", 'b'")))
		require.Equal(t, parts(addsOne, textPart(", 'b' and")), joined(parser.Write(" and ")))
	}
}
