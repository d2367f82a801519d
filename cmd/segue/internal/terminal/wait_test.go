package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

func texts(notes []Line) string {
	var lines []string
	for _, n := range notes {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}

func TestShowArguments(t *testing.T) {
	for _, tt := range []struct{ arguments, want string }{
		{`{}`, ``},
		{``, `  | `},
		{`{"b":"x","a":[1, "\u0041"],"n":null,"f":1e3}`, "  b: \"x\"\n  a: [1, \"\\u0041\"]\n  n: null\n  f: 1e3"},
		{`{"path":"a","path":"b"}`, "  path: \"a\"\n  path: \"b\""},
		{`{"path: \"a\"":"b","":1}`, "  \"path: \\\"a\\\"\": \"b\"\n  \"\": 1"},
		{`{"path":"\u002e\u002e/a\u200b\\"}`, `  path: "../a\u200b\\"`},
		{"{\"c\":\"1\\n\\t2\\r\\npath: \\\"z\\\"\"}", "  c:\n    | 1\n    | \t2\\r\n    | path: \"z\""},
		{"{\"a\":1,\n\x1b[2J", "  | {\"a\":1,\n  | \\x1b[2J"},
		{`{"a":1}{"a":2}`, `  | {"a":1}{"a":2}`},
		{`{"a":1`, `  | {"a":1`},
		{`{"a"`, `  | {"a"`},
		{`["a"]`, `  | ["a"]`},
		{"\xff", `  | \xff`},
	} {
		require.Equal(t, tt.want, texts(DescribeArguments(tt.arguments)), "%q", tt.arguments)
	}
}

func TestShowQuestion(t *testing.T) {
	w := machine.Wait{Frame: "0.1", Seq: 7, Kind: "question", Tool: tools.AskUserName, Text: "How\nmany?", Options: []string{"8", "16"}}
	require.Equal(t, "[0.1 #7] the model asks\n  | How\n  | many?\n  - 8\n  - 16", texts(DescribeQuestion(w, "")))
	w = machine.Wait{Frame: "0.1", Seq: 7, Kind: "password", Tool: "log\nin", Text: "Which?", Options: []string{"a\nb", "c"}, Untrusted: true}
	require.Equal(t, "[0.1 #7] log\\nin asks\n  | Which?\n  1. a\\nb\n  2. c\n"+UntrustedWarning, texts(DescribeQuestion(w, "")))
	require.Equal(t, "[0] the model asks\n  | ", texts(DescribeQuestion(machine.Wait{Frame: "0"}, "")))
	require.Equal(t, "[log ger 0.1] the model asks\n  | ", texts(DescribeQuestion(machine.Wait{Frame: "0.1"}, "log\nger")))
}

func TestDescribeWait(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		wait           machine.Wait
		terse, verbose string
	}{
		{machine.Wait{Kind: machine.WaitApproval, Tool: "t", Arguments: `{"a":"` + long + `"}`}, `approval: t {"a":"` + long[:81] + "...", `approval: t {"a":"` + long + `"}`},
		{machine.Wait{Kind: machine.WaitApproval, Tool: "t", Arguments: "{}", Text: "May t be called?"}, `approval: t {}`, `approval: t {}`},
		{machine.Wait{Kind: machine.WaitApproval, Tool: "t", Arguments: "{}", Text: "May t be called? It has\nchanged."}, `approval: t {} (It has\nchanged.)`, `approval: t {} (It has\nchanged.)`},
		{machine.Wait{Kind: machine.WaitQuestion, Text: "A\nb?"}, `an answer: A\nb?`, `an answer: A\nb?`},
		{machine.Wait{Kind: machine.WaitQuestion, Text: "A?", Options: []string{"1", "2"}}, `an answer: A? (1 / 2)`, `an answer: A? (1 / 2)`},
		{machine.Wait{Kind: "moon\x1b"}, `moon`, `moon`},
		{machine.Wait{Kind: "moon", Text: "full"}, `moon: full`, `moon: full`},
	} {
		tt.wait.Frame, tt.wait.Seq = "0.1", 3
		require.Equal(t, "[0.1 #3] waits for "+tt.terse, DescribeWait(tt.wait, false))
		require.Equal(t, "[0.1 #3] waits for "+tt.verbose, DescribeWait(tt.wait, true))
	}
}
