package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// talkingModel is a model that has an answer to each request, and keeps what it was asked.
type talkingModel struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string // "..." at the end: the rest never comes
	asked   []string // the last message of each request
	all     []string // the requests
}

func newTalkingModel(t *testing.T, answers ...string) *talkingModel {
	t.Helper()
	m := &talkingModel{answers: answers}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(m.answer))
	m.Config.SetKeepAlivesEnabled(false)
	m.Start()
	t.Cleanup(m.Close)
	return m
}

func (m *talkingModel) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct{ Messages []struct{ Content any } }
	_ = json.Unmarshal(body, &request)
	m.mu.Lock()
	answer := m.answers[min(len(m.asked), len(m.answers)-1)]
	m.asked = append(m.asked, fmt.Sprint(request.Messages[len(request.Messages)-1].Content))
	m.all = append(m.all, string(body))
	m.mu.Unlock()
	if strings.HasPrefix(answer, "{") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	begun, endless := strings.CutSuffix(answer, "...")
	text, _ := json.Marshal(begun)
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s}}]}\n\n", text)
	w.(http.Flusher).Flush()
	if endless {
		<-r.Context().Done()
		return
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

func (m *talkingModel) heard(n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > len(m.asked) {
		return ""
	}
	return m.asked[n-1]
}

// chatting is a chat at a terminal.
type chatting struct {
	t      *testing.T
	keys   *os.File
	before unix.Termios // the modes of the terminal
	shown  *terminaltest.Emulator
	cmd    *exec.Cmd
	read   chan struct{}
}

// startChat starts segue chat at a terminal of so many columns, in a folder. The last of the
// arguments may be the kind of the terminal, TERM=.
func startChat(t *testing.T, m *talkingModel, columns int, dir, state string, args ...string) *chatting {
	t.Helper()
	user, tty := pseudoTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: uint16(columns)}))
	require.NoError(t, unix.SetNonblock(int(user.Fd()), true))
	c := &chatting{t: t, keys: user, before: modesOf(t, user), read: make(chan struct{})}
	c.shown = terminaltest.NewEmulator(columns, 12)
	kind := "TERM=xterm"
	if last := len(args) - 1; strings.HasPrefix(args[last], "TERM=") {
		kind, args = args[last], args[:last]
	}
	c.cmd = exec.CommandContext(t.Context(), "segue", append([]string{"chat", "--base-url", m.URL}, args...)...)
	c.cmd.Dir = dir
	c.cmd.Env = append(os.Environ(), "GORACE="+noSleep, "NO_COLOR=1", kind, "XDG_STATE_HOME="+state)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, c.cmd.Start())
	require.NoError(t, tty.Close())
	go func() {
		defer close(c.read)
		_, _ = io.Copy(c.shown, user) // it ends with an error: the process is gone
	}()
	return c
}

// flat is a text without blanks and line breaks: a terminal breaks lines anywhere.
func flat(s string) string { return strings.Join(strings.Fields(s), "") }

// until waits until what is shown, without blanks, is as it should be.
func (c *chatting) until(want string, is func(shown, want string) bool) {
	c.t.Helper()
	if !assert.Eventually(c.t, func() bool { return is(flat(c.shown.Text()), flat(want)) }, time.Minute, 5*time.Millisecond) {
		require.FailNow(c.t, "not shown", "%q in:\n%s", want, c.shown.Text())
	}
}

// await waits until what is shown ends with want.
func (c *chatting) await(want string) {
	c.t.Helper()
	c.until(want, strings.HasSuffix)
}

// awaitText waits until each text was shown.
func (c *chatting) awaitText(wants ...string) {
	c.t.Helper()
	for _, want := range wants {
		c.until(want, strings.Contains)
	}
}

func (c *chatting) types(keys string) {
	c.t.Helper()
	_, err := c.keys.WriteString(keys)
	require.NoError(c.t, err)
}

// end waits for the end of the chat, whose terminal is then as it was.
func (c *chatting) end(code int) {
	c.t.Helper()
	require.Equal(c.t, code, codeOf(c.t, waittest.Exit(c.t, c.cmd)), c.shown.Text())
	waittest.Receive(c.t, c.read)
	require.Equal(c.t, c.before, modesOf(c.t, c.keys))
}

// TestChat_edits types what is hard to type: each turn arrives as it was meant.
func TestChat_edits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ keys, want string }{
		"accents":               {"é ü ñ Ж\r", "é ü ñ Ж"},
		"wide":                  {"日本語の文字を四十の列の端末で折り返すまで書く\r", "日本語の文字を四十の列の端末で折り返すまで書く"},
		"combined":              {"e\u0301 हिन्दी 👩‍👩‍👧\r", "e\u0301 हिन्दी 👩‍👩‍👧"},
		"right to left":         {"שלום\r", "שלום"},
		"backspace":             {"hélo\x7f\x7flo\r", "hélo"},
		"moved":                 {"bc\x01a\x05d\r", "abcd"},
		"pasted":                {"\x1b[200~one\rtwo\\\rthree\x1b[201~\r", "one\ntwo\\\nthree"},
		"Alt-Enter":             {"one\x1b\rtwo\r", "one\ntwo"},
		"backslash":             {"one\\\rtwo\r", "one\ntwo"},
		"block":                 {"\"\"\"one\rtwo\\\r\"\"\"\r", "one\ntwo\\"},
		"a path":                {"/etc/hosts is what?\r", "/etc/hosts is what?"},
		"Ctrl-C leaves it":      {"never\x03", ""},
		"longer than the lines": {strings.Repeat("word ", 120) + "end\r", strings.Repeat("word ", 120) + "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTalkingModel(t, "Right.")
			c := startChat(t, m, 40, t.TempDir(), t.TempDir(), "--quiet")
			c.await("\n>")
			c.types(tt.keys)
			if tt.want == "" {
				c.await("segue: Ctrl-C again or Ctrl-D ends the chat\n>")
			} else {
				c.await("Right.\n>")
			}
			c.types("\x04")
			c.end(cli.ExitDone)
			require.Equal(t, tt.want, m.heard(1))
		})
	}
}

const wantsNotes = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[
{"id":"c1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"notes.md\",\"content\":\"Bath at nine\\n\"}"}}]},"finish_reason":"tool_calls"}]}`

// differing is what differs from chat to chat: the names of runs, and where the test keeps them.
var differing = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?s)^runs are\s.*?forget\s+erases\s+one\s*\n`), ""},
	{regexp.MustCompile(` +[0-9.]+(ms|s)\b`), ""},
}

// TestChat_screens talks at terminals of several widths. What they show is in docs/screens.
func TestChat_screens(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 60, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			dir, state := t.TempDir(), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "trains.txt"), []byte("Bath 9:00\n"), 0o600))
			m := newTalkingModel(t, "The 9:00.", wantsNotes, "Noted.", "The quick brown...", "It jumps.")
			c := startChat(t, m, columns, dir, state, "--dir", ".", "--session", "trip", "--quiet")
			c.await("\n>")
			c.types("/ad\ttr\t\r")
			c.await("(text, 10 bytes)\n>")
			c.types("Which train?\r")
			c.await("The 9:00.\n>")
			require.Equal(t, "Which train?\n\n``` trains.txt\nBath 9:00\n```", m.heard(1))
			c.types("Note it.\r")
			c.await("a always below ./ >")
			c.types("y\n")
			c.await("Noted.\n>")
			_, err := os.Stat(filepath.Join(dir, "notes.md"))
			require.NoError(t, err)

			c.types("Tell me a story.\r")
			require.Eventually(t, func() bool { return m.heard(4) != "" }, time.Minute, 5*time.Millisecond)
			time.Sleep(200 * time.Millisecond) // for what there is of the answer to arrive; it is not shown yet
			c.types("\x03")
			c.awaitText("The quick brown\n", "interrupted; go on with:")
			c.await("\n>")
			c.types("Go on.\r")
			c.await("It jumps.\n>")
			require.Contains(t, m.all[4], `{"role":"assistant","content":"The quick brown"},{"role":"user","content":"Go on."}`)

			c.types("/undo\r")
			c.await("keeps that turn\n>")
			c.types("/model\r")
			c.await("gpt-5-mini\n>")
			c.types("\x1b[A\x1b[A\x1b[A") // what was typed before
			c.await("> Go on.")
			c.types("\x03")
			c.await("\n>")
			c.types("\x04")
			c.end(cli.ExitDone)

			got := c.shown.Text()
			for _, r := range differing {
				got = r.form.ReplaceAllString(got, r.to)
			}
			requireScreen(t, fmt.Sprintf("chat-%d.txt", columns), got)

			again := startChat(t, m, columns, dir, state, "--session", "trip+2", "--quiet")
			again.awaitText("it goes on after: Tell me a story.")
			again.await("\n>")
			again.types("\x1b[A")
			again.await("> /model")
			require.NotEqual(t, again.before, modesOf(t, again.keys))
			require.NoError(t, again.cmd.Process.Signal(syscall.SIGTERM))
			again.end(cli.ExitTerminated)
			info, err := os.Stat(filepath.Join(state, "segue", "chat-history"))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		})
	}
}

// TestChat_completesBeyondASCII completes names of files with letters beyond ASCII, at two widths:
// one alone, several that go on differently, some that differ after such a letter, and a folder.
func TestChat_completesBeyondASCII(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 80} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"Überblick.md", "Übersicht.md", "Änderung.md", "naïf-é1", "naïf-é2", "日本/語"} {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600))
			}
			c := startChat(t, newTalkingModel(t, "Right."), columns, dir, t.TempDir(), "--quiet")
			c.await("\n>")
			for _, keys := range []string{"/add Ä\t", "/add Änd\t", "/add Überb\t", "/add Ü\t\t\t"} {
				c.types(keys)
				want := "> /add Änderung.md"
				switch {
				case strings.HasPrefix(keys, "/add Überb"):
					want = "> /add Überblick.md"
				case strings.HasPrefix(keys, "/add Ü"):
					want = "> /add Übersicht.md"
				}
				c.awaitText(want)
				c.types("\r")
				c.await("(text, 2 bytes)\n>")
			}
			c.types("/add naï\t")
			c.await("naïf-é1  naïf-é2")
			c.types("2\r")
			c.await("(text, 2 bytes)\n>")
			c.types("/add 日\t")
			c.await("> /add 日本/")
			c.types("\t")
			c.await("> /add 日本/語")
			c.types("\r")
			c.await("(text, 2 bytes)\n>")
			c.types("\x04")
			c.end(cli.ExitDone)
		})
	}
}

// TestChat_keys presses Ctrl-Z at the prompt and goes on, looks for what was typed before, and
// makes the terminal narrower; and Ctrl-C twice leaves.
func TestChat_keys(t *testing.T) {
	t.Parallel()
	m := newTalkingModel(t, "Right.")
	p := &process{
		Terminal: terminaltest.New(t), read: make(chan struct{}), width: 80, env: []string{"TERM=xterm", "XDG_STATE_HOME=" + t.TempDir()},
		shell: `set -m; segue "$@"; stty -a; echo "it has stopped"; fg`,
	}
	p.start("chat", "--quiet", "--base-url", m.URL)
	p.Await("Ctrl-D ends\r\n")
	p.Await("> ")
	p.Types("first\r")
	p.Await("Right.\r\n")
	p.Await("> ")
	p.Types("half")
	p.Await("> half")
	p.Types("\x1a")
	modes := p.Await("it has stopped")
	require.Contains(t, modes, " icanon")
	require.Contains(t, modes, " echo ")
	p.Await("> half")
	p.Types("\x12ir")
	p.Await("> first\r\r\nsearch: ir")
	p.Types("\x07")
	p.Await("> half")
	setWidth(t, p.Keys.(*os.File), 40)
	p.Await("> half")
	p.Types("\x03")
	p.Await("Ctrl-C again or Ctrl-D ends\r\n  the chat\r\n")
	p.Await("> ")
	p.Types("\x03")
	require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
	waittest.Receive(t, p.read)
	p.untouched()
}

// TestChat_early types while a turn ends, and before: nothing is lost, not even the end of the
// input.
func TestChat_early(t *testing.T) {
	t.Parallel()
	for range 5 {
		m := newTalkingModel(t, "Right.")
		c := startChat(t, m, 40, t.TempDir(), t.TempDir(), "--quiet")
		c.types("one\r")
		c.awaitText("Right.")
		c.types("two\r\x04")
		c.end(cli.ExitDone)
		require.Equal(t, "two", m.heard(2))
	}
}

// TestChat_plain talks at a terminal that cannot be written over.
func TestChat_plain(t *testing.T) {
	t.Parallel()
	m := newTalkingModel(t, "Right.")
	c := startChat(t, m, 40, t.TempDir(), t.TempDir(), "--quiet", "TERM=dumb")
	c.await("\n>")
	c.types("one\\\n")
	c.await("one\\\n.")
	c.types("two\n")
	c.await("Right.\n>")
	c.types("\x03")
	c.end(cli.ExitInterrupted)
	require.Equal(t, "one\ntwo", m.heard(1))
}

// TestChat_plainFlag writes nothing anew at a terminal that could, not even what is typed.
func TestChat_plainFlag(t *testing.T) {
	t.Parallel()
	m := newTalkingModel(t, "**Right.**")
	p := &process{Terminal: terminaltest.New(t), read: make(chan struct{}), env: []string{"TERM=xterm", "NO_COLOR=", "XDG_STATE_HOME=" + t.TempDir()}}
	p.start("chat", "--plain", "--base-url", m.URL)
	p.Await("\n> ")
	p.Types("one\\\n")
	p.Await(". ")
	p.Types("two\n")
	p.Await("**Right.**\r\n> ")
	p.Types("\x04")
	require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)))
	waittest.Receive(t, p.read)
	require.NotContains(t, p.Shown, "\x1b")
	require.NotContains(t, strings.ReplaceAll(p.Shown, "\r\n", ""), "\r")
	require.Equal(t, "one\ntwo", m.heard(1))
}

// TestChat_interruptedApproval presses Ctrl-C at an approval: what is typed then is the next turn.
func TestChat_interruptedApproval(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := newTalkingModel(t, wantsNotes, "Right.")
	c := startChat(t, m, 80, dir, t.TempDir(), "--quiet", "--dir", ".")
	c.await("\n>")
	c.types("Note it.\r")
	c.await("a always below ./ >")
	c.types("\x03")
	c.awaitText("interrupted; go on with:")
	c.await("\n>")
	c.types("Never mind.\r")
	c.await("Right.\n>")
	require.Equal(t, "Never mind.", m.heard(2))
	c.types("\x04")
	c.end(cli.ExitDone)
	require.NoFileExists(t, filepath.Join(dir, "notes.md"))
}
