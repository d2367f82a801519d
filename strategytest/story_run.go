package strategytest

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// storyRun is a run that a script requests, or that it continues.
type storyRun struct {
	config orchestrator.Config // without a Client
	task   orchestrator.Task
	script []scripted.Reply
	stop   stop
	crash  string // where it crashes, as in stop.where
	notes  []storyNote
}

// flag reads a flag that run and resume have in common, and reports whether it is one.
func (r *storyRun) flag(t *testing.T, arg datadriven.CmdArg, tr *trace) bool {
	t.Helper()
	switch arg.Key {
	case "deltas":
		tr.deltas = true
	case "brief":
		tr.brief = true
	case "stop", "stop-now":
		r.stop.now = arg.Key == "stop-now"
		arg.Scan(t, 0, &r.stop.where)
	case "crash":
		arg.Scan(t, 0, &r.crash)
	default:
		return false
	}
	return true
}

// run executes a run, and removes its script.
func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: run STRATEGY [history=last] [replies=last] [data=JSON] [deltas] [brief] [stop=WHERE] [stop-now=WHERE] [crash=WHERE]")
	}
	root, in := d.CmdArgs[0].Key, delegation.Input{Goal: strings.TrimSpace(d.Input)}
	var run storyRun
	tr := newTrace(newPlaces())
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "history":
			in.Messages = s.last
		case "data":
			in.Data = json.RawMessage(strings.Join(arg.Vals, ","))
		case "replies":
			s.replies = s.script
		default:
			if !run.flag(t, arg, tr) {
				d.Fatalf(t, "a run has no flag %q", arg.Key)
			}
		}
	}
	run.script = s.replies
	config := s.config(root)
	run.config = config.Config
	run.notes, s.notes = s.notes, nil
	run.task = orchestrator.Task{Strategy: root, Run: storyID, Input: in}
	if config.refused != "" {
		return config.refused
	}
	s.life = &life{root: root, trace: tr, store: new(mortal), model: scripted.New(run.script...), waits: map[string]string{}}
	synctest.Test(t, func(t *testing.T) {
		if s.before != nil {
			s.before(t, &run)
		}
		s.play(t, &run, "not started", func(ctx context.Context, o *orchestrator.Orchestrator) iter.Seq2[machine.Event, error] {
			return o.Stream(ctx, run.task)
		})
	})
	s.replies, s.script = nil, run.script
	return tr.root.text.String()
}

// configured is what a process of the script works with.
type configured struct {
	orchestrator.Config

	refused string // the error of orchestrator.New in the form of a story; "" if there is none
}

// config returns what a process works with whose run begins with root.
func (s *story) config(root string) *configured {
	if c := s.configs[root]; c != nil {
		return c
	}
	c := &configured{Config: orchestrator.Config{
		Strategies: needed(s.set, root, s.tools), Tools: slices.Clone(s.tools), Limits: s.limits, LargeResults: s.large, InboxEvery: -1, Lease: 24 * time.Hour,
	}}
	again := c.Config
	again.Client = scripted.New()
	if _, err := orchestrator.New(again); err != nil {
		c.refused = "refused: " + err.Error() + "\n"
	}
	if s.configs == nil {
		s.configs = map[string]*configured{}
	}
	s.configs[root] = c
	return c
}

// storyID is the id of every run.
const storyID = "story"

// play has a process execute the run that begin begins, and writes it as text.
func (s *story) play(t *testing.T, run *storyRun, refused string, begin func(context.Context, *orchestrator.Orchestrator) iter.Seq2[machine.Event, error]) {
	t.Helper()
	l, tr := s.life, s.life.trace
	ctx, stops := newStopper(t.Context(), run.stop, tr.places)
	defer stops.cancel(nil)
	c := crash{where: stop{where: run.crash}, life: l, cancel: stops.cancel}
	run.config.Client, run.config.Store = l.model, l.store
	said := newNotes(run.notes, tr.places)
	run.config.Middleware = []orchestrator.Middleware{c.first, tr.around, said.around, stops.around, c.around}
	run.task.Stop, run.task.Notes = stops.asked, said.channel
	o, err := orchestrator.New(run.config)
	require.NoError(t, err)
	for e, err := range begin(ctx, o) {
		if l.store.isDead() {
			continue // nobody hears of it
		}
		if e.Kind == "" {
			tr.root.line(0, "%s: %v", refused, err)
			return
		}
		s.covered.Add(e)
		caller, begins := tr.places.event(&e)
		tr.event(e, begins)
		if begins && stops.hits(caller) {
			stops.request(spot{agent: e.Frame})
		}
		switch d := e.Detail.(type) {
		case machine.WaitStarted:
			l.waits[tr.nameOf(&d.Wait)] = d.Wait.ID
		case machine.RunFinished:
			s.last, l.status = d.Output.Messages, d.Status
			require.NoError(t, s.last.Validate(), "the history of every run obeys the laws")
		}
	}
	l.at = time.Now()
	require.Empty(t, tr.departed, "providers bill such a request in full")
	if left := l.model.Remaining(); left > 0 && l.status != "" && l.status != machine.StatusWaiting {
		tr.root.line(0, "(the model had %d replies left)", left)
	}
	if run.stop.where != "" && !stops.made() {
		tr.root.line(0, "(it was not stopped: there is no %s)", run.stop.where)
	}
	for _, where := range said.left() {
		tr.root.line(0, "(a note was not made: there is no %s)", where)
	}
	if run.crash != "" && !l.store.isDead() {
		tr.root.line(0, "(it did not crash: %s asks no model and calls no tool)", run.crash)
	}
}

// needed returns the strategies of a set that can be used with the tools of one story. The story
// rarely has the tools of all strategies. A strategy that names a missing tool or strategy is left
// out, unless the run or an agent begins with it, or one of these delegates to it.
func needed(set strategy.Set, root string, list []tools.Tool) strategy.Set {
	keep := map[string]bool{}
	due := []string{root}
	known := map[string]bool{}
	for _, t := range list {
		known[t.Definition().Name] = true
		if a := machine.AgentOf(t); a != nil {
			due = append(due, a.Strategy)
		}
	}
	for ; len(due) > 0; due = due[1:] {
		if name := due[0]; !keep[name] && set[name] != nil {
			keep[name] = true
			due = append(due, childrenOf(set, name)...)
		}
	}
	kept := maps.Clone(set)
	for before := -1; before != len(kept); { // until no other becomes unusable
		before = len(kept)
		maps.DeleteFunc(kept, func(name string, _ func() strategy.Strategy) bool {
			return !keep[name] && namesMissing(kept, name, known)
		})
	}
	return kept
}

// namesMissing reports whether a strategy names a missing tool or strategy.
func namesMissing(set strategy.Set, name string, known map[string]bool) bool {
	if slices.ContainsFunc(childrenOf(set, name), func(child string) bool { return set[child] == nil }) {
		return true
	}
	return slices.ContainsFunc(strategy.NamesOf(made(set, name)).Tools, func(tool string) bool { return !known[tool] })
}

func childrenOf(set strategy.Set, name string) []string {
	names := strategy.NamesOf(made(set, name))
	return slices.Concat(names.Children, names.Handoffs)
}

// made returns a strategy, or nil if it cannot be made; the story will report that.
func made(set strategy.Set, name string) (st strategy.Strategy) {
	defer func() {
		if recover() != nil {
			st = nil
		}
	}()
	st, _ = set.New(name)
	return st
}
