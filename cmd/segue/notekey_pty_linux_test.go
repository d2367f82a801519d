package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// noting is a run at a terminal of so many columns whose model was asked.
func noting(t *testing.T, columns int, flags ...string) *process {
	t.Helper()
	p := &process{
		Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}),
		width: columns, env: []string{"TERM=xterm"},
	}
	p.start(append([]string{"run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task"}, flags...)...)
	waittest.Receive(t, p.model.asked)
	p.Await("Tab: note")
	return p
}

// says types a note.
func (p *process) says(keys string) {
	p.T.Helper()
	p.Types("\t")
	p.Await("note > ")
	p.Types(keys)
}

// modesOf returns the modes of a terminal.
func modesOf(t *testing.T, tty any) unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(tty.(*os.File).Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *modes
}

// untouched checks that a terminal is as it was before the process.
func (p *process) untouched() {
	p.T.Helper()
	fresh, tty := pseudoTerminal(p.T)
	require.NoError(p.T, tty.Close())
	require.Equal(p.T, modesOf(p.T, fresh), modesOf(p.T, p.Keys))
	marks := strings.LastIndex(p.Shown, "\x1b[?2004")
	require.True(p.T, marks < 0 || strings.HasPrefix(p.Shown[marks:], "\x1b[?2004l"), "what is pasted is not marked any more")
}

// TestPrompt_panics has an editor panic at a prompt: the terminal is restored.
func TestPrompt_panics(t *testing.T) {
	t.Parallel()
	p := &process{Terminal: terminaltest.New(t), read: make(chan struct{}), shell: "panics-at-tab"}
	p.start()
	p.Await("> ")
	require.Zero(t, modesOf(t, p.Keys).Lflag&unix.ECHO)
	p.Types("x\t")
	require.Equal(t, 2, codeOf(t, waittest.Exit(t, p.cmd)))
	waittest.Receive(t, p.read)
	require.Contains(t, p.Rest(), "panic: at a prompt")
	p.untouched()
}

// TestNoteKey_heard types notes while a run is at work: the next request contains them.
func TestNoteKey_heard(t *testing.T) {
	for _, columns := range []int{40, 80} {
		for name, tt := range map[string]struct{ keys, note string }{
			"words":              {"Leave the tests alone\r", "Leave the tests alone"},
			"a rubout":           {"日本語\x7f é\u0301\n", "日本 é\u0301"},
			"an arrow":           {"ac\x1b[Db\x1bOC!\r", "abc!"},
			"keys of no meaning": {"\x1b[15~a\x1bx\x1b\r\x1b[1;5Cb\t\r", "ab"},
			"pasted":             {"\x1b[200~one\rtwo\n\tthree\x1b[201~!\r", "one two  three!"},
			"longer than a row":  {strings.Repeat("word ", 30) + "end\r", strings.Repeat("word ", 30) + "end"},
		} {
			t.Run(strconv.Itoa(columns)+" "+name, func(t *testing.T) {
				t.Parallel()
				p := noting(t, columns)
				p.says(tt.keys)
				p.Await("note: ")
				p.model.replies <- isDone
				require.Contains(t, waittest.Receive(t, p.model.asked), `"content":`+mustJSON(t, tt.note))
				p.Await("hears note 1")
				p.model.replies <- isDone
				p.end(cli.ExitDone, "done")
				p.untouched()
			})
		}
	}
}

// TestNoteKey_left leaves notes that were begun, in several ways: the model hears nothing.
func TestNoteKey_left(t *testing.T) {
	t.Parallel()
	p := noting(t, 40)
	for _, keys := range []string{"a word \x1b", strings.Repeat("word ", 30) + "\x1b", "\x04", "\r", "  \r", "a\x1b\x1b"} {
		p.says(keys)
		p.Await("awaiting model...  Tab: note")
	}
	p.model.replies <- isDone
	require.NotContains(t, p.end(cli.ExitDone, "done"), "note: ")
	require.Empty(t, p.model.asked)
	p.untouched()
	screen := terminaltest.NewEmulator(40, 24)
	_, err := screen.Write([]byte(p.Shown))
	require.NoError(t, err)
	require.NotContains(t, screen.Text(), "word")
}

// TestNoteKey_streaming types a note while the answer comes: what comes of the answer is shown when
// the note is typed.
func TestNoteKey_streaming(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			m := newSpeaker(t)
			p := &process{Terminal: terminaltest.New(t), read: make(chan struct{}), width: columns, env: []string{"TERM=xterm"}}
			p.start("run", "--store", "none", "--no-ask", "--base-url", m.URL, "--model", "gpt-5-mini", "task")
			m.pieces <- "# Title\n\n"
			p.Await("# Title")
			p.Await("Tab: note")
			p.says("Brie")
			for range 20 {
				m.pieces <- "- one\n"
			}
			m.pieces <- "\n# End\n\n"
			p.Types("fly.\r")
			require.NotContains(t, p.Await("fly.\r\r\n"), "one", "nothing is written into the line")
			p.AwaitAll("note: Briefly.", "- one\r\n", "# End\r\n")
			m.pieces <- ""
			p.Await("hears note 1")
			m.pieces <- "Short."
			m.pieces <- ""
			require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
			waittest.Receive(t, p.read)
			require.Contains(t, p.Shown, "Short.")
			p.untouched()
		})
	}
}

// TestNoteKey_approval types a note while a call waits for approval: the question comes when the
// note is typed, and no key of one goes to the other.
func TestNoteKey_approval(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			p := noting(t, columns)
			p.Types("y\nyn")
			p.says("Why ")
			p.model.replies <- wants(t, "write_file", map[string]string{"path": "a", "content": "1"})
			p.Types("y\r")
			p.Await("Why y")
			p.Await("a always below ./ > ")
			p.Types("\n")
			p.Await("Answer y, n, e or a.")
			p.Await("a always below ./ > ")
			require.NotContains(t, p.Rest(), "note >")
			p.Types("\ty\n")
			require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"Why y"`)
			p.Await("Tab: note")
			p.says("Because\r")
			p.Await("note: Because")
			p.model.replies <- isDone
			require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"Because"`)
			p.model.replies <- isDone
			p.end(cli.ExitDone, "done")
			require.True(t, p.has("a"))
			p.untouched()
		})
	}
}

// TestNoteKey_interrupted presses Ctrl-C while a note is typed, and while none is.
func TestNoteKey_interrupted(t *testing.T) {
	for _, typed := range []string{"half a no", ""} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			p := noting(t, 80)
			if typed != "" {
				p.says(typed)
				p.Await(typed)
			}
			p.Types("\x03")
			p.Await("segue: stopping; press Ctrl-C again to end at once")
			p.end(cli.ExitInterrupted, "stopped")
			p.untouched()
		})
	}
}

// TestNoteKey_interruptedTwice presses Ctrl-C twice while nobody reads the output: the terminal is
// as it was although the process ends at once.
func TestNoteKey_interruptedTwice(t *testing.T) {
	t.Parallel()
	unread, out, err := os.Pipe()
	require.NoError(t, err)
	defer unread.Close()
	defer out.Close()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{}), env: []string{"TERM=xterm"}, out: out}
	p.start("run", "--store", "none", "--base-url", p.model.URL, "--json", "task "+strings.Repeat("x", 100_000))
	waittest.Receive(t, p.model.asked)
	p.Await("Tab: note")
	p.says("half")
	p.Types("\x03")
	p.Await("press Ctrl-C again to end at once")
	p.Types("\x03")
	require.Error(t, waittest.Exit(t, p.cmd))
	waittest.Receive(t, p.read)
	p.untouched()
}

// TestNoteKey_stopped presses Ctrl-Z, and goes on: meanwhile the terminal is as it was, and then
// what was typed is still there.
func TestNoteKey_stopped(t *testing.T) {
	for _, typed := range []string{"", "ab"} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			p := &process{
				Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{}), env: []string{"TERM=xterm"},
				shell: `set -m; segue "$@"; stty -a; echo "it has stopped"; fg`,
			}
			p.start("run", "--store", "none", "--base-url", p.model.URL, "task")
			waittest.Receive(t, p.model.asked)
			p.Await("Tab: note")
			if typed != "" {
				p.says(typed)
				p.Await(typed)
			}
			p.Types("\x1a")
			modes := p.Await("it has stopped")
			require.Contains(t, modes, " icanon")
			require.Contains(t, modes, " echo ")
			if typed == "" {
				p.Await("Tab: note")
				p.says("ab")
			} else {
				p.Await("note > ab")
			}
			p.Types("c\r")
			p.Await("note: abc")
			p.model.replies <- isDone
			require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"abc"`)
			p.model.replies <- isDone
			require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
			waittest.Receive(t, p.read)
			p.untouched()
		})
	}
}

// TestNoteKey_runEnds ends the run while a note is typed.
func TestNoteKey_runEnds(t *testing.T) {
	t.Parallel()
	p := noting(t, 40)
	p.says("late")
	p.Await("late")
	p.model.replies <- isDone
	p.Await("segue: the run ended before the note\r\n  was typed")
	p.end(cli.ExitDone, "done")
	p.untouched()
}

// TestNoteKey_piped types a note while standard input is a file: that is joined to the task as it
// is.
func TestNoteKey_piped(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(file, []byte("a\ttab\n"), 0o600))
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{}), env: []string{"TERM=xterm"}, stdin: in}
	p.start("run", "--store", "none", "--base-url", p.model.URL, "--json", "task")
	require.Contains(t, waittest.Receive(t, p.model.asked), `a\ttab`)
	p.Await("Tab: note")
	p.says("hello\r")
	p.Await("note: hello")
	p.model.replies <- isDone
	require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"hello"`)
	p.model.replies <- isDone
	p.end(cli.ExitDone, "done")
	p.untouched()
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Empty(t, rest)
}

// TestNoteKey_resumed types a note for a run that goes on.
func TestNoteKey_resumed(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	p := &process{Terminal: terminaltest.New(t), model: k.model, dir: k.dir, read: make(chan struct{}), env: []string{"TERM=xterm", "XDG_STATE_HOME=" + k.home}}
	p.start("run", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
	waittest.Receive(t, p.model.asked)
	p.Types("\x03")
	p.end(cli.ExitInterrupted, "interrupted")

	again := &process{Terminal: terminaltest.New(t), model: k.model, read: make(chan struct{}), env: p.env}
	again.start("resume", "--json")
	waittest.Receive(t, k.model.asked)
	again.Await("Tab: note")
	again.says("hello\r")
	again.Await("note: hello")
	k.model.replies <- isDone
	require.Contains(t, waittest.Receive(t, k.model.asked), `"content":"hello"`)
	k.model.replies <- isDone
	again.end(cli.ExitDone, "done")
	again.untouched()
}

// TestNoteKey_none has no key where nothing shows what the run does.
func TestNoteKey_none(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"--plain": {"--plain"}, "--quiet": {"--quiet"}, "dumb": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{}), env: []string{"TERM=xterm"}}
			if name == "dumb" {
				p.env = []string{"TERM=dumb"}
			}
			p.start(append([]string{"run", "--store", "none", "--base-url", p.model.URL, "--json", "task"}, flags...)...)
			waittest.Receive(t, p.model.asked)
			p.Types("\thello\n")
			p.Await("hello\r\n") // the terminal shows it
			p.model.replies <- isDone
			p.end(cli.ExitDone, "done")
			require.Empty(t, p.model.asked)
			p.untouched()
		})
	}
}

// TestNoteKey_chat types a note in a turn of a chat, and the next turn ahead.
func TestNoteKey_chat(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			p := &process{
				Terminal: terminaltest.New(t), model: newSlowModel(t), read: make(chan struct{}), width: columns,
				env: []string{"TERM=xterm", "XDG_STATE_HOME=" + t.TempDir()},
			}
			p.start("chat", "--base-url", p.model.URL)
			p.Await("> ")
			p.Types("Hello\r")
			waittest.Receive(t, p.model.asked)
			p.Await("Tab: note")
			p.Types("Né")
			p.says("hello\r")
			p.Await("note: hello")
			p.Types("xt\r")
			p.says("\x1b") // all before it has been read
			p.Await("Tab: note")
			p.model.replies <- isDone
			require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"hello"`)
			p.model.replies <- isDone
			require.Contains(t, waittest.Receive(t, p.model.asked), `"content":"Néxt"`)
			p.model.replies <- isDone
			p.Await("done\r\n")
			p.Await("> ")
			p.Types("\x04")
			require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
			waittest.Receive(t, p.read)
			p.untouched()
		})
	}
}
