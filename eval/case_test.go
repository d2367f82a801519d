package eval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/messages"
)

func call(name, arguments string) messages.ToolCall {
	return messages.ToolCall{Name: name, Arguments: arguments}
}

func TestCase_calls(t *testing.T) {
	add := func(a, b string) Call {
		return Call{Tool: "add", Arguments: map[string]json.RawMessage{"a": json.RawMessage(a), "b": json.RawMessage(b)}}
	}
	first, second := call("add", `{"a":1.0,"b":2}`), call("add", `{"b":4,"a":3,"unit":"m"}`)
	for name, test := range map[string]struct {
		c    Case
		made []messages.ToolCall
		want string // "" passes
	}{
		"equal by value, others are free": {Case{Calls: []Call{add("1", "2"), add("3", "4")}}, []messages.ToolCall{second, first}, ""},
		"in order":                        {Case{Calls: []Call{add("1", "2"), add("3", "4")}, Ordered: true}, []messages.ToolCall{first, first, second}, ""},
		"not in order":                    {Case{Calls: []Call{add("1", "2"), add("3", "4")}, Ordered: true}, []messages.ToolCall{second, first}, "no call of add as expected at its place"},
		"each has a call of its own":      {Case{Calls: []Call{add("1", "2"), add("1", "2")}}, []messages.ToolCall{first}, "no call of add as expected"},
		"another value":                   {Case{Calls: []Call{add("1", "3")}}, []messages.ToolCall{first}, "no call of add as expected"},
		"another tool":                    {Case{Calls: []Call{{Tool: "sub"}}}, []messages.ToolCall{first}, "no call of sub as expected"},
		"no arguments":                    {Case{Calls: []Call{{Tool: "now"}}}, []messages.ToolCall{call("now", "")}, ""},
		"broken arguments":                {Case{Calls: []Call{{Tool: "now"}}}, []messages.ToolCall{call("now", "{")}, "no call of now as expected"},
		"one too many":                    {Case{Calls: []Call{add("1", "2")}, Only: true}, []messages.ToolCall{first, second}, "2 calls, and not only the 1 that are expected"},
		"none at all":                     {Case{Only: true}, nil, ""},
		"forbidden":                       {Case{Forbid: []string{"sub", "add"}}, []messages.ToolCall{first}, "called add, which is forbidden"},
		"a schema of all arguments": {
			Case{Calls: []Call{{Tool: "add", Schema: json.RawMessage(`{"enum":[{"a":1,"b":2}]}`)}}}, []messages.ToolCall{first}, "",
		},
	} {
		test.c.Name, test.c.Goal = "a", "g"
		k, err := check(test.c)
		require.NoError(t, err, name)
		got, is := k.scoreCalls(test.made)
		require.True(t, is)
		require.Equal(t, test.want, got.Why, name)
		require.Equal(t, test.want == "", got.Value == 1, name)
	}
}

// Expected calls are found wherever there is a way to give each a call of its own.
func TestCase_callsMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Case
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			values := rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 3, rapid.ID).Draw(t, "accepts")
			data, err := json.Marshal(map[string]any{"properties": map[string]any{"x": map[string]any{"enum": values}}})
			require.NoError(t, err)
			c.Calls = append(c.Calls, Call{Tool: "f", Schema: data})
		}
		var made []messages.ToolCall
		for _, x := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 5).Draw(t, "made") {
			made = append(made, call("f", fmt.Sprintf(`{"x":%d}`, x)))
		}
		c.Name, c.Goal = "a", "g"
		k, err := check(c)
		require.NoError(t, err)
		require.Equal(t, every(k, 0, made, map[int]bool{}), k.missing(made) < 0)
	})
}

// every tries every way to give the expected calls from want on a call of their own.
func every(k *checked, want int, made []messages.ToolCall, taken map[int]bool) bool {
	if want == len(k.Calls) {
		return true
	}
	for i, m := range made {
		if !taken[i] && k.fits(want, m) {
			taken[i] = true
			if every(k, want+1, made, taken) {
				return true
			}
			delete(taken, i)
		}
	}
	return false
}

func TestCase_answer(t *testing.T) {
	is := "42"
	for text, test := range map[string]struct {
		a    Answer
		want string
	}{
		" 42\n":          {Answer{Equals: &is}, ""},
		"42.":            {Answer{Equals: &is}, "it is not 42"},
		"The sum is 42.": {Answer{Matches: []string{`\b42\b`, "(?i)SUM"}, Lacks: []string{"<"}}, ""},
		"42 <tool_call>": {Answer{Matches: []string{"42"}, Lacks: []string{"x", "<tool"}}, "it holds <tool"},
		"It is 41.":      {Answer{Matches: []string{"41", "42"}}, "nothing matches 42"},
		`{"sum":42}`:     {Answer{Schema: json.RawMessage(`{"required":["sum"]}`)}, ""},
		"{}":             {Answer{Schema: json.RawMessage(`{"required":["sum"]}`)}, "sum"},
	} {
		k, err := check(Case{Name: "a", Goal: "g", Answer: &test.a})
		require.NoError(t, err)
		got, _ := k.scoreAnswer(text)
		require.Contains(t, got.Why, test.want)
		require.Equal(t, test.want == "", got.Value == 1, text)
	}
}

func TestReadCases(t *testing.T) {
	all, err := ReadCases(strings.NewReader("{\"name\":\"a\",\"goal\":\"g\",\"tools\":[{\"name\":\"f\",\"returns\":\"1\"}]}\n\n{\"name\":\"b\",\"history\":{\"v\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}]}}\n"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "f", all[0].Tools[0].Name)
	require.Equal(t, messages.History{messages.UserText("hi")}, all[1].History)
	for text, want := range map[string]string{
		"{}\n{\"nam\":1}": `line 2: json: unknown field "nam"; did you mean name?`,
		"{} {}":           "line 1: more than one object",
		"{\"name\":":      "line 1: unexpected EOF",
		"{\"name\":\"" + strings.Repeat("a", MaxCase) + "\"}": "line 1: bufio",
	} {
		_, err := ReadCases(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// Whatever is read can be checked, and written and read again.
func FuzzReadCases(f *testing.F) {
	f.Add(`{"name":"a","goal":"g","calls":[{"tool":"t","arguments":{"a":1e400},"schema":true}],"answer":{"matches":["a"]}}`)
	f.Add(`{"name":"a","history":{"v":1,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]},"limits":{"steps":1},"files":{"a":"b"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadCases(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range all {
			k, err := check(c)
			if err != nil {
				continue
			}
			data, err := json.Marshal(c)
			require.NoError(t, err)
			again, err := ReadCases(strings.NewReader(string(data)))
			require.NoError(t, err)
			twice, err := check(again[0])
			require.NoError(t, err)
			require.Equal(t, k.digest, twice.digest)
			k.scoreCalls([]messages.ToolCall{call("t", text)})
			k.scoreAnswer(text)
		}
	})
}

func TestReport_JUnit(t *testing.T) {
	r := Report{Suite: "s"}
	r.add(&Trial{Variant: "v", Case: "a", N: 1, Run: "r1", Passed: true, Use: Use{Seconds: 0.5}})
	r.add(&Trial{Variant: "v", Case: "b", N: 1, Run: "r2", Scores: []Score{{Name: "answer", Why: "it is not 42"}}})
	r.add(&Trial{Variant: "v", Case: "b", N: 2, Run: "r3", Passed: true})
	var b strings.Builder
	require.NoError(t, r.JUnit(&b, 0.6))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="s/v" tests="2" failures="1" time="0.500">
    <testcase classname="s/v" name="a" time="0.500"></testcase>
    <testcase classname="s/v" name="b" time="0.000">
      <failure message="1 of 2 trials passed">run r2: answer: it is not 42</failure>
    </testcase>
  </testsuite>
</testsuites>
`, b.String())
	b.Reset()
	require.NoError(t, r.JUnit(&b, 0.5))
	require.NotContains(t, b.String(), "<failure")
}
