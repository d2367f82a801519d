package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
)

const (
	mayWrite = ": y yes, n no, a always below ./ > "
	yourTurn = "your answer > "
)

func writes(id, path, content string) scripted.Reply {
	return scripted.Calls(scripted.Call("write_file", `{"path":"`+path+`","content":"`+content+`"}`, id))
}

// TestApprove shows a call before it is made, and takes an answer for nothing that it is not.
func TestApprove(t *testing.T) {
	s := begin(t, approveAsk, nil,
		scripted.Calls(scripted.Call("list_files", `{}`, "c0")),
		writes("c1", "b\u202e.txt", `one\ntwo\u001b[2J`),
		scripted.Text("Written."))
	require.Equal(t, `[0 #4] write_file "b\u202e.txt" needs your approval
  a new file of 11 bytes (2 lines)
  Careful: the run has read text from outside, which may have led to this.
  | one
  | two\x1b[2J
write_file "b\u202e.txt"`, tailOf(s.await(mayWrite), "[0 #4]"))
	for _, wrong := range []string{"", "yess", "ja", "1", "  "} {
		s.types(wrong + "\n")
		require.Equal(t, "Answer y, n or a. Ctrl-C stops the run.\nwrite_file \"b\\u202e.txt\"", s.await(mayWrite))
	}
	s.wrote(map[string]string{})
	s.types(" Yes \n")
	require.Equal(t, exitDone, s.end())
	s.wrote(map[string]string{"b\u202e.txt": "one\ntwo\x1b[2J"})
	require.Equal(t, "Written.\n", s.stdout.String())
	require.Contains(t, s.rest(), "[0 #4] write_file ok: ")
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
	s := begin(t, approveAsk, nil,
		scripted.Calls(
			scripted.Call("write_file", `{"path":"a","content":"1"}`, "c1"),
			scripted.Call("write_file", `{"path":"b","content":"2"}`, "c2"),
			scripted.Call("write_file", `{"path":"c","content":"3"}`, "c3"),
			scripted.Call("write_file", `{"path":"d","content":"4"}`, "c4")),
		writes("c5", "e", "5"),
		scripted.Text("Done."))
	require.Contains(t, s.await(mayWrite), "write_file a needs your approval")
	s.types("n\n")
	s.await("why not, for the model (or just Enter) > ")
	s.types("not that one\n")
	require.Contains(t, s.await(mayWrite), "write_file b needs your approval")
	s.types("no\n")
	s.await("why not, for the model (or just Enter) > ")
	s.types("\n")
	require.Contains(t, s.await(mayWrite), "write_file c needs your approval")
	s.types("A\n")
	require.Equal(t, exitDone, s.end())
	s.wrote(map[string]string{"c": "3", "d": "4", "e": "5"})
	rest := s.rest()
	require.NotContains(t, rest, "needs your approval")
	require.NotContains(t, rest, "waits for")
	outputs := toolOutputs(s.model.Requests()[1])
	require.Equal(t, []string{"a person refused this call: not that one", "a person refused this call"}, outputs[:2])
}

// TestApprove_untrusted asks only once text from outside was read.
func TestApprove_untrusted(t *testing.T) {
	s := begin(t, approveUntrusted, nil,
		writes("c1", "a", "1"),
		scripted.Calls(scripted.Call("read_file", `{"path":"a"}`, "c2")),
		writes("c3", "b", "2"),
		scripted.Text("Done."))
	require.Contains(t, s.await(mayWrite), "write_file ok: ")
	s.wrote(map[string]string{"a": "1"})
	s.types("y\n")
	require.Equal(t, exitDone, s.end())
	s.wrote(map[string]string{"a": "1", "b": "2"})
}

// TestAnswer asks the questions of one step one after another, each until it has an answer. What
// else happens meanwhile is shown afterwards.
func TestAnswer(t *testing.T) {
	s := begin(t, approveAsk, nil,
		scripted.Calls(
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c1"),
			scripted.Call("list_files", `{}`, "c2"),
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c3"),
			scripted.Call("ask_user", `{"question":"Which\none?","options":["left","right"]}`, "c4")),
		scripted.Text("Done."))
	require.Contains(t, s.await(yourTurn), "[0 #2] the model asks\n  | Which\n  | one?\n  1. left\n  2. right\n")
	s.types("\n")
	s.await("An answer is needed. Ctrl-C stops the run.\n" + yourTurn)
	s.types("3\n")
	s.await("There is no option 3. Ctrl-C stops the run.\n" + yourTurn)
	s.types(" 2\n")
	s.await("the model asks\n")
	s.await(yourTurn)
	s.types("neither\x1b[D\n")
	s.await("the model asks\n")
	s.await(yourTurn)
	s.types("left\n")
	require.Equal(t, exitDone, s.end())
	outputs := toolOutputs(s.model.Requests()[1])
	require.ElementsMatch(t, []string{"right", "neither[D", "left"}, []string{outputs[0], outputs[2], outputs[3]})
}

// TestPerson_leaves suspends a run that nobody answers.
func TestPerson_leaves(t *testing.T) {
	s := begin(t, approveAsk, nil, scripted.Calls(
		scripted.Call("write_file", `{"path":"a","content":"1"}`, "c1"),
		scripted.Call("write_file", `{"path":"b","content":"2"}`, "c2"),
		scripted.Call("ask_user", `{"question":"Well?"}`, "c3")))
	s.await(mayWrite)
	s.types("y\n")
	s.await(mayWrite)
	s.types("y") // and no Enter
	require.NoError(t, s.keys.(io.Closer).Close())
	require.Equal(t, exitWaiting, s.end())
	s.wrote(map[string]string{"a": "1"})
	s.await("run r waiting\n")
	require.Equal(t, `segue: [0 #2] waits for approval: write_file {"path":"b","content":"2"}
`, s.rest())
}

// TestPerson_leavesWithNo takes a refusal without a reason.
func TestPerson_leavesWithNo(t *testing.T) {
	s := begin(t, approveAsk, nil, writes("c1", "a", "1"), scripted.Text("Then not."))
	s.await(mayWrite)
	s.types("n\n")
	s.await("Enter) > ")
	require.NoError(t, s.keys.(io.Closer).Close())
	require.Equal(t, exitDone, s.end())
	require.Equal(t, "Then not.\n", s.stdout.String())
	s.wrote(map[string]string{})
}

var errStopped = errors.New("stopped")

// TestPerson_late takes a line that was typed when nobody was asked, or for something else, for no
// answer.
func TestPerson_late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTerminal(t)
		p := newPerson(&screen{w: x}, nil, x.input, nil)
		first, cancel := context.WithCancelCause(t.Context())
		replied := make(chan error)
		ask := func(ctx context.Context) {
			reply, err := p.reply(ctx, orchestrator.Wait{Kind: orchestrator.WaitApproval, Tool: "t"})
			if err == nil && !reply.Approve {
				err = errors.New("refused")
			}
			replied <- err
		}
		go ask(first)
		go ask(first) // waits for its turn
		synctest.Wait()
		cancel(errStopped)
		require.ErrorIs(t, <-replied, errStopped)
		require.ErrorIs(t, <-replied, errStopped)

		x.types("y\n") // for what is asked no more
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		require.Empty(t, replied)
		x.types("y\n")
		require.NoError(t, <-replied)

		go ask(t.Context())
		synctest.Wait()
		go x.types("y\ny\n") // for two
		require.NoError(t, <-replied)
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		require.Empty(t, replied)
		x.types("y\n")
		require.NoError(t, <-replied)
	})
}

// TestPerson_inOrder asks in the order in which the run tells its waits, whoever asks first, and
// waits for nobody whose wait is over.
func TestPerson_inOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTerminal(t)
		p := newPerson(&screen{w: x}, nil, x.input, nil)
		wait := func(id string) orchestrator.Wait {
			return orchestrator.Wait{ID: id, Kind: orchestrator.WaitQuestion, Text: id}
		}
		for _, id := range []string{"gone", "a", "b", "c"} {
			p.hear(at("0", 2, "", orchestrator.WaitStarted{Wait: wait(id)}))
		}
		p.hear(at("0", 2, "", orchestrator.WaitEnded{WaitID: "gone"}))
		var said [3]string
		var asking sync.WaitGroup
		for i, id := range []string{"c", "b", "a"} {
			asking.Go(func() {
				reply, err := p.reply(t.Context(), wait(id))
				said[i] = fmt.Sprint(reply.Text, err)
			})
			synctest.Wait()
		}
		for _, id := range []string{"a", "b", "c"} {
			require.Contains(t, x.await(yourTurn), "| "+id+"\n")
			x.types("it is " + id + "\n")
			synctest.Wait()
		}
		asking.Wait()
		require.Equal(t, [3]string{"it is c<nil>", "it is b<nil>", "it is a<nil>"}, said)
		require.Empty(t, p.queue)
	})
}

// TestPerson_unknown asks about a call that may have had its effect.
func TestPerson_unknown(t *testing.T) {
	w := orchestrator.Wait{Kind: orchestrator.WaitUnknown, Frame: "0", Seq: 2, Tool: "deploy", Arguments: `{"to":"prod"}`, Text: "Shall it be made again?"}
	for typed, want := range map[string]orchestrator.Reply{
		"\nmaybe\nY\n":         {Approve: true},
		"no\nI see it there\n": {Reason: "I see it there"},
		"n\n\n":                {},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newTerminal(t)
			p := newPerson(&screen{w: x}, nil, x.input, nil)
			var got orchestrator.Reply
			var err error
			var asking sync.WaitGroup
			asking.Go(func() { got, err = p.reply(t.Context(), w) })
			synctest.Wait()
			for line := range strings.Lines(typed) {
				x.types(line)
				synctest.Wait()
			}
			asking.Wait()
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Contains(t, x.shown, `[0 #2] deploy was cut off, and may have had its effect
  | Shall it be made again?
  to: "prod"
make it again: y yes, n no > `)
		})
	}
}

// TestPerson_stopped is asked nothing once the run is about to end.
func TestPerson_stopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTerminal(t)
		stop := make(chan struct{})
		close(stop)
		p := newPerson(&screen{w: x}, nil, x.input, stop)
		ctx, cancel := context.WithCancelCause(t.Context())
		replied := make(chan error)
		go func() {
			_, err := p.reply(ctx, orchestrator.Wait{Kind: orchestrator.WaitQuestion})
			replied <- err
		}()
		synctest.Wait()
		cancel(errStopped)
		require.ErrorIs(t, <-replied, errStopped)
		require.Empty(t, x.rest())
	})
}

// TestForgetTyped forgets nothing of a file.
func TestForgetTyped(t *testing.T) {
	path := t.TempDir() + "/f"
	require.NoError(t, os.WriteFile(path, []byte("line\n"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	k := newKeyboard(f)
	k.ready()
	line, err := k.line(t.Context())
	require.NoError(t, err)
	require.Equal(t, "line\n", line)
	_, err = k.line(t.Context())
	require.ErrorIs(t, err, io.EOF)
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		line    string
		options []string
		want    string
		problem string
	}{
		{"x", nil, "x", ""},
		{"1", nil, "1", ""},
		{"", nil, "", "An answer is needed."},
		{"", []string{"a"}, "", "An answer is needed."},
		{"2", []string{"a", "b"}, "b", ""},
		{"3", []string{"a", "b"}, "", "There is no option 3."},
		{"0", []string{"a", "b"}, "", "There is no option 0."},
		{"-1", []string{"a", "b"}, "", "There is no option -1."},
		{"a", []string{"a", "b"}, "a", ""},
		{"c", []string{"a", "b"}, "c", ""},
		{"1", []string{"2", "1"}, "1", ""},
		{"16", []string{"8", " 16 "}, "16", ""},
	} {
		answer, problem := choose(tt.line, tt.options)
		require.Equal(t, tt.want, answer, "%+v", tt)
		require.Equal(t, tt.problem, problem, "%+v", tt)
	}
}
