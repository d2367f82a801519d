package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/waittest"
)

// wide makes the terminal so many columns wide.
func (p *process) wide(columns int) {
	p.T.Helper()
	fd := int(p.Keys.(*os.File).Fd())
	require.NoError(p.T, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
}

// TestTerminal_edits changes calls at a real terminal, narrow and usual: one in the user's editor,
// which has the terminal, and one in a line of it. The model is shown the calls as they were made.
func TestTerminal_edits(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			editor := filepath.Join(t.TempDir(), "editor")
			script := "#!/bin/sh\ntest -t 0 && test -t 1 || exit 1\nstty size\nsed -i 's/^  two$/  zwei/; s/^path: a$/path: notes\\/a/' \"$1\"\n"
			require.NoError(t, os.WriteFile(editor, []byte(script), 0o700))
			p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), env: []string{"TERM=xterm", "VISUAL=", "EDITOR=" + editor}}
			p.start("run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
			p.wide(columns)
			waittest.Receive(t, p.model.asked)
			p.model.replies <- wants(t, workfolder.WriteFile, map[string]string{"path": "a", "content": "one\ntwo\n"})
			p.Await("a always below ./ > ")
			p.Types("e\n")
			p.Await("24 " + strconv.Itoa(columns))
			page := p.Await("a always below notes/ > ")
			require.Contains(t, page, "\r\n  as you changed it\r\n  a new file of 9 bytes (2 lines)\r\n  | one\r\n  | zwei\r\n")
			for line := range strings.SplitSeq(terminaltest.Played(page, 1000), "\n") {
				require.LessOrEqual(t, plaintext.CellsOf(line), columns, line)
			}
			p.Types("y\n")
			waittest.Receive(t, p.model.asked)
			p.model.replies <- isDone
			p.end(cli.ExitDone, "done")
			content, err := os.ReadFile(filepath.Join(p.dir, "notes/a"))
			require.NoError(t, err)
			require.Equal(t, "one\nzwei\n", string(content))
			require.Contains(t, p.stdout.String(), "zwei")
			require.NotContains(t, p.stdout.String(), "two", "the model is shown the call as it was made")
		})
	}
}

// TestTerminal_editsALine changes a short call where no editor is named.
func TestTerminal_editsALine(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), env: []string{"TERM=xterm", "VISUAL=", "EDITOR="}}
			p.start("run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
			p.wide(columns)
			waittest.Receive(t, p.model.asked)
			p.model.replies <- wantsToWrite
			p.Await("a always below ./ > ")
			p.Types("e\n")
			p.Await(`"1"}`)
			p.wide(30)
			p.Await("edit > ") // it is written anew
			p.Types("\x7f\x7f\x7f2\"}\r")
			require.Contains(t, p.Await("a always below ./ > "), "as you changed it")
			p.Types("e\n")
			p.Await(`"2"}`)
			p.Types("\x03")
			p.Await("Nothing was changed.")
			p.Await("write_file a:")
			p.Await("a always below ./ > ")
			p.Types("y\n")
			p.Await("write_file b:")
			p.Await("a always below ./ > ")
			p.Types("n\n")
			p.Await("Enter) > ")
			p.Types("\n")
			waittest.Receive(t, p.model.asked)
			p.model.replies <- isDone
			p.end(cli.ExitDone, "done")
			content, err := os.ReadFile(filepath.Join(p.dir, "a"))
			require.NoError(t, err)
			require.Equal(t, "2", string(content))
			require.False(t, p.has("b"))
		})
	}
}

// TestTerminal_answersEdited changes a call of a run that waits, in the editor, at another terminal
// than that of the run.
func TestTerminal_answersEdited(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			k := newKeptRun(t)
			editor := filepath.Join(t.TempDir(), "editor")
			require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/^content: \"1\"$/content: 7/; s/^content: 8$/content: \"2\"/; s/7$/8/' \"$1\"\n"), 0o700))
			p := &process{Terminal: terminaltest.New(t), model: k.model, dir: k.dir, read: make(chan struct{}), env: []string{"XDG_STATE_HOME=" + k.home, "TERM=xterm", "VISUAL=" + editor}}
			p.start("run", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
			waittest.Receive(t, p.model.asked)
			p.model.replies <- wants(t, workfolder.WriteFile, map[string]string{"path": "a", "content": "1"})
			p.Await("write_file a" + mayWrite)
			p.Types("\x04")
			p.end(cli.ExitWaiting, "waiting")

			answer := &process{Terminal: terminaltest.New(t), read: make(chan struct{}), env: p.env}
			answer.start("answer", "--edit", k.listed().Run)
			answer.wide(columns)
			answer.Await("Not changed: write_file cannot take") // 8 is no text
			answer.Await("edit it again: y yes, n no > ")
			answer.Types("y\n")
			require.Contains(t, answer.Await("make the changed call: y yes, n no > "), "content: \"2\"")
			answer.Types("y\n")
			require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, answer.cmd)))

			cmd, _, stderr := k.command("resume")
			waittest.Receive(t, k.model.asked)
			k.model.replies <- isDone
			k.ends(cmd, stderr, cli.ExitDone)
			content, err := os.ReadFile(filepath.Join(k.dir, "a"))
			require.NoError(t, err)
			require.Equal(t, "2", string(content))
		})
	}
}

// TestChat_editsCalls changes calls in a turn of a chat, one in the user's editor, which has the
// terminal, and one in a line of it.
func TestChat_editsCalls(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "editor")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\ntest -t 0 && test -t 1 || exit 1\necho ready\nread line\nsed -i \"s/^content: .*/content: $line/\" \"$1\"\n"), 0o700))
	for name, tt := range map[string]struct{ editor, prompt, keys string }{
		"editor": {editor, "ready\r\n", "changed\n"},
		"line":   {"", `"a"}`, "\x01" + strings.Repeat("\x1b[C", len(`{"content":"1`)) + "\x7fchanged\r"},
	} {
		for _, columns := range []int{40, 80} {
			t.Run(fmt.Sprint(name, columns), func(t *testing.T) {
				t.Parallel()
				p := &process{
					Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), width: columns,
					env: []string{"TERM=xterm", "VISUAL=", "EDITOR=" + tt.editor, "XDG_STATE_HOME=" + t.TempDir()},
				}
				p.start("chat", "--base-url", p.model.URL, "--dir", p.dir)
				p.Await("> ")
				p.Types("Write it.\r")
				waittest.Receive(t, p.model.asked)
				p.model.replies <- wants(t, workfolder.WriteFile, map[string]string{"path": "a", "content": "1"})
				p.Await("a always below ./ > ")
				p.Types("e\n")
				p.Await(tt.prompt)
				p.Types(tt.keys)
				require.Contains(t, p.Await("a always below ./ > "), "as you changed it")
				p.Types("y\n")
				waittest.Receive(t, p.model.asked)
				p.model.replies <- isDone
				p.Await("done\r\n")
				p.Await("> ")
				p.Types("\x04")
				require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
				waittest.Receive(t, p.read)
				content, err := os.ReadFile(filepath.Join(p.dir, "a"))
				require.NoError(t, err)
				require.Equal(t, "changed", string(content))
				p.untouched()
			})
		}
	}
}
