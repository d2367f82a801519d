package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
)

// speaker is a server whose model says what it is told to, piece by piece.
type speaker struct {
	*httptest.Server
	pieces chan string // "" ends the answer
}

func newSpeaker(t *testing.T) *speaker {
	t.Helper()
	m := &speaker{pieces: make(chan string)}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			var piece string
			select {
			case piece = <-m.pieces:
			case <-r.Context().Done():
				return
			}
			if piece == "" {
				break
			}
			fmt.Fprintf(w, "data: {\"model\":\"gpt-5-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", mustJSON(t, piece))
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, `data: {"model":"gpt-5-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")
		fmt.Fprint(w, `data: {"model":"gpt-5-mini","choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}}`+"\n\ndata: [DONE]\n\n")
	}))
	m.Config.SetKeepAlivesEnabled(false)
	m.Start()
	t.Cleanup(m.Close)
	return m
}

// speaks runs a task at a terminal whose model says the pieces, each after what is shown then.
func speaks(t *testing.T, p *process, pieces [][2]string, flags ...string) string {
	t.Helper()
	m := newSpeaker(t)
	p.Terminal, p.read = terminaltest.New(t), make(chan struct{})
	p.start(append([]string{"run", "--store", "none", "--no-ask", "--base-url", m.URL, "--model", "gpt-5-mini", "task"}, flags...)...)
	for _, piece := range pieces {
		m.pieces <- piece[0]
		p.Await(piece[1])
	}
	m.pieces <- ""
	require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)), p.Rest())
	waittest.Receive(t, p.read)
	return p.Shown
}

// TestTerminal_markdown shows an answer while it comes, block by block, at two widths.
func TestTerminal_markdown(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		80: `
# Notes

I read **three** notes, and the last one is the longest of all of them by far;
see the guide (https://example.com/guide).

- one
- 日本語

name | what
-----+-----
a    | b

`,
		40: `
# Notes

I read **three** notes, and the last one
is the longest of all of them by far;
see the guide
(https://example.com/guide).

- one
- 日本語

name | what
-----+-----
a    | b

`,
	} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			all := speaks(t, &process{width: columns}, [][2]string{
				{"# No", "[0 #1] # No"},
				{"tes\nI read **three** notes, and", "\n# Notes\r\n"},
				{" the last one is the longest of all of them by far; see [the guide](https://example.com/guide).\n\n", "(https://example.com/guide).\r\n"},
				{"- one\n- 日本語\n\n|name|what|\n", "- one\r\n"},
				{"|-|-|\n|a|b|", "[0 #1] |a|b|"},
			})
			screen := terminaltest.Played(all, columns)
			_, screen, _ = strings.Cut(screen, "complete-task: task\n")
			screen, progress, _ := strings.Cut(screen, "[0 #1] model")
			require.Equal(t, want, screen)
			require.Contains(t, plaintext.OneLine(progress), "gpt-5-mini: an answer, 1000 tokens in, 500 out, $0.00125")
		})
	}
}

// TestTerminal_attack shows no sequence of a model's to the terminal.
func TestTerminal_attack(t *testing.T) {
	t.Parallel()
	all := speaks(t, &process{env: []string{"NO_COLOR="}}, [][2]string{
		{"# Title\n", "\x1b[1;4mTitle\x1b[0m\r\n"},
		{"a\x1b[2J &#27;]0;x&#7; \u009b31m\n\n", "a[2J ]0;x 31m\r\n"},
	})
	require.NotContains(t, all, "\x1b[2J")
	require.NotContains(t, all, "\x1b]")
	require.NotContains(t, all, "\a")
}

// TestTerminal_plain writes nothing anew and colors nothing, with --plain or at a dumb terminal,
// and writes the answer as it stands.
func TestTerminal_plain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ flags, env []string }{
		"--plain": {[]string{"--plain"}, []string{"NO_COLOR="}},
		"dumb":    {nil, []string{"TERM=dumb"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := speaks(t, &process{env: tt.env, width: 40}, [][2]string{{"**a** [b](c)\n- d", ""}}, tt.flags...)
			require.NotContains(t, all, "\x1b")
			require.NotContains(t, strings.ReplaceAll(all, "\r\n", ""), "\r")
			require.Contains(t, all, "\r\n**a** [b](c)\r\n- d\r\n")
			require.Contains(t, all, "[0 #1] model gpt-5-mini: an answer, 1000 tokens in, 500 out, $0.00125")
		})
	}
}

// TestTerminal_quiet shows only the answer.
func TestTerminal_quiet(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b (c)\r\n\r\n- d\r\n", speaks(t, &process{}, [][2]string{{"a [b](c)\n- d", ""}}, "--quiet"))
}

// TestTerminal_spinner shows that a run is alive while its model is silent.
func TestTerminal_spinner(t *testing.T) {
	t.Parallel()
	p := startAtTerminal(t)
	p.Await("| [0] awaiting model...")
	p.Await("/ [0] awaiting model...")
	p.Await("| 1s [0] awaiting model...")
	p.model.replies <- isDone
	p.end(cli.ExitDone, "done")
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// TestTerminal_narrower narrows a terminal, which breaks the line of the current activity into two
// rows: both are written anew.
func TestTerminal_narrower(t *testing.T) {
	user, tty := pseudoTerminal(t)
	setWidth(t, tty, 80)
	s := terminal.NewScreen(tty, terminal.Config{}, func(string) string { return "" })
	says := func(text string) {
		e := terminaltest.Event("0", 1, text, nil)
		e.Kind = machine.EventTextDelta
		s.ShowEvent(e)
	}
	says("The quick brown fox jumps over the lazy dog, and goes on to the river.")
	setWidth(t, tty, 50)
	says(" It drinks.")
	s.Clear()
	require.NoError(t, tty.Close())
	shown, _ := io.ReadAll(user) // it ends with an error: nobody has the terminal any more
	require.Contains(t, string(shown), "river.\x1b[0m\x1b[?7h\x1b[1A\r\x1b[J\x1b[?7l")
	require.NotContains(t, string(shown[:strings.Index(string(shown), "river.")]), "\x1b[1A")
}
