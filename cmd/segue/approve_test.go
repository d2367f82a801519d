package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/llmclient/scripted"
)

const (
	mayWrite = ": y yes, n no, e edit, a always below ./ > "
	yourTurn = "your answer > "
)

func writes(id, path, content string) scripted.Reply {
	return scripted.Calls(scripted.Call("write_file", `{"path":"`+path+`","content":"`+content+`"}`, id))
}

// TestApprove shows a call before it is made, and takes an answer for nothing that it is not.
func TestApprove(t *testing.T) {
	s := begin(t, approve.Ask, nil,
		scripted.Calls(scripted.Call("list_files", `{}`, "c0")),
		writes("c1", "b\u202e.txt", `one\ntwo\u001b[2J`),
		scripted.Text("Written."))
	require.Equal(t, `[0 #4] write_file "b\u202e.txt" needs your approval
  a new file of 11 bytes (2 lines)
  Careful: the run has read text from outside, which may have led to this.
  | one
  | two\x1b[2J
write_file "b\u202e.txt"`, tailOf(s.Await(mayWrite), "[0 #4]"))
	for _, wrong := range []string{"", "yess", "ja", "1", "  "} {
		s.Types(wrong + "\n")
		require.Equal(t, "Answer y, n, e or a. Ctrl-C stops the run.\nwrite_file \"b\\u202e.txt\"", s.Await(mayWrite))
	}
	s.wrote(map[string]string{})
	s.Types(" Yes \n")
	require.Equal(t, cli.ExitDone, s.end())
	s.wrote(map[string]string{"b\u202e.txt": "one\ntwo\x1b[2J"})
	require.Equal(t, "Written.\n", s.stdout.String())
	require.Regexp(t, `\[0 #4\] write_file ok( \S+s)?: `, s.Rest())
}

// tailOf is the end of s that begins with the last of begin.
func tailOf(s, begin string) string {
	if i := bytes.LastIndex([]byte(s), []byte(begin)); i >= 0 {
		return s[i:]
	}
	return s
}

// TestApprove_several asks about one call after another, and about a tool that is always allowed no
// more.
func TestApprove_several(t *testing.T) {
	s := begin(t, approve.Ask, nil,
		scripted.Calls(
			scripted.Call("write_file", `{"path":"a","content":"1"}`, "c1"),
			scripted.Call("write_file", `{"path":"b","content":"2"}`, "c2"),
			scripted.Call("write_file", `{"path":"c","content":"3"}`, "c3"),
			scripted.Call("write_file", `{"path":"d","content":"4"}`, "c4")),
		writes("c5", "e", "5"),
		scripted.Text("Done."))
	require.Contains(t, s.Await(mayWrite), "write_file a needs your approval")
	s.Types("n\n")
	s.Await("why not, for the model (or just Enter) > ")
	s.Types("not that one\n")
	require.Contains(t, s.Await(mayWrite), "write_file b needs your approval")
	s.Types("no\n")
	s.Await("why not, for the model (or just Enter) > ")
	s.Types("\n")
	require.Contains(t, s.Await(mayWrite), "write_file c needs your approval")
	s.Types("A\n")
	require.Equal(t, cli.ExitDone, s.end())
	s.wrote(map[string]string{"c": "3", "d": "4", "e": "5"})
	rest := s.Rest()
	require.NotContains(t, rest, "needs your approval")
	require.NotContains(t, rest, "waits for")
	outputs := toolOutputs(s.model.Requests()[1])
	require.Equal(t, []string{"a person refused this call: not that one", "a person refused this call"}, outputs[:2])
}

// TestApprove_untrusted asks only once text from outside was read.
func TestApprove_untrusted(t *testing.T) {
	s := begin(t, approve.Untrusted, nil,
		writes("c1", "a", "1"),
		scripted.Calls(scripted.Call("read_file", `{"path":"a"}`, "c2")),
		writes("c3", "b", "2"),
		scripted.Text("Done."))
	require.Regexp(t, `write_file ok( \S+s)?: `, s.Await(mayWrite))
	s.wrote(map[string]string{"a": "1"})
	s.Types("y\n")
	require.Equal(t, cli.ExitDone, s.end())
	s.wrote(map[string]string{"a": "1", "b": "2"})
}

// TestAnswer asks the questions of one step one after another, each until it has an answer. What
// else happens meanwhile is shown afterwards.
func TestAnswer(t *testing.T) {
	s := begin(t, approve.Ask, nil,
		scripted.Calls(
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c1"),
			scripted.Call("list_files", `{}`, "c2"),
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c3"),
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c4")),
		scripted.Text("Done."))
	require.Contains(t, s.Await(yourTurn), "[0 #2] the model asks\n  | Which\n  | one?\n  1. left\n  2. right\n")
	s.Types("\n")
	s.Await("An answer is needed. Ctrl-C stops the run.\n" + yourTurn)
	s.Types("3\n")
	s.Await("There is no option 3. Ctrl-C stops the run.\n" + yourTurn)
	s.Types(" 2\n")
	s.Await("the model asks\n")
	s.Await(yourTurn)
	s.Types("neither\x1b[D\n")
	s.Await("the model asks\n")
	s.Await(yourTurn)
	s.Types("left\n")
	require.Equal(t, cli.ExitDone, s.end())
	outputs := toolOutputs(s.model.Requests()[1])
	require.ElementsMatch(t, []string{"right", "neither[D", "left"}, []string{outputs[0], outputs[2], outputs[3]})
}

// TestAsker_leaves suspends a run that nobody answers.
func TestAsker_leaves(t *testing.T) {
	s := begin(t, approve.Ask, nil, scripted.Calls(
		scripted.Call("write_file", `{"path":"a","content":"1"}`, "c1"),
		scripted.Call("write_file", `{"path":"b","content":"2"}`, "c2"),
		scripted.Call("ask_user", `{"question":"Well?"}`, "c3")))
	s.Await(mayWrite)
	s.Types("y\n")
	s.Await(mayWrite)
	s.Types("y") // and no Enter
	require.NoError(t, s.Keys.(io.Closer).Close())
	require.Equal(t, cli.ExitWaiting, s.end())
	s.wrote(map[string]string{"a": "1"})
	s.Await("run r waiting\n")
	require.Equal(t, `segue: [0 #2] waits for approval: write_file {"path":"b","content":"2"}
`, s.Rest())
}

// TestAsker_leavesWithNo takes a refusal without a reason.
func TestAsker_leavesWithNo(t *testing.T) {
	s := begin(t, approve.Ask, nil, writes("c1", "a", "1"), scripted.Text("Then not."))
	s.Await(mayWrite)
	s.Types("n\n")
	s.Await("Enter) > ")
	require.NoError(t, s.Keys.(io.Closer).Close())
	require.Equal(t, cli.ExitDone, s.end())
	require.Equal(t, "Then not.\n", s.stdout.String())
	s.wrote(map[string]string{})
}
