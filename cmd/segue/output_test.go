package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

func finished(text string) machine.Event {
	e := terminaltest.Event("0", 1, "", machine.RunFinished{Status: machine.StatusDone, Output: delegation.Output{Result: &text}})
	e.Kind = machine.EventRunFinished
	return e
}

// TestPrinter_text shows that an answer cannot drive the terminal, behind a pipe neither.
func TestPrinter_text(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var b bytes.Buffer
		p := run.Printer{W: &b, Form: cli.FormText, Terminal: terminal}
		require.NoError(t, p.Event(finished("a\x1b]0;title\a\tb\u009b\n\nc\u202e")))
		require.Equal(t, "a]0;title\tb\n\nc\n", b.String())
	}
}

// TestPrinter_partial shows what the root has said of an answer that broke off, and nothing that
// was said before or below.
func TestPrinter_partial(t *testing.T) {
	says := func(frame, text string) machine.Event {
		e := terminaltest.Event(frame, 1, text, nil)
		e.Kind = machine.EventTextDelta
		return e
	}
	stopped := terminaltest.Event("0", 1, "", machine.RunFinished{Status: machine.StatusStopped})
	stopped.Kind = machine.EventRunFinished
	thinks := says("0", "Hm.")
	thinks.Kind = machine.EventThoughtDelta
	step := terminaltest.Event("0", 1, "", machine.StepTaken{})
	broken := terminaltest.Event("0", 1, "", machine.StepTaken{Err: &delegation.Error{Code: "unavailable"}})
	for name, tt := range map[string]struct {
		events []machine.Event
		want   string
	}{
		"stopped":              {[]machine.Event{says("0", "The "), thinks, says("0", "quick"), stopped}, "The quick\n"},
		"broke off":            {[]machine.Event{says("0", "The quick"), broken, stopped}, "The quick\n"},
		"in a later step":      {[]machine.Event{says("0", "I look."), step, says("0", "It is"), stopped}, "It is\n"},
		"after one that was":   {[]machine.Event{says("0", "I look."), step, stopped}, ""},
		"asked again":          {[]machine.Event{says("0", "I lo"), broken, says("0", "It"), stopped}, "It\n"},
		"begun anew":           {[]machine.Event{says("0", "half"), terminaltest.Event("0", 1, "", machine.RetryWaiting{Discard: true}), says("0", "new"), stopped}, "new\n"},
		"of a child":           {[]machine.Event{says("0.1", "The quick"), stopped}, ""},
		"a result is stronger": {[]machine.Event{says("0", "half"), finished("whole")}, "whole\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := run.Printer{W: &b, Form: cli.FormText}
			for _, e := range tt.events {
				require.NoError(t, p.Event(e))
			}
			require.Equal(t, tt.want, b.String())
		})
	}
}

// TestPrinter_json keeps characters readable that only HTML has to hide.
func TestPrinter_json(t *testing.T) {
	var b bytes.Buffer
	p := run.Printer{W: &b, Form: cli.FormJSON}
	require.NoError(t, p.Event(terminaltest.Event("0", 0, "", machine.RunStarted{})))
	require.Empty(t, b.String())
	require.NoError(t, p.Event(finished("a < b && c")))
	require.Contains(t, b.String(), `"result":"a < b && c"`)
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestRun_cannotWrite ends a run whose output nobody takes.
func TestRun_cannotWrite(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	none := func(string) string { return "" }
	for _, args := range [][]string{{"demo", "-q"}, {"demo", "-q", "--json"}, {"demo", "-q", "--output", "jsonl"}, {"version"}, {"graph", "complete-task"}} {
		var stderr bytes.Buffer
		require.Equal(t, cli.ExitFailed, execute(args, strings.NewReader(""), brokenPipe{}, &stderr, none), args)
		require.Equal(t, "segue: cannot write the output: broken pipe\n", stderr.String(), args)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("bad descriptor") }

func TestRun_cannotRead(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitUsage, execute([]string{"run", "-"}, brokenReader{}, &stdout, &stderr, func(string) string { return "" }))
	require.Equal(t, "segue: cannot read standard input: bad descriptor\n", stderr.String())
	require.Empty(t, stdout.String())
}

// TestEscaped shows no terminal anything that it obeys, and loses no character.
func TestEscaped(t *testing.T) {
	const wide = 1 << 8 // characters of a text
	for first := rune(0); first < 0x10000+0x1000; first += wide {
		var text strings.Builder
		for r := first; r < first+wide; r++ {
			if r >= 0x10000 { // of the tags
				text.WriteRune(r - 0x10000 + 0xe0000)
			} else if utf8.ValidRune(r) {
				text.WriteRune(r)
			}
		}
		requireEscaped(t, text.String())
	}
}

func FuzzEscaped(f *testing.F) {
	for _, seed := range []string{"", "\x1b[2J", "\u009b31m", "\u202e\u2066\u061c", "\r\n", `"\u001b`, "\x7f\"\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) { requireEscaped(t, strings.ToValidUTF8(s, "?")) })
}

func requireEscaped(t *testing.T, s string) {
	t.Helper()
	var b strings.Builder
	require.NoError(t, cli.Encode(&b, []any{s, json.RawMessage(strconv.Quote("")), map[string]string{s: s}}))
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
	for _, r := range b.String() {
		if r != '\n' && plaintext.Obeyed(r) {
			require.Failf(t, "a terminal obeys it", "%q", r)
		}
	}
	var back []any
	require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
	require.Equal(t, []any{s, "", map[string]any{s: s}}, back)
}
