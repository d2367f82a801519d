package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// pseudoTerminal returns both ends of one: what the user has, and what a process has. Without a
// kernel that makes them the test is skipped.
func pseudoTerminal(t *testing.T) (user, process *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	user = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { _ = user.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	process, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	require.NoError(t, err)
	modes.Lflag |= unix.NOFLSH // else a Ctrl-C takes back what has just been written, as the answer to it
	require.NoError(t, unix.IoctlSetTermios(fd, unix.TCSETS, modes))
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: 70}))
	return user, process
}

// setWidth gives a pseudo terminal so many columns.
func setWidth(t *testing.T, tty *os.File, columns int) {
	t.Helper()
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
}

// process is a segue at a pseudo terminal, with a model that answers when it is told to.
type process struct {
	*terminaltest.Terminal
	model  *slowModel
	cmd    *exec.Cmd
	dir    string
	folder string   // the working folder; "" is that of the tests
	env    []string // besides that of the tests
	width  int      // columns of the terminal; 0: 70
	stdin  *os.File // instead of the terminal
	out    *os.File // instead of the terminal
	shell  string   // a script that is run instead, with the command line as its arguments
	stdout bytes.Buffer
	read   chan struct{} // closed when all that was shown has been read
}

func startAtTerminal(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), env: env}
	p.start("run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
	return p
}

// start begins a command line; --json has its output kept from the terminal.
func (p *process) start(args ...string) {
	t := p.T
	t.Helper()
	user, tty := pseudoTerminal(t)
	if p.width > 0 {
		setWidth(t, tty, p.width)
	}
	p.Keys = user
	p.cmd = exec.CommandContext(t.Context(), "segue", args...)
	if p.shell != "" {
		p.cmd = exec.CommandContext(t.Context(), "sh", append([]string{"-c", p.shell, "segue"}, args...)...)
	}
	p.cmd.Env = append(append(os.Environ(), "GORACE="+noSleep, "NO_COLOR=1"), p.env...)
	p.cmd.Dir = p.folder
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	if slices.Contains(args, "--json") {
		p.cmd.Stdout = &p.stdout
	}
	if p.out != nil {
		p.cmd.Stdout = p.out
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if p.stdin != nil {
		p.cmd.Stdin, p.cmd.SysProcAttr.Ctty = p.stdin, 2
	}
	require.NoError(t, p.cmd.Start())
	require.NoError(t, tty.Close())
	go func() {
		defer close(p.read)
		_, _ = io.Copy(p.Terminal, user) // it ends with an error: the process is gone
	}()
}

// end waits for the end of the process and checks its exit code and the status of its run.
func (p *process) end(code int, status string) (rest string) {
	p.T.Helper()
	require.Equal(p.T, code, codeOf(p.T, waittest.Exit(p.T, p.cmd)), p.Rest())
	waittest.Receive(p.T, p.read)
	var got struct{ Status string }
	require.NoError(p.T, json.Unmarshal(p.stdout.Bytes(), &got))
	require.Equal(p.T, status, got.Status)
	return p.Rest()
}

func (p *process) has(file string) bool {
	_, err := os.Stat(filepath.Join(p.dir, file))
	return err == nil
}

// awaitFile waits until the process has made a file.
func (p *process) awaitFile(name string) {
	p.T.Helper()
	require.Eventually(p.T, func() bool { return p.has(name) }, time.Minute, time.Millisecond)
}

// TestTerminal_answers approves and refuses at a real terminal. What was typed before a question is
// no answer to it.
func TestTerminal_answers(t *testing.T) {
	for _, env := range []string{"TERM=xterm", "TERM=dumb"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			testAnswers(t, startAtTerminal(t, env), env == "TERM=dumb")
		})
	}
}

func testAnswers(t *testing.T, p *process, dumb bool) {
	t.Helper()
	waittest.Receive(t, p.model.asked)
	if p.Types("y\ny"); dumb { // nobody was asked
		p.Await("y\r\ny")
	} else {
		p.says("\x1b") // all before it has been read
		p.Await("awaiting model")
	}
	p.model.replies <- wantsToWrite
	p.Await(mayWrite)
	p.Types("\n")
	p.Await("Answer y, n, e or a.")
	p.Await(mayWrite)
	p.Types("n\n")
	p.Await("Enter) > ")
	p.Types("\n")
	p.Await(mayWrite)
	p.Types("y\n")
	waittest.Receive(t, p.model.asked)
	p.model.replies <- isDone
	p.end(cli.ExitDone, "done")
	require.False(t, p.has("a"))
	require.True(t, p.has("b"))
}

// TestTerminal_partial presses Ctrl-C while an answer comes: what there is of it stays on the
// terminal.
func TestTerminal_partial(t *testing.T) {
	t.Parallel()
	p := &process{Terminal: terminaltest.New(t), read: make(chan struct{})}
	p.start("run", "--store", "none", "--base-url", halfAnswer(t).URL, "task")
	p.Await("[0 #1] The quick brown")
	p.Types("\x03")
	shown := p.Await("segue: stopping; press Ctrl-C again to end at once")
	require.Equal(t, cli.ExitInterrupted, codeOf(t, waittest.Exit(t, p.cmd)))
	waittest.Receive(t, p.read)
	shown += "segue: stopping; press Ctrl-C again to end at once" + p.Rest()
	require.Contains(t, terminaltest.Played(shown, 70), "\nThe quick brown\n", shown)
}

// TestTerminal_interrupts presses Ctrl-C and Ctrl-D while something is asked. The process ends
// although it reads from the terminal.
func TestTerminal_interrupts(t *testing.T) {
	const (
		now     = "segue: stopping; press Ctrl-C again to end at once"
		stopped = "segue: the run was stopped: "
	)
	for name, tt := range map[string]struct {
		wants   string
		prompt  string
		keys    string
		signal  os.Signal // instead of keys
		told    string
		code    int
		status  string
		why     string
		written bool // what was approved before
	}{
		"Ctrl-C at an approval": {
			wants: wantsToWrite, prompt: mayWrite, keys: "y\x03", told: now,
			code: cli.ExitInterrupted, status: "stopped", why: stopped + "interrupted", written: true,
		},
		"Ctrl-C at a question": {
			wants: wantsToKnow, prompt: yourTurn, keys: "because\x03", told: now,
			code: cli.ExitInterrupted, status: "stopped", why: stopped + "interrupted",
		},
		"terminated": {
			wants: wantsToKnow, prompt: yourTurn, signal: syscall.SIGTERM, told: now,
			code: cli.ExitTerminated, status: "stopped", why: stopped + "terminated",
		},
		"Ctrl-D at an approval": {
			wants: wantsToWrite, prompt: mayWrite, keys: "\x04", told: "segue: [0 #2] waits for approval: write_file",
			code: cli.ExitWaiting, status: "waiting", why: "segue: the run waits for 1 approval, and was given none; run it again, or with --approve", written: true,
		},
		"Ctrl-D at a question": {
			wants: wantsToKnow, prompt: yourTurn, keys: "\x04", told: "segue: [0 #2] waits for an answer: Sure?",
			code: cli.ExitWaiting, status: "waiting", why: "segue: the run waits for 2 answers, and was given none; run it again, or with the answer in the task",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startAtTerminal(t)
			waittest.Receive(t, p.model.asked)
			p.model.replies <- tt.wants
			p.Await(tt.prompt)
			if tt.written { // the first of two, which is made while the second one is asked about
				p.Types("y\n")
				p.Await(tt.prompt)
				p.awaitFile("a")
			}
			if tt.signal != nil {
				require.NoError(t, p.cmd.Process.Signal(tt.signal))
			} else {
				p.Types(tt.keys)
			}
			p.Await(tt.told)
			rest := p.end(tt.code, tt.status)
			require.Contains(t, rest, tt.why)
			require.NotContains(t, rest, tt.prompt, "nothing more was asked")
			require.Equal(t, tt.written, p.has("a"))
			require.False(t, p.has("b"))
		})
	}
}

// TestTerminal_closed closes the terminal of a run: the run is interrupted, and goes on at once.
func TestTerminal_closed(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	p := &process{Terminal: terminaltest.New(t), model: k.model, dir: k.dir, read: make(chan struct{}), env: []string{"XDG_STATE_HOME=" + k.home}}
	p.start("run", "--base-url", p.model.URL, "--dir", p.dir, "task")
	waittest.Receive(t, p.model.asked)
	p.model.replies <- listsFiles
	waittest.Receive(t, p.model.asked)
	require.NoError(t, p.Keys.(*os.File).Close())
	require.Equal(t, cli.ExitHungUp, codeOf(t, waittest.Exit(t, p.cmd)))
	require.Equal(t, "interrupted", k.listed().Status)

	cmd, stdout, stderr := k.command("resume")
	waittest.Receive(t, k.model.asked)
	k.model.replies <- answersAll
	require.NotContains(t, k.ends(cmd, stderr, cli.ExitDone), "waiting until")
	require.Equal(t, "All done.\n", stdout.String())
}

// TestTerminal_resumes interrupts a run at an approval, goes on with it at another terminal, and is
// asked there what was open: what was approved before is not asked again.
func TestTerminal_resumes(t *testing.T) {
	t.Parallel()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), env: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	p.start("run", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
	waittest.Receive(t, p.model.asked)
	p.model.replies <- wantsToWrite
	p.Await(mayWrite)
	p.Types("y\n")
	p.Await("write_file b")
	p.Await(mayWrite)
	p.Types("\x03")
	rest := p.end(cli.ExitInterrupted, "interrupted")
	require.Contains(t, rest, "segue: interrupted; go on with: segue resume ")

	again := &process{Terminal: terminaltest.New(t), model: p.model, dir: p.dir, read: make(chan struct{}), env: p.env}
	again.start("resume", "--json")
	require.NotContains(t, again.Await("write_file b"), "write_file a needs your approval")
	again.Await(mayWrite)
	again.Types("n\n")
	again.Await("Enter) > ")
	again.Types("not b\n")
	waittest.Receive(t, again.model.asked)
	again.model.replies <- isDone
	again.end(cli.ExitDone, "done")
	require.True(t, again.has("a"), "it was made before, or is now")
	require.False(t, again.has("b"))
}
