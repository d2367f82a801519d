package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
)

// TestRandomCompositions runs random trees of built-in strategies against models that say anything,
// and checks these laws for each. Package prove sets the number of cases:
//
//   - Nothing panics, and no strategy requests an impossible step.
//   - The run ends, within its limits.
//   - Its usage is what the model has billed, and each frame's usage is within its parent's.
//   - The history obeys the laws in every request and in the output.
//   - The model of a request is that of the closest part or agent above it that has one, or that of
//     the task.
//   - The output and its metadata do not change when they are written as JSON and read.
//   - The journal, applied to a new Machine, gives the same events and the same output. This is
//     also so if the store was slow or refused an append, if the consumer left, or if a middleware
//     changed what was done, and the run was resumed.
//   - Orchestrator.Replay gives the same events, and a fork of any prefix of the journal can be
//     resumed and obeys the same laws.
//   - A strategy may hand off, in agents too, a call may be suspended and go on with its answer,
//     and conversations may be compacted.
//   - There is one terminal event, the last, and every frame that is entered is left, unless the
//     run waits.
func TestRandomCompositions(t *testing.T) { newComposer(t).check(t, 100) }

// TestRandomWorkflows holds compositions of package workflow, in each other and around
// complete-task, to the same laws.
func TestRandomWorkflows(t *testing.T) {
	c := newComposer(t)
	c.delegating = []string{workflow.NameSequence, workflow.NameParallel, workflow.NameLoop, workflow.NameChoose}
	c.kinds = append([]string{completetask.Name}, c.delegating...)
	c.withTools, c.only = c.kinds, true
	c.check(t, 100)
}

// check checks so many cases, unless package prove says how many.
func (c *composer) check(t *testing.T, cases int) {
	shards := runtime.GOMAXPROCS(0)
	manyChecks(t, max(1, prove.CasesOr(cases)/shards))
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			s, seen := newStage(), tally{ends: map[string]int{}, saw: map[string]int{}}
			rapid.Check(t, func(t *rapid.T) {
				p := rapid.Custom(c.draw).Draw(t, "composition")
				w := s.play(&p)
				seen.add(w)
				if len(w.broken) > 0 {
					t.Fatal(strings.Join(w.broken, "\n"))
				}
			})
			if !c.only {
				seen.enough(t)
			}
		})
	}
}

// tally counts properties of the cases.
type tally struct {
	cases int
	ends  map[string]int
	saw   map[string]int
}

func (c *tally) add(w *composed) {
	c.cases++
	c.ends[w.end]++
	for what, is := range map[string]bool{
		"agents": w.agents > 0, "agents with a store": w.Stored && w.agents > 0, "agents stopped": w.Stop > 0 && w.Stop <= w.asked && w.agents > 0, "broke off": w.broke,
	} {
		if is {
			c.saw[what]++
		}
	}
	for what := range w.saw {
		c.saw[what]++
	}
}

// enough checks that what is rare was there, if there were many cases.
func (c *tally) enough(t *testing.T) {
	t.Helper()
	t.Logf("%d cases: %v; they ended as %v", c.cases, c.saw, c.ends)
	if c.cases < 400 {
		return
	}
	for _, what := range []string{"agents", "agents with a store", "agents stopped", "broke off", "heard", "compacted", "suspended", "an agent's model", "a part's model"} {
		require.Positive(t, c.saw[what], what)
	}
	if c.cases >= 2_000 {
		require.Positive(t, c.saw["handed"])
	}
}

// manyChecks sets the number of rapid's checks in this test, unless the command line sets it.
func manyChecks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return
	}
	require.NoError(t, checks.Value.Set(strconv.Itoa(n)))
	t.Cleanup(func() { require.NoError(t, checks.Value.Set(before)) })
}

// composed is a running case.
type composed struct {
	babble
	o       *orchestrator.Orchestrator
	stopped chan struct{}
	cancel  context.CancelFunc
	open    []string // frames that were entered and not yet left
	nodes   []func() strategy.Strategy
	store   checkpoint.Memory
	agents  int    // the number entered
	end     string // how it ended
	started int    // tool calls that began, including agents
	steps   int
	last    *machine.Event
	ended   int
	appends int
	lines   []string        // the events of the Machine, as text
	before  int             // how many of them were reported before the run broke off
	broke   bool            // it broke off, and was resumed
	saw     map[string]bool // what has happened of what many cases do not have
	models  models
}

// play runs a case.
func (s *stage) play(p *composition) *composed {
	w := &composed{babble: babble{composition: p, fans: p.fans()}, o: s.orchestrator(p), stopped: make(chan struct{}), saw: map[string]bool{}}
	w.stop = func() {
		if p.Now {
			w.cancel()
			return
		}
		close(w.stopped)
	}
	if p.Note > 0 {
		w.notes = make(chan string, 3)
	}
	for _, n := range p.Nodes {
		w.nodes = append(w.nodes, s.factory(n))
	}
	s.now.Store(w)
	defer s.now.Store(nil)
	w.run()
	slices.Sort(w.broken) // rapid shrinks only equal failures
	return w
}

// composedRun is the id of every run.
const composedRun = "r"

// run executes the run.
func (w *composed) run() {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), caseKey{}, w))
	defer cancel()
	w.cancel = cancel
	task := orchestrator.Task{Strategy: nodeName(0), Run: composedRun, Model: w.Model, Input: w.Input, Limits: w.Limits, Stop: w.stopped, Notes: w.notes}
	res := w.follow(w.o.Stream(ctx, task), func() (orchestrator.Result, error) { return w.o.Run(ctx, task) })
	if w.brokeOff(res) {
		res = w.goOn(ctx)
	}
	if w.Fails == 1 {
		return // there is no run: the store refused its first record
	}
	if !w.Whole {
		w.seen(res)
	}
	if w.Stored {
		w.replay(res)
	}
	w.judge(res)
	if w.Stored {
		told := w.records()
		w.resume(res)
		w.replayAndFork(told)
	}
	w.end = string(res.Status)
	if res.Output.Err != nil {
		w.end += " " + string(res.Output.Err.Code)
	}
}

// follow consumes as many events of the run as the case says, or executes it with run.
func (w *composed) follow(events iter.Seq2[machine.Event, error], run func() (orchestrator.Result, error)) (res orchestrator.Result) {
	if w.Whole {
		res, _ = run()
		return res
	}
	n := 0
	for e, err := range events {
		if e.Kind == "" {
			if !errors.Is(err, errRefused) {
				w.blame("the run cannot be made: %v", err)
			}
			return res
		}
		w.see(&e)
		if end, ok := e.Detail.(machine.RunFinished); ok {
			res.Run, res.Status, res.Output, res.Waits = e.Run, end.Status, end.Output, end.Waits
			res.Strategy, res.Limits, res.Left = end.Strategy, end.Limits, end.Left
		}
		if n++; n == w.Break && !w.broke {
			break
		}
	}
	return res
}

// brokeOff reports whether the run broke off, so that it can be resumed.
func (w *composed) brokeOff(res orchestrator.Result) bool {
	refused := res.Output.Err != nil && res.Output.Err.Code == delegation.CodeStorage
	return w.Stored && w.appends > 0 && (refused || res.Run == "" && w.Break > 0)
}

// goOn resumes a run that broke off.
func (w *composed) goOn(ctx context.Context) orchestrator.Result {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer w.cancel()
	w.before, w.broke, w.ended, w.models = len(w.lines), true, 0, nil
	again := orchestrator.Resumption{Run: composedRun, Stop: w.stopped, Notes: w.notes}
	return w.follow(w.o.Resume(ctx, again), func() (orchestrator.Result, error) { return orchestrator.Collect(w.o.Resume(ctx, again)) })
}

// resume resumes the run, and checks that it ends in the same way: the end is reported again, and a
// waiting run still waits.
func (w *composed) resume(res orchestrator.Result) {
	ctx, asked := context.WithValue(context.Background(), caseKey{}, w), w.asked
	again, err := orchestrator.Collect(w.o.Resume(ctx, orchestrator.Resumption{Run: composedRun}))
	if again.Run == "" {
		w.blame("the run cannot be resumed: %v", err)
		return
	}
	if was, is := told(res), told(again); was != is {
		w.blame("the run that was resumed has ended otherwise:\n%s\n%s", was, is)
	}
	if w.asked != asked {
		w.blame("%d requests are made again", w.asked-asked)
	}
}

// told describes how a run ended, as text, without its duration.
func told(res orchestrator.Result) string {
	res.Output.Elapsed = 0
	text, err := json.Marshal(res)
	return fmt.Sprint(string(text), err)
}

// see records an event.
func (w *composed) see(e *machine.Event) {
	if w.ended > 0 {
		w.blame("%s comes after the end", e.Kind)
	}
	w.steps = max(w.steps, e.Seq)
	if e.Index > 0 { // otherwise the loop added it
		w.lines = append(w.lines, line(e))
	}
	w.seeModel(e)
	switch d := e.Detail.(type) {
	case machine.Noting:
		if e.Kind == machine.EventNoteHeard {
			w.saw["heard"] = true
		}
	case machine.Compacted:
		w.saw["compacted"] = true
	case machine.ToolFinished:
		if strings.HasPrefix(d.Output.Output, "as you say: ") {
			w.saw["suspended"] = true
		}
	case machine.FrameEntered:
		w.open = append(w.open, e.Frame)
		if d.CallID != "" {
			w.agents++
		}
	case machine.FrameLeft:
		w.sound(e.Frame, d.Err)
		if d.Handoff != "" {
			w.saw["handed"] = true
		}
		if at := slices.Index(w.open, e.Frame); at >= 0 {
			w.open = slices.Delete(w.open, at, at+1)
		} else if !w.broke {
			w.blame("frame %s is left and was not entered", e.Frame)
		}
	case machine.ToolStarted:
		w.started++
	case machine.RunFinished:
		w.ended++
	default:
	}
	w.last = e
}

// seen checks the events.
func (w *composed) seen(res orchestrator.Result) {
	if w.ended != 1 || w.last.Kind != machine.EventRunFinished {
		w.blame("there are %d terminal events", w.ended)
	}
	if len(w.open) > 0 && !w.broke && res.Status != machine.StatusWaiting {
		w.blame("frames %v are not left", w.open)
	}
	if most := w.Limits.Steps; most > 0 && w.steps > most {
		w.blame("%d steps are taken, and %d is the limit", w.steps, most)
	}
	if most := w.Limits.ToolCalls; most > 0 && w.started > most && !w.broke {
		w.blame("%d tool calls are started, and %d is the limit", w.started, most)
	}
}

// sound reports an error that is the program's fault.
func (w *composed) sound(where string, err *delegation.Error) {
	switch {
	case err == nil:
	case err.Code == delegation.CodePanic, err.Code == delegation.CodeDefect, strings.Contains(err.Message, "break the laws"):
		w.blame("%s ends with %s: %s", where, err.Code, err.Message)
	}
}

// judge checks the laws for the end of the run.
func (w *composed) judge(res orchestrator.Result) {
	out := res.Output
	w.sound("the run", out.Err)
	if err := out.Messages.Validate(); err != nil {
		w.blame("the output breaks the laws: %v", err)
	}
	if (res.Status == machine.StatusDone) != (out.Err == nil) && res.Status != machine.StatusWaiting {
		w.blame("the run is %s, and its error is %v", res.Status, out.Err)
	}
	whole := w.Stop == 0 || !w.Now      // otherwise the usage of an abandoned reply is missing
	counted := out.Usage.Estimated == 0 // a reply that repeated itself was cut off, and nobody counted it
	if counted && (whole && !w.broke && out.Usage != w.usage || out.Usage.Total > w.usage.Total) {
		w.blame("the usage is %+v, and %+v was billed", out.Usage, w.usage)
	}
	w.again(out)
}

// again checks that an output does not change when it is written as JSON and read.
func (w *composed) again(out delegation.Output) {
	text, err := json.Marshal(out)
	if err != nil {
		w.blame("the output cannot be written: %v", err)
		return
	}
	var read delegation.Output
	if err := json.Unmarshal(text, &read); err != nil {
		w.blame("the output cannot be read: %v", err)
		return
	}
	back, err := json.Marshal(read)
	if err != nil || !bytes.Equal(text, back) {
		w.blame("the output is not the same again:\n%s\n%s\n%v", text, back, err)
	}
	if !slices.EqualFunc(out.Messages, read.Messages, func(a, b messages.Message) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		w.blame("the messages are not the same again:\n%q\n%q", out.Messages, read.Messages)
	}
	for name, value := range out.Metadata {
		if !json.Valid(value) || read.Metadata[name] == nil {
			w.blame("the metadata %q is not the same again: %s", name, value)
		}
	}
}
