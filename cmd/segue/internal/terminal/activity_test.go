package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// What is around the last line, which is written anew.
const (
	paint = "\r\x1b[K\x1b[?7l"
	end   = "\x1b[?7h"
)

const model = nextstep.KindGetChatCompletion

// TestScreen_spinner shows that a run is alive while nothing happens: a spinner, the time without
// that of the person who is asked, and the cost.
func TestScreen_spinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		s := &Screen{heard: newHearing(), w: &b, live: true}
		next := func(want string) {
			t.Helper()
			s.mu.Lock()
			b.Reset()
			s.mu.Unlock()
			time.Sleep(turn)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Equal(t, want, b.String())
		}
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.StateChanged{To: "awaiting_model"}))
		time.Sleep(turn / 2) // what follows happens between two turns
		next(paint + "/ [0 #1] awaiting model..." + end)
		next(paint + "- [0 #1] awaiting model..." + end)
		next(paint + `\ [0 #1] awaiting model...` + end)
		time.Sleep(4 * turn)
		next(paint + "| 1s [0 #1] awaiting model..." + end)
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Calls: 1, Cost: 1250}))
		s.ShowEvent(terminaltest.Event("0", 2, "", machine.ToolStarted{Call: messages.ToolCall{Name: "read_file"}}))
		next(paint + "/ 1s $0.00125 [0 #2] read_file..." + end)
		s.Prompt("well > ")
		next("") // nothing moves while somebody types
		time.Sleep(time.Minute)
		s.EndPrompt(true)
		time.Sleep(turn / 2)
		next(paint + `\ 1s $0.00125 [0 #2] read_file...` + end)
		s.ShowEvent(terminaltest.Event("0", 3, "", machine.RunFinished{Status: machine.StatusDone}))
		next("")
		s.Clear()
	})
}

// TestScreen_panics leaves a defect of the last line to the next event: that of the spinner's own
// goroutine would end the process before the terminal is as it was.
func TestScreen_panics(t *testing.T) {
	s := &Screen{heard: newHearing(), w: brokenWriter{}, live: true, doing: activity{on: true}}
	require.NotPanics(t, s.turn)
	require.Panics(t, func() { s.ShowEvent(delta("I ")) })
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("a mistake") }

// TestScreen_resumed counts the cost of the whole run in the last line, and says if a part of it is
// not known.
func TestScreen_resumed(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{heard: newHearing(), w: &b, live: true}
	shows := func(want string, d machine.Detail) {
		t.Helper()
		b.Reset()
		s.ShowEvent(terminaltest.Event("0", 2, "", d))
		require.Contains(t, b.String(), want)
	}
	shows("", machine.RunResumed{Cost: 1250})
	shows("| $0.00125 [0 #2] read_file...", machine.ToolStarted{Call: messages.ToolCall{Name: "read_file"}})
	shows("| $0.0025 [0 #2] ", machine.StepTaken{Kind: model, Calls: 1, Cost: 1250})
	shows("| at least $0.0025 [0 #2] ", machine.StepTaken{Kind: model, Calls: 1, Usage: messages.Usage{Input: 5}, Unpriced: 1})
	shows("5 tokens in, 0 out, at least $0.003\n", machine.FrameLeft{Strategy: "s", Usage: messages.Usage{Input: 5}, Cost: 3000, Unpriced: 1})
	s.Clear()

	s = &Screen{heard: newHearing(), w: &b, live: true}
	shows("", machine.RunResumed{Cost: 1250, Unpriced: 1})
	shows("| at least $0.00125 [0 #2] read_file...", machine.ToolStarted{Call: messages.ToolCall{Name: "read_file"}})
	s.Clear()
}

// TestScreen_nextRun counts the time and the cost of each turn of a conversation by itself, and
// takes nothing of a reply that broke off for a part of the next one.
func TestScreen_nextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		s := &Screen{heard: newHearing(), w: &b, live: true}
		s.ShowEvent(terminaltest.Event("0", 0, "", machine.RunStarted{}))
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Calls: 1, Cost: 1250}))
		s.ShowEvent(delta("Half a "))
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.RunFinished{Status: machine.StatusDone}))
		time.Sleep(time.Minute)
		s.ShowEvent(terminaltest.Event("0", 0, "", machine.RunStarted{}))
		b.Reset()
		s.ShowEvent(delta("Yes."))
		require.Equal(t, paint+"| [0 #1] Yes."+end, b.String())
		s.Clear()
	})
}

// TestScreen_plain neither writes anything anew nor moves nor colors, whatever the terminal can do.
func TestScreen_plain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		s := NewScreen(&b, Config{Plain: true}, func(name string) string { return map[string]string{"CLICOLOR_FORCE": "1"}[name] })
		s.ShowEvent(terminaltest.Event("0", 0, "", machine.RunStarted{}))
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.StateChanged{To: "awaiting_model"}))
		s.ShowEvent(delta("I look."))
		time.Sleep(time.Minute)
		s.ShowEvent(terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Calls: 1}))
		require.Equal(t, "run r\n[0 #1] model: 1 call\n[0 #1] says: I look.\n", b.String())
	})
}

// TestScreen_agents names the agent in each line that is about one.
func TestScreen_agents(t *testing.T) {
	var b bytes.Buffer
	s := NewScreen(&b, Config{}, func(string) string { return "" })
	s.ShowEvent(terminaltest.Event("0", 0, "", machine.FrameEntered{Strategy: "chief"}))
	s.ShowEvent(terminaltest.Event("0.1", 2, "", machine.FrameEntered{Strategy: "res\x1bearcher", Goal: "Look"}))
	s.ShowEvent(terminaltest.Event("0.2", 2, "", machine.FrameEntered{Strategy: "complete-task", Goal: "Do"}))
	s.ShowEvent(terminaltest.Event("0.1", 3, "", machine.ToolStarted{Call: messages.ToolCall{Name: "read_file", Arguments: "{}"}}))
	s.ShowEvent(terminaltest.Event("0.1", 3, "", machine.WaitStarted{Wait: machine.Wait{Frame: "0.1", Seq: 3, Kind: "approval", Tool: "t", Arguments: "{}"}}))
	s.ShowEvent(terminaltest.Event("0.2", 4, "", machine.ToolStarted{Call: messages.ToolCall{Name: "read_file", Arguments: "{}"}}))
	require.Equal(t, `[0] chief
  [res earcher 0.1 #2] res earcher: Look
  [0.2 #2] complete-task: Do
  [res earcher 0.1 #3] read_file {}
  [res earcher 0.1 #3] waits for approval: t {}
  [0.2 #4] read_file {}
`, b.String())

	b.Reset()
	s = NewScreen(&b, Config{Quiet: true}, func(string) string { return "" })
	s.ShowEvent(terminaltest.Event("0", 0, "", machine.RunResumed{Open: []machine.OpenFrame{{Frame: "0", Strategy: "chief"}, {Frame: "0.1", Strategy: "researcher"}}}))
	require.Equal(t, "researcher", s.Agent("0.1"))
	require.Empty(t, s.Agent("0"))
	s.ShowWaits([]machine.Wait{{Frame: "0.1", Seq: 2, Kind: machine.WaitQuestion, Text: "Who?"}})
	require.Equal(t, "segue: [researcher 0.1 #2] waits for an answer: Who?\n", b.String())
}

// TestScreen_missed shows what a model said instead of what it was asked for, and not twice what is
// the result.
func TestScreen_missed(t *testing.T) {
	says := func(s *Screen, frame, text string) {
		e := terminaltest.Event(frame, 1, text, nil)
		e.Kind = machine.EventTextDelta
		s.ShowEvent(e)
		s.ShowEvent(terminaltest.Event(frame, 1, "", machine.StepTaken{Kind: model}))
		s.ShowEvent(terminaltest.Event(frame, 1, "", machine.StateChanged{To: "x"}))
	}
	long := "I cannot plan this. " + strings.Repeat("Because. ", 20)
	failed := machine.FrameLeft{Strategy: "s", Err: &delegation.Error{Code: "invalid", Message: "there is no plan"}}
	for name, tt := range map[string]struct {
		do   func(s *Screen)
		want string
	}{
		"the plan failed": {func(s *Screen) {
			says(s, "0", long)
			s.ShowEvent(terminaltest.Event("0", 1, "", failed))
		}, "[0 #1] says: " + strings.TrimSpace(long) + "\n[0 #1] s failed (invalid)\n"},
		"the plan of a step failed": {func(s *Screen) {
			says(s, "0.1", "I cannot.")
			s.ShowEvent(terminaltest.Event("0.1", 1, "", failed))
		}, "  [0.1 #1] says: I cannot.\n  [0.1 #1] s failed (invalid): there is no plan\n"},
		"asked again": {func(s *Screen) {
			says(s, "0", "Perhaps.")
			s.ShowEvent(terminaltest.Event("0", 2, "", machine.StepTaken{Kind: model, Model: "m"}))
			says(s, "0", "The answer.")
			s.ShowEvent(terminaltest.Event("0", 1, "", machine.FrameLeft{Strategy: "s", Result: new("The answer.")}))
		}, "[0 #1] says: Perhaps.\n[0 #2] model m: an answer\n[0 #1] s done\n"},
		"streamed": {func(s *Screen) {
			s.streams = true
			says(s, "0", "I cannot.")
			s.ShowEvent(terminaltest.Event("0", 1, "", failed))
		}, "[0 #1] s failed (invalid)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			s := NewScreen(&b, Config{}, func(string) string { return "" })
			tt.do(s)
			got := strings.ReplaceAll(strings.ReplaceAll(b.String(), "  [0.1 #1] model: an answer\n", ""), "[0 #1] model: an answer\n", "")
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDescribe_cost(t *testing.T) {
	used := messages.Usage{Input: 12, Output: 5, Total: 17}
	require.Equal(t, []Line{{Plain, "[0 #1] model: an answer, 12 tokens in, 5 out, $0.0015"}},
		describe(happening{Event: terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Usage: used, Cost: 1500})}, partialReply{}, false))
	require.Equal(t, []Line{{Good, "[0 #1] s done: 12 tokens in, 5 out, $0.0015"}},
		describe(happening{Event: terminaltest.Event("0", 1, "", machine.FrameLeft{Strategy: "s", Usage: used, Cost: 1500})}, partialReply{}, false))
}

// TestDescribe_dropped says so when what was said is said again.
func TestDescribe_dropped(t *testing.T) {
	e := happening{Event: terminaltest.Event("0", 1, "", machine.RetryWaiting{Kind: llmclient.NoticeRetry, Attempt: 1, Discard: true})}
	require.Equal(t, []Line{{Warn, "[0 #1] retry after attempt 1; what was said is dropped, and said again"}}, describe(e, partialReply{text: "half"}, false))
	require.Equal(t, []Line{{Warn, "[0 #1] retry after attempt 1"}}, describe(e, partialReply{}, false))
}

// TestFitted breaks lines between words, below where they begin.
func TestFitted(t *testing.T) {
	require.Equal(t, []Line{{Bad, "short"}}, fitted(Line{Bad, "short"}, 40))
	require.Equal(t, []Line{
		{Plain, "  [0.1 #2] says: I look at the notes,"},
		{Plain, "    and then I write what is in docs/,"},
		{Plain, "    and 日本語の文章は空白なしで書かれま"},
		{Plain, "    す。"},
	}, fitted(Line{Plain, "  [0.1 #2] says: I look at the notes, and then I write what is in docs/, and 日本語の文章は空白なしで書かれます。"}, 41))
	for _, n := range fitted(Line{Plain, strings.Repeat(" ", 30) + strings.Repeat("שָׁלוֹם ", 30)}, 40) {
		require.Less(t, plaintext.CellsOf(n.Text), 80)
	}
}

// TestFitted_command keeps a command whole at the end of a line, so that it can be copied.
func TestFitted_command(t *testing.T) {
	for columns, want := range map[int][]string{
		80: {"segue: interrupted; go on with: segue resume 01a204a7"},
		50: {"segue: interrupted; go on with:", "  segue resume 01a204a7"},
		20: {"segue:", "  interrupted; go", "  on with:", "  segue resume 01a204a7"},
	} {
		var got []string
		for _, n := range fitted(Line{Plain, "segue: interrupted; go on with: segue resume 01a204a7"}, columns) {
			got = append(got, n.Text)
		}
		require.Equal(t, want, got, columns)
	}
}
