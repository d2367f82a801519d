package sqlitestore_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// elsewhere is a run in a file that other processes work on, with its provider.
type elsewhere struct {
	t     *testing.T
	path  string
	url   string
	calls atomic.Int32               // of the model
	gone  chan struct{}              // receives when the process has gone away from the connection
	o     *orchestrator.Orchestrator // of this process
}

// newElsewhere begins a story whose model sends these lines, one text an answer. A text that does
// not end goes on until the connection is gone.
func newElsewhere(t *testing.T, answers ...string) *elsewhere {
	t.Helper()
	s := &elsewhere{t: t, path: filepath.Join(t.TempDir(), "runs.db"), gone: make(chan struct{}, 10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.calls.Add(1))
		if n > len(answers) {
			return
		}
		fmt.Fprintln(w, answers[n-1])
		for whole := strings.HasSuffix(answers[n-1], "end"); !whole; {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				s.gone <- struct{}{}
				return
			case <-time.After(5 * time.Millisecond):
				fmt.Fprintln(w, "text +")
			}
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.o = stoppable(open(t, s.path), wire{s.url})
	return s
}

// process is another process that works on the run.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	told  []string
}

// start starts a process that runs or resumes the run. At the first event of a kind it waits until
// what was posted has reached it.
func (s *elsewhere) start(how, pause string) *process {
	s.t.Helper()
	cmd, out := again(s.t, "drive", s.path, s.url, how, pause)
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	s.t.Cleanup(func() { late.Stop() })
	return &process{t: s.t, cmd: cmd, lines: bufio.NewScanner(out)}
}

// until reads what a process tells, up to a line.
func (p *process) until(want string) {
	p.t.Helper()
	for p.lines.Scan() {
		if p.told = append(p.told, p.lines.Text()); p.lines.Text() == want {
			return
		}
	}
	p.t.Fatalf("no %s in %q", want, p.told)
}

// kill kills a process as kill -9 does.
func (p *process) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	require.Error(p.t, waittest.Exit(p.t, p.cmd))
}

// end reads what a process still tells, and how the run ended.
func (p *process) end() (told []string, end outcome) {
	p.t.Helper()
	for p.lines.Scan() {
		word, data, _ := strings.Cut(p.lines.Text(), " ")
		if word == "end" {
			require.NoError(p.t, json.Unmarshal([]byte(data), &end))
			continue
		}
		told = append(told, p.lines.Text())
	}
	require.NoError(p.t, waittest.Exit(p.t, p.cmd))
	require.Empty(p.t, end.Leak)
	return told, end
}

// stop asks for the end of the run from this process, which does not work on it.
func (s *elsewhere) stop(now bool) {
	s.t.Helper()
	require.NoError(s.t, s.o.Stop(s.t.Context(), key("r"), "enough", now))
}

// stopped checks that the run has ended by the stop, here and in its journal for ever.
func (s *elsewhere) stopped(told []string, end outcome) {
	s.t.Helper()
	require.Equal(s.t, `run_finished ""`, told[len(told)-1])
	require.Equal(s.t, 1, count(told, "run_finished "))
	require.Equal(s.t, machine.StatusStopped, end.Status)
	require.Contains(s.t, end.Error, "stop was asked for: enough")
	head, err := open(s.t, s.path).Head(s.t.Context(), key("r"))
	require.NoError(s.t, err)
	require.Equal(s.t, checkpoint.StatusStopped, head.Header.Status)
	calls := s.calls.Load()
	again, err := orchestrator.Collect(s.o.Resume(s.t.Context(), orchestrator.Resumption{Run: "r"}))
	require.ErrorContains(s.t, err, "enough")
	require.Equal(s.t, machine.StatusStopped, again.Status)
	require.Equal(s.t, end.Output.Messages, again.Output.Messages)
	require.Equal(s.t, calls, s.calls.Load())
}

func count(told []string, word string) (n int) {
	for _, line := range told {
		if strings.HasPrefix(line, word) {
			n++
		}
	}
	return n
}

// everyStop runs a test for both kinds of stop.
func everyStop(t *testing.T, name string, test func(t *testing.T, now bool)) {
	t.Helper()
	t.Run(name+", after what is in progress", func(t *testing.T) { test(t, false) })
	t.Run(name+", at once", func(t *testing.T) { test(t, true) })
}

// S1-6: an abort by another process before the run has done anything: the run ends without a model
// call, and nothing is told but its end. So it is if the process is killed there, and another one
// goes on.
func TestS1_6_stoppedByAnotherProcess(t *testing.T) {
	everyStop(t, "at work", func(t *testing.T, now bool) {
		s := newElsewhere(t)
		p := s.start("run", "run_started")
		p.until(`run_started ""`)
		s.stop(now)
		p.until(`reached ""`)
		told, end := p.end()
		s.stopped(told, end)
		require.Zero(t, count(told, "step_"))
		require.Zero(t, s.calls.Load())
	})
	everyStop(t, "killed", func(t *testing.T, now bool) {
		s := newElsewhere(t)
		p := s.start("run", "run_started")
		p.until(`run_started ""`)
		p.kill()
		s.stop(now)
		told, end := s.start("resume", "").end()
		s.stopped(told, end)
		require.Equal(t, `run_resumed ""`, told[0])
		require.Zero(t, count(told, "step_"))
		require.Zero(t, s.calls.Load())
	})
}

// S1-8: an abort by another process inside a stream: nothing is told after it but what had arrived,
// which the output keeps, and the end of the run; the goroutine and the connection are gone. If the
// process is killed there, the one that resumes the run asks no model again.
func TestS1_8_stoppedByAnotherProcess(t *testing.T) {
	t.Run("at work", func(t *testing.T) {
		s := newElsewhere(t, "text half\ntext and\ntext more")
		p := s.start("run", "text_delta")
		p.until(`text_delta "half"`)
		s.stop(true)
		p.until(`reached ""`)
		told, end := p.end()
		s.stopped(told, end)
		text := "half"
		for _, line := range told {
			if quoted, ok := strings.CutPrefix(line, "text_delta "); ok { // it had arrived before the stop did
				piece, err := strconv.Unquote(quoted)
				require.NoError(t, err)
				text += piece
			}
		}
		require.Equal(t, text, end.Output.Texts()[0], "what was told is what is kept")
		waittest.Receive(t, s.gone)
		require.EqualValues(t, 1, s.calls.Load())
	})
	t.Run("killed", func(t *testing.T) {
		s := newElsewhere(t, "text half")
		p := s.start("run", "text_delta")
		p.until(`text_delta "half"`)
		p.kill()
		waittest.Receive(t, s.gone)
		s.stop(true)
		told, end := s.start("resume", "").end()
		s.stopped(told, end)
		require.Zero(t, count(told, "text_delta"), "%q", told)
		require.EqualValues(t, 1, s.calls.Load())
	})
	t.Run("killed behind the stop", func(t *testing.T) {
		s := newElsewhere(t, "text half")
		p := s.start("run", "text_delta")
		p.until(`text_delta "half"`)
		s.stop(true)
		p.kill() // whether or not the stop has reached it
		waittest.Receive(t, s.gone)
		told, end := s.start("resume", "").end()
		s.stopped(told, end)
		require.Zero(t, count(told, "text_delta"), "%q", told)
		require.EqualValues(t, 1, s.calls.Load())
	})
}

// S4-18: a stop by another process during a tool answers its call as interrupted, or waits for it;
// keeps what has finished, and closes the conversation with an assistant's message, behind which
// the next turn works. So it is if the process is killed there, and another one goes on: what has
// finished is not done again.
func TestS4_18_stoppedByAnotherProcess(t *testing.T) {
	for _, slow := range []string{"slow", "pay"} {
		everyStop(t, slow+" at work", func(t *testing.T, now bool) {
			s := newElsewhere(t, "call quick\ncall "+slow+"\nend", "text next\nend")
			p := s.start("run", "")
			p.untilAll(`tool_finished ""`, fmt.Sprintf("began %q", slow))
			s.stop(now)
			told, end := p.end()
			s.stopped(told, end)
			reason := messages.ReasonInterrupted
			if !now {
				reason = ""
			}
			s.closed(end, slow, reason)
		})
		everyStop(t, slow+" killed", func(t *testing.T, now bool) {
			s := newElsewhere(t, "call quick\ncall "+slow+"\nend", "text next\nend")
			p := s.start("run", "")
			p.untilAll(`tool_finished ""`, fmt.Sprintf("began %q", slow))
			p.kill()
			s.stop(now)
			told, end := s.start("resume", "").end()
			s.stopped(told, end)
			require.Zero(t, count(told, `began "quick"`))
			require.Zero(t, count(told, `began "pay"`))
			reason := messages.ReasonInterrupted
			if slow == "slow" { // the journal does not say that it had begun
				reason = "not_started"
			}
			s.closed(end, slow, reason)
		})
	}
}

// untilAll reads what a process tells, up to the last of several lines.
func (p *process) untilAll(want ...string) {
	p.t.Helper()
	for _, line := range want {
		if !slices.Contains(p.told, line) {
			p.until(line)
		}
	}
}

// closed checks the history of a run that was stopped during its second call, and that the next
// turn works behind it.
func (s *elsewhere) closed(end outcome, slow, reason string) {
	s.t.Helper()
	h := end.Output.Messages
	require.NoError(s.t, h.Validate())
	require.Equal(s.t, messages.AssistantText("[stopped]"), h.Last())
	metas := end.Output.ToolMetas()
	require.Len(s.t, metas, 2)
	require.Equal(s.t, "did quick", metas[0].Output)
	require.Equal(s.t, reason, metas[1].Reason)
	if reason == "" {
		require.Equal(s.t, "did "+slow, metas[1].Output)
	}
	require.EqualValues(s.t, 1, s.calls.Load())
	next, err := s.o.Run(s.t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go on", Messages: h}})
	require.NoError(s.t, err)
	require.Equal(s.t, "next", next.Output.Text())
}
