package terminal

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

func delta(text string) machine.Event {
	return machine.Event{Run: "r", Frame: "0", Seq: 1, Kind: machine.EventTextDelta, Text: text}
}

// TestScreen_live plays what a terminal shows while a model answers: the last line is written anew
// until a line that stays takes its place.
func TestScreen_live(t *testing.T) { synctest.Test(t, testScreenLive) } // where no time passes

func testScreenLive(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b, live: true}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.ShowEvent(terminaltest.Event("0", 1, "", machine.StateChanged{To: "awaiting_model"})) }, paint + "| [0 #1] awaiting model..." + end},
		{func() { s.ShowEvent(delta("I ")) }, paint + "| [0 #1] I" + end},
		{func() { s.ShowEvent(delta("look.")) }, paint + "| [0 #1] I look." + end},
		{func() { s.Warn("stopping") }, "\r\x1b[Ksegue: stopping\n" + paint + "| [0 #1] I look." + end},
		{func() { s.ShowEvent(delta(" Now.")) }, paint + "| [0 #1] I look. Now." + end},
		{
			func() {
				s.ShowEvent(terminaltest.Event("0", 1, "", machine.StepTaken{Kind: nextstep.KindGetChatCompletion, Calls: 1}))
			},
			"\r\x1b[K[0 #1] model: 1 call\n[0 #1] says: I look. Now.\n" + paint + "| [0 #1] " + end,
		},
		{func() { s.ShowEvent(delta("Next")) }, paint + "| [0 #1] Next" + end},
		{s.Clear, "\r\x1b[K"},
		{s.Clear, ""},
	} {
		b.Reset()
		step.do()
		require.Equal(t, step.want, b.String())
	}
}

// TestScreen_prompt plays what a terminal shows while somebody types: nothing comes between, but
// what cannot wait.
func TestScreen_prompt(t *testing.T) { synctest.Test(t, testScreenPrompt) }

func testScreenPrompt(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b, live: true, asks: true}
	result := terminaltest.Event("0", 2, "", machine.ToolFinished{Output: messages.ToolOutput{ToolName: "t"}})
	waits := terminaltest.Event("0", 2, "", machine.WaitStarted{})
	waits.Kind = machine.EventWaitStarted
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.ShowEvent(delta("I ")) }, paint + "| [0 #1] I" + end},
		{func() { s.ShowEvent(waits) }, paint + "| [0 #1] I" + end},
		{func() { s.Prompt("well > ", Line{Plain, "why"}) }, "\r\x1b[Kwhy\nwell > "},
		{func() { s.ShowEvent(result) }, ""},
		{func() { s.ShowEvent(terminaltest.Event("0", 2, "", machine.StateChanged{To: "awaiting_model"})) }, ""},
		{func() { s.ShowProgress("part of the progress") }, ""},
		{func() {
			require.EqualError(t, s.WriteBeside(func() error { b.WriteString("{}\n"); return errors.New("stopped") }), "stopped")
		}, "\n{}\nwell > "},
		{func() { s.EndPrompt(true) }, "[0 #2] t ok\npart of the progress\n" + paint + "| [0 #2] awaiting model..." + end},
		{func() { s.Prompt("and > ") }, "\r\x1b[Kand > "},
		{func() { s.EndPrompt(false) }, "\n" + paint + "| [0 #2] awaiting model..." + end},
		{func() { s.Prompt("then > ") }, "\r\x1b[Kthen > "},
		{func() { s.Warn("stopping") }, "\nsegue: stopping\n"},
		{func() { s.Warn("stopping now") }, "segue: stopping now\n"},
		{func() { s.ShowEvent(result) }, ""},
		{func() { s.EndPrompt(false) }, "[0 #2] t ok\n" + paint + "| [0 #2] awaiting model..." + end},
		{func() { s.ShowEvent(result) }, "\r\x1b[K[0 #2] t ok\n" + paint + "| [0 #2] awaiting model..." + end},
		{s.Clear, "\r\x1b[K"},
	} {
		b.Reset()
		step.do()
		require.Equal(t, step.want, b.String())
	}
}

// TestScreen_waits tells what a run waits for in the end, unless the progress has told it.
func TestScreen_waits(t *testing.T) {
	for _, tt := range []struct {
		screen *Screen
		told   bool
		want   string
	}{
		{&Screen{heard: newHearing()}, true, "[0 #2] waits for an answer: Who?\n"},
		{&Screen{heard: newHearing()}, false, "segue: [0 #2] waits for an answer: Who?\n"}, // it began before the run was resumed
		{&Screen{heard: newHearing(), quiet: true}, true, "segue: [0 #2] waits for an answer: Who?\n"},
		{&Screen{heard: newHearing(), asks: true}, true, "segue: [0 #2] waits for an answer: Who?\n"},
	} {
		var b bytes.Buffer
		tt.screen.w = &b
		wait := machine.Wait{ID: "w", Frame: "0", Seq: 2, Kind: machine.WaitQuestion, Text: "Who?"}
		if tt.told {
			e := terminaltest.Event("0", 2, "", machine.WaitStarted{Wait: wait})
			e.Kind = machine.EventWaitStarted
			tt.screen.ShowEvent(e)
		}
		tt.screen.ShowWaits([]machine.Wait{wait})
		require.Equal(t, tt.want, b.String())
	}
}

// TestScreen_discard drops what a model said before its reply broke off and began anew.
func TestScreen_discard(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b}
	s.ShowEvent(delta("half"))
	s.ShowEvent(terminaltest.Event("0", 1, "", machine.RetryWaiting{Kind: "retry", Discard: true}))
	s.ShowEvent(delta("whole"))
	s.ShowEvent(terminaltest.Event("0", 1, "", machine.RetryWaiting{Kind: "retry"}))
	s.ShowEvent(terminaltest.Event("0", 1, "", machine.StepTaken{Kind: nextstep.KindGetChatCompletion, Calls: 1}))
	require.Contains(t, b.String(), "says: whole\n")
}

// TestScreen_partial tells what was said below the root when it broke off. Those that speak at the
// same time are told apart.
func TestScreen_partial(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b}
	for _, piece := range []struct{ frame, text string }{
		{"0.1", "The "}, {"0.2", "A "}, {"0.1.1", "not "}, {"0.1", "quick"}, {"0.2", "lazy"},
	} {
		e := terminaltest.Event(piece.frame, 1, piece.text, nil)
		e.Kind = machine.EventTextDelta
		s.ShowEvent(e)
	}
	s.ShowEvent(terminaltest.Event("0.1", 1, "", machine.FrameLeft{Strategy: "s", Err: &delegation.Error{Code: "stopped", Message: "now"}}))
	s.ShowEvent(terminaltest.Event("0.2", 1, "", machine.StepTaken{Kind: nextstep.KindGetChatCompletion, Err: &delegation.Error{Code: "unavailable", Message: "gone"}}))
	s.ShowEvent(terminaltest.Event("0.2", 1, "", machine.FrameLeft{Strategy: "s", Err: &delegation.Error{Code: "unavailable", Message: "gone"}}))
	require.Equal(t, `  [0.1 #1] says: The quick
  [0.1 #1] s failed (stopped): now
  [0.2 #1] model failed (unavailable): gone
  [0.2 #1] says: A lazy
  [0.2 #1] s failed (unavailable): gone
`, b.String())
}

func TestScreen_quiet(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b, live: true, quiet: true}
	s.ShowEvent(terminaltest.Event("0", 0, "", machine.RunStarted{}))
	s.ShowEvent(delta("x"))
	s.ShowProgress("part of the progress")
	s.Clear()
	require.Empty(t, b.String())
	s.Warn("stopping now")
	require.Equal(t, "segue: stopping now\n", b.String())
}

func TestScreen_color(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b, color: true}
	s.ShowProgress("plain")
	s.Warn("warned")
	require.Equal(t, "plain\n\x1b[35msegue: warned\x1b[0m\n", b.String())
}

func TestColored(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{false, nil, false},
		{true, nil, true},
		{true, map[string]string{"TERM": "dumb"}, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"NO_COLOR": ""}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{true, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
	} {
		require.Equal(t, tt.want, colored(tt.terminal, func(name string) string { return tt.env[name] }), "%+v", tt)
	}
}

// TestTerminal takes for a terminal neither a file nor what is no file, nor the null device, which
// is one to the file system.
func TestTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, IsTerminal(null))
	require.False(t, IsTerminal(&bytes.Buffer{}))
	require.Equal(t, DefaultSize, SizeOf(null))
	require.Equal(t, DefaultSize, SizeOf(&bytes.Buffer{}))
}

// TestScreen_promptRows breaks a prompt between words where it is longer than a row, and keeps what
// belongs together.
func TestScreen_promptRows(t *testing.T) {
	s := &Screen{w: &bytes.Buffer{}, live: true} // 80 columns
	require.Equal(t, "a: y yes > ", s.promptRows("a: y\u00a0yes > "))
	long := strings.Repeat("word ", 14)
	require.Equal(t, long+"a,\nb always > ", s.promptRows(long+"a, b\u00a0always > "))
	s.live = false
	require.Equal(t, long+"a, b always > ", s.promptRows(long+"a, b\u00a0always > "))
}

// TestScreen_holdLine holds all that is shown while somebody else writes the last line, and then
// shows it in its order.
func TestScreen_holdLine(t *testing.T) {
	for _, hold := range []func(*Screen) (free func()){
		func(s *Screen) func() { s.HoldLine(); return s.FreeLine },
		func(s *Screen) func() { s.Prompt(""); return func() { s.EndPrompt(true) } },
	} {
		var b strings.Builder
		s := NewScreen(&b, Config{}, func(string) string { return "" })
		free := hold(s)
		s.ShowProgress("one")
		require.NoError(t, s.WriteBeside(func() error { b.WriteString("two\n"); return errors.New("full") }))
		s.Warn("three")
		require.Empty(t, b.String())
		free()
		require.Equal(t, "one\ntwo\nsegue: three\n", b.String())
		require.EqualError(t, s.WriteBeside(func() error { return nil }), "full")
		require.NoError(t, s.WriteBeside(func() error { return nil }))
	}
}
