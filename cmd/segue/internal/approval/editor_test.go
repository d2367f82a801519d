package approval

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// scriptedEditor returns an editor that is a shell script; $1 is the file.
func scriptedEditor(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh here")
	}
	path := filepath.Join(t.TempDir(), "my editor")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return "'" + path + "' --wait"
}

// deploy is a tool that takes a place, and how many.
func deploy() tools.Tool {
	return tools.New(tools.Definition{Name: "deploy"}, func(context.Context, struct {
		To string `json:"to"`
		N  int    `json:"n"`
	},
	) (string, error) {
		return "", nil
	})
}

// asked asks about a call, and types lines; each is typed once its prompt is shown.
func asked(t *testing.T, getenv func(string) string, w machine.Wait, typed ...string) (machine.Reply, *terminaltest.Terminal) {
	t.Helper()
	x := terminaltest.New(t)
	files := opened(t, workfoldertest.New(t, map[string]string{"a": "one\ntwo\n", ".env": "x"}, nil))
	a := NewAsker(terminal.NewScreen(x, terminal.Config{}, getenv), files, x.Input)
	a.EditWith(getenv, x, append(files.Tools(), deploy()))
	a.screen.ShowEvent(terminaltest.Event("0.1", 0, "", machine.FrameEntered{Strategy: "writer"}))
	var reply machine.Reply
	var err error
	var asking sync.WaitGroup
	asking.Go(func() { reply, err = a.Reply(t.Context(), w) })
	for _, line := range typed {
		prompt, keys, _ := strings.Cut(line, "<")
		x.Await(prompt)
		x.Types(keys)
	}
	asking.Wait()
	require.NoError(t, err)
	return reply, x
}

// environment is one with such variables.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func deploying() machine.Wait {
	return machine.Wait{ID: "w", Kind: machine.WaitApproval, Frame: "0.1", Seq: 2, Tool: "deploy", Arguments: `{"to":"prod","n":3}`}
}

// The user changes a call in the editor, sees it as it is then, and approves that.
func TestEdit_inEditor(t *testing.T) {
	// $1 is the option of the editor, $2 the file
	env := environment("VISUAL", scriptedEditor(t, `test "$1" = --wait && sed -i.old 's/prod/test/' "$2"`), "EDITOR", "false")
	reply, x := asked(t, env, deploying(), "e edit, a always in this run > <e\n", "as you changed it\n<", "> <y\n")
	require.Equal(t, machine.Reply{Approve: true, Arguments: `{"to":"test","n":3}`}, reply)
	require.Contains(t, x.Shown, "[writer 0.1 #2] deploy needs your approval\n  as you changed it\n  to: \"test\"\n  n: 3\n")
	require.Contains(t, x.Shown, "editing with ")
}

// A change of a file is shown as the difference that it makes now, and a protected file is told.
func TestEdit_ofAFile(t *testing.T) {
	w := machine.Wait{ID: "w", Kind: machine.WaitApproval, Frame: "0", Seq: 2, Tool: "edit_file", Arguments: `{"path":"a","old":"two\n","new":"2\n"}`}
	reply, x := asked(t, environment("EDITOR", scriptedEditor(t, `sed -i.old 's/^  2$/  zwei/' "$2"`)), w, "> <e\n", "as you changed it<", "> <y\n")
	require.JSONEq(t, `{"path":"a","old":"two\n","new":"zwei\n"}`, reply.Arguments)
	require.Contains(t, x.Shown, "  -two\n  +zwei\n")
	require.Contains(t, x.Shown, "[0 #2] edit_file a needs your approval\n", "the run itself is no agent")

	w.Tool, w.Arguments = "write_file", `{"path":"b","content":"y"}`
	_, x = asked(t, environment("EDITOR", scriptedEditor(t, `sed -i.old 's/^path: b/path: .env/' "$2"`)), w, "a always below ./ > <e\n", "write_file .env: y yes, n no, e edit > <y\n")
	require.Contains(t, x.Shown, "Protected: it can hold secrets")
}

// What cannot be used is told, and is there again when the user goes on. What was not changed is
// told too, and a "no" after all refuses the call.
func TestEdit_mistakes(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	script := `echo x >>` + count + `
case $(wc -l <` + count + ` | tr -d ' ') in
1) sed -i.old 's/3/"three"/' "$2" ;;
2) grep -q three "$2" || exit 1; sed -i.old 's/prod/"/' "$2" ;;
3) echo '{"to":"prod","n":3}' >"$2" ;;
4) exit 7 ;;
esac`
	reply, x := asked(t, environment("EDITOR", scriptedEditor(t, script)), deploying(),
		"> <e\n", "Not changed: deploy cannot take it: <", "> <e\n", "Not changed: it is not JSON: <", "> <e\n", "Nothing was changed.<", "> <e\n", "Not changed: the editor <", "> <n\n", "Enter) > <no\n")
	require.Equal(t, machine.Reply{Reason: "no"}, reply)
	require.Contains(t, x.Shown, "/n: ")
	_, x = asked(t, environment("EDITOR", "/no/such/editor"), deploying(), "> <e\n", "Not changed: the editor /no/such/editor failed: <", "> <y\n")
	require.NotContains(t, x.Shown, "as you changed it")
}

// Without an editor a short call is changed in a line of the terminal.
func TestEdit_inLine(t *testing.T) {
	reply, _ := asked(t, environment(), deploying(), "> <e\n", `"n":3}<`, "<\x7f\x7f4}\r", "as you changed it<", "> <y\n")
	require.Equal(t, machine.Reply{Approve: true, Arguments: `{"to":"prod","n":4}`}, reply)
	reply, _ = asked(t, environment(), deploying(), "> <e\n", `"n":3}<`, "<\x7f\r", "Not changed: it is not JSON: <", "> <e\n", `"n":3<`, "<}\r", "Nothing was changed.<", "> <y\n")
	require.Equal(t, machine.Reply{Approve: true}, reply)
	reply, _ = asked(t, environment(), deploying(), "> <e\n", `"n":3}<`, "<\x03", "Nothing was changed.<", "> <y\n")
	require.Equal(t, machine.Reply{Approve: true}, reply)

	long := deploying()
	long.Arguments = `{"to":"` + strings.Repeat("x", maxLine) + `"}`
	asked(t, environment(), long, "> <e\n", "Not changed: the call is too long for a line here; name your editor with EDITOR<", "> <y\n")
	asked(t, environment("TERM", "dumb"), deploying(), "> <e\n", "name your editor<", "> <y\n")
}
