package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// TestRandomCompositions runs trees of built-in strategies, drawn at random, against models that say anything, 10,000 of
// them, and holds each to these laws:
//
//   - Nothing panics, and no strategy asks for what nobody can do.
//   - The run ends, within its limits and within the bound that the Configs say.
//   - What it has used is what the model has billed, and each frame's usage is within its parent's.
//   - The history obeys the laws: that of every request, and that of the output.
//   - The output, its metadata included, is the same again after it was written as JSON and read.
//   - There is one terminal event, the last, and every frame that is entered is left, unless the run waits.
func TestRandomCompositions(t *testing.T) {
	shards := runtime.GOMAXPROCS(0)
	manyChecks(t, compositions/shards)
	c := newComposer(t)
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			ends, made := map[string]int{}, factories{}
			rapid.Check(t, func(t *rapid.T) {
				p := rapid.Custom(c.draw).Draw(t, "composition")
				w := newComposed(&p, made)
				ends[w.run()]++
				if len(w.broken) > 0 {
					slices.Sort(w.broken) // what shrinks has to fail alike
					t.Fatal(strings.Join(w.broken, "\n"))
				}
			})
			t.Logf("the runs ended as %v", ends)
		})
	}
}

// manyChecks has rapid make n checks in this test, unless the command line says how many.
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

// factories keeps strategies that were made, by what they were made of.
type factories map[[2]string]func() strategy.Strategy

func (f factories) of(n composedNode) func() strategy.Strategy {
	key := [2]string{n.Strategy, n.Config}
	if f[key] == nil {
		made, err := factory(n.Strategy, n.Config)
		if err != nil {
			panic(fmt.Sprintf("the Config %s of %s: %v", n.Config, n.Strategy, err))
		}
		f[key] = made
	}
	return f[key]
}

// agentTools are the strategies as tools, by their number.
var agentTools = func() (list []tools.Tool) {
	for i := range mostNodes {
		name := nodeName(i)
		list = append(list, orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "agent_" + name, ReadOnly: i%2 == 0},
			Strategy:   name, FanOut: i%3 > 0, Limits: delegation.Limits{ModelCalls: 2 * i},
		}))
	}
	return list
}()

// composed is a case in progress.
type composed struct {
	babble
	o       *orchestrator.Orchestrator
	stopped chan struct{}
	cancel  context.CancelFunc
	open    []string // frames of the run that were entered and not left
	waiting []string // runs that have waited
	started int      // tool calls
	steps   map[string]int
	last    *orchestrator.Event
	ended   int
}

func newComposed(p *composition, made factories) *composed {
	w := &composed{babble: babble{composition: p}, stopped: make(chan struct{}), steps: map[string]int{}}
	w.stop = func() {
		if p.Now {
			w.cancel()
			return
		}
		close(w.stopped)
	}
	cfg := orchestrator.Config{Client: &w.babble, Strategies: strategy.Set{}}
	cfg.Strategies[completetask.Name] = completetask.New(completetask.Config{})
	for i, n := range p.Nodes {
		cfg.Strategies[nodeName(i)] = made.of(n)
		if p.Agents[i] {
			cfg.Tools = append(cfg.Tools, agentTools[i])
		}
	}
	for i, missing := range p.Tools {
		if missing != 1 {
			cfg.Tools = append(cfg.Tools, composedTools[i])
		}
	}
	if p.Person > 0 {
		cfg.Reply = func(_ context.Context, wait orchestrator.Wait) (orchestrator.Reply, error) {
			if p.Person == 1 {
				return orchestrator.Reply{WaitID: wait.ID, Approve: true, Text: "that one"}, nil
			}
			return orchestrator.Reply{}, orchestrator.ErrSuspended
		}
	}
	var err error
	if w.o, err = orchestrator.New(cfg); err != nil {
		panic(err)
	}
	return w
}

// run makes the run, and says how it ended.
func (w *composed) run() string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.cancel = cancel
	task := orchestrator.Task{Strategy: nodeName(0), Run: "r", Input: w.Input, Limits: w.Limits, Stop: w.stopped}
	var res orchestrator.Result
	if w.Whole {
		res, _ = w.o.Run(ctx, task)
	} else {
		for e := range w.o.Stream(ctx, task) {
			w.see(&e)
			if end, ok := e.Detail.(orchestrator.RunFinished); ok {
				res.Status, res.Output = end.Status, end.Output
			}
		}
		w.seen(res)
	}
	w.judge(res)
	if res.Output.Err != nil {
		return fmt.Sprint(res.Status, " ", res.Output.Err.Code)
	}
	return string(res.Status)
}

// see takes note of an event.
func (w *composed) see(e *orchestrator.Event) {
	if w.ended > 0 {
		w.blame("%s comes after the end", e.Kind)
	}
	w.steps[e.Run] = max(w.steps[e.Run], e.Seq)
	frame := e.Run + " " + e.Frame
	switch d := e.Detail.(type) {
	case orchestrator.FrameEntered:
		w.open = append(w.open, frame)
	case orchestrator.FrameLeft:
		at := slices.Index(w.open, frame)
		if at < 0 {
			w.blame("frame %s is left and was not entered", frame)
			return
		}
		w.open = slices.Delete(w.open, at, at+1)
		w.sound(frame, d.Err)
	case orchestrator.ToolStarted:
		w.started++
	case orchestrator.WaitStarted:
		w.waiting = append(w.waiting, e.Run)
	case orchestrator.RunFinished:
		w.ended++
	default:
	}
	w.last = e
}

// seen holds the events against what has to be in them.
func (w *composed) seen(res orchestrator.Result) {
	if w.ended != 1 || w.last.Kind != orchestrator.EventRunFinished {
		w.blame("there are %d terminal events", w.ended)
	}
	w.open = slices.DeleteFunc(w.open, func(frame string) bool { // an agent whose parent was stopped while it waits
		run, _, _ := strings.Cut(frame, " ")
		return run != "r" && slices.Contains(w.waiting, run)
	})
	if len(w.open) > 0 && res.Status != orchestrator.StatusWaiting {
		w.blame("frames %v are not left", w.open)
	}
	steps := 0
	for _, n := range w.steps {
		steps += n
	}
	if most := w.Limits.Steps; most > 0 && steps > most {
		w.blame("%d steps are taken, and %d is the limit", steps, most)
	}
	if most := w.Limits.ToolCalls; most > 0 && w.started > most {
		w.blame("%d tool calls are started, and %d is the limit", w.started, most)
	}
}

// sound blames an error that is the program's fault.
func (w *composed) sound(where string, err *delegation.Error) {
	switch {
	case err == nil:
	case err.Code == delegation.CodePanic, err.Code == delegation.CodeDefect, strings.Contains(err.Message, "break the laws"):
		w.blame("%s ends with %s: %s", where, err.Code, err.Message)
	}
}

// judge holds the end of the run against the laws.
func (w *composed) judge(res orchestrator.Result) {
	out := res.Output
	w.sound("the run", out.Err)
	if err := out.Messages.Validate(); err != nil {
		w.blame("the output breaks the laws: %v", err)
	}
	if (res.Status == orchestrator.StatusDone) != (out.Err == nil) && res.Status != orchestrator.StatusWaiting {
		w.blame("the run is %s, and its error is %v", res.Status, out.Err)
	}
	if most := w.bound(0); most >= 0 && w.asked > most {
		w.blame("%d requests are made, and the bound is %d", w.asked, most)
	}
	if res.Status != orchestrator.StatusStopped && res.Status != orchestrator.StatusWaiting && w.Stop == 0 && out.Usage != w.usage {
		w.blame("the usage is %+v, and %+v was billed", out.Usage, w.usage)
	}
	w.again(out)
}

// again holds an output against what JSON makes of it.
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
