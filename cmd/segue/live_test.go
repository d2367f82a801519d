package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/markdown"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// TestLiveAnswer shows each reply of the root once: an answer, what is said before a call, and what
// there is of a reply that broke off.
func TestLiveAnswer(t *testing.T) {
	says := func(frame, text string) machine.Event {
		e := terminaltest.Event(frame, 1, text, nil)
		e.Kind = machine.EventTextDelta
		return e
	}
	thinks := says("0", "Hm.\n\n")
	thinks.Kind = machine.EventThoughtDelta
	step := terminaltest.Event("0", 1, "", machine.StepTaken{})
	broken := terminaltest.Event("0", 1, "", machine.StepTaken{Err: &delegation.Error{Code: "unavailable"}})
	stopped := terminaltest.Event("0", 1, "", machine.RunFinished{Status: machine.StatusStopped})
	stopped.Kind = machine.EventRunFinished
	again := terminaltest.Event("0", 1, "", machine.RetryWaiting{Discard: true})
	for name, tt := range map[string]struct {
		events []machine.Event
		want   string
	}{
		"an answer":            {[]machine.Event{says("0", "# A\nb"), thinks, says("0", " c"), step, finished("# A\nb c\n")}, "\n# A\n\nb c\n\n"},
		"words before a call":  {[]machine.Event{says("0", "I look."), step, says("0", "It is."), step, finished("It is.")}, "\nI look.\n\n\nIt is.\n\n"},
		"another answer":       {[]machine.Event{says("0", "A draft."), step, finished("The *answer*.")}, "\nA draft.\n\nThe *answer*.\n"},
		"nothing said":         {[]machine.Event{step, finished("The *answer*.")}, "The *answer*.\n"},
		"of a child":           {[]machine.Event{says("0.1", "A part.\n\n"), finished("All.")}, "All.\n"},
		"broke off":            {[]machine.Event{says("0", "One.\n\nTw"), broken, stopped}, "\nOne.\n\nTw\n\n"},
		"interrupted":          {[]machine.Event{says("0", "One.\n\nTw"), stopped}, "\nOne.\n\nTw\n\n"},
		"begun anew":           {[]machine.Event{says("0", "One.\n\nTw"), again, says("0", "One."), step, finished("One.")}, "\nOne.\n\nOne.\n\n"},
		"begun anew, unheard":  {[]machine.Event{says("0", "On"), again, says("0", "One."), step, finished("One.")}, "\nOne.\n\n"},
		"broke off, and again": {[]machine.Event{says("0", "One"), broken, says("0", "One."), step, finished("One.")}, "\nOne\n\n\nOne.\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			page := func() markdown.Settings { return markdown.Settings{Columns: 40} }
			p := run.Printer{W: &b, Form: cli.FormText, Terminal: true, Live: &run.LiveAnswer{Page: page, Streams: true}}
			s := terminal.NewScreen(&b, terminal.Config{Quiet: true}, func(string) string { return "" })
			for _, e := range tt.events {
				require.NoError(t, p.Before(s, e))
				require.NoError(t, p.Beside(s, e))
			}
			require.Equal(t, tt.want, b.String())
		})
	}
}

// TestAgents_named tells in every line about an agent below the first one who it is.
func TestAgents_named(t *testing.T) {
	const file = `
models: {m: {model: m, base_url: SERVER}}
agents:
  lead: {children: [{agent: researcher}]}
  researcher: {description: Reads., tools: [list_files]}
default: lead
`
	s := newServer(t, calls("researcher", `{"goal":"look"}`), calls("list_files", "{}"), says("Nothing."), says("Done."))
	got := segue(t, strings.ReplaceAll(file, "SERVER", s.URL), nil, "--dir", t.TempDir(), "Go")
	require.Equal(t, "Done.\n", got.stdout, got.stderr)
	for line := range strings.SplitSeq(got.stderr, "\n") {
		if strings.HasPrefix(line, "  ") {
			require.Regexp(t, `^  \[researcher 0\.[0-9.]+ #\d+\] `, line)
		}
	}
	require.Regexp(t, `(?m)^  \[researcher 0\.1 #\d+\] list_files `, got.stderr)
}

// TestRun_failedPlan shows what the model said instead of a plan, without -v, where the answer goes
// to a pipe.
func TestRun_failedPlan(t *testing.T) {
	const words = "I will not plan this: it is nobody's business."
	s := newServer(t, slices.Repeat([]string{says(words)}, 12)...)
	got := segue(t, strings.ReplaceAll("models: {m: {model: m, base_url: SERVER}}\nagents: {x: {strategy: plan-revise-execute}}\n", "SERVER", s.URL), nil, "Go")
	require.Equal(t, cli.ExitFailed, got.code, got.stderr)
	require.Contains(t, got.stderr, "says: "+words+"\n[0 #")
}
