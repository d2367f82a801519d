package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/orchestrator"
)

func finished(text string) orchestrator.Event {
	e := at("0", 1, "", orchestrator.RunFinished{Status: orchestrator.StatusDone, Output: delegation.Output{Result: &text}})
	e.Kind = orchestrator.EventRunFinished
	return e
}

// TestPrinter_terminal shows that an answer cannot drive the terminal, and that a file gets it as it is.
func TestPrinter_terminal(t *testing.T) {
	var b bytes.Buffer
	p := printer{w: &b, form: formText, terminal: true}
	require.NoError(t, p.event(finished("a\x1b[2J\tb\n\nc")))
	require.Equal(t, "a[2J\tb\n\nc\n", b.String())

	b.Reset()
	p.terminal = false
	require.NoError(t, p.event(finished("a\x1b[2Jb\n")))
	require.Equal(t, "a\x1b[2Jb\n", b.String())
}

// TestPrinter_json keeps characters readable that only HTML has to hide.
func TestPrinter_json(t *testing.T) {
	var b bytes.Buffer
	p := printer{w: &b, form: formJSON}
	require.NoError(t, p.event(at("0", 0, "", orchestrator.RunStarted{})))
	require.Empty(t, b.String())
	require.NoError(t, p.event(finished("a < b && c")))
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
		require.Equal(t, exitFailed, run(args, strings.NewReader(""), brokenPipe{}, &stderr, none), args)
		require.Equal(t, "segue: cannot write the output: broken pipe\n", stderr.String(), args)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("bad descriptor") }

func TestRun_cannotRead(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitUsage, run([]string{"run", "-"}, brokenReader{}, &stdout, &stderr, func(string) string { return "" }))
	require.Equal(t, "segue: cannot read the task from standard input: bad descriptor\n", stderr.String())
	require.Empty(t, stdout.String())
}
