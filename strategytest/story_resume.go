package strategytest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// life is the run of a story over all processes that work on it.
type life struct {
	root   string
	trace  *trace
	store  *mortal // that of the last process
	model  *scripted.Client
	waits  map[string]string // the ids of its questions, by the names that the script uses
	status machine.Status    // how the last process left it; "" if it crashed
	at     time.Time         // when the last process ended
}

// mortal is the store of a process that may die: after that, nothing is stored.
type mortal struct {
	store
	dead atomic.Bool
}

var errDead = fmt.Errorf("%w: the process is dead", checkpoint.ErrConflict)

func (s *mortal) isDead() bool { return s.dead.Load() }

// Append implements checkpoint.Store.
func (s *mortal) Append(ctx context.Context, b checkpoint.Batch) error {
	if s.isDead() {
		return errDead
	}
	return s.store.Append(ctx, b)
}

// heir returns the store of the next process, with the same journal.
func (s *mortal) heir(t *testing.T) *mortal {
	t.Helper()
	next := new(mortal)
	s.begun(t, len(s.log), next)
	return next
}

// crash ends the process of a run in a step, as if the process was killed.
type crash struct {
	*life
	where  stop
	cancel context.CancelCauseFunc
	hit    atomic.Bool
}

// first is the outermost middleware: a dead process begins nothing.
func (c *crash) first(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if c.store.isDead() {
			return nil, errDead
		}
		return next(ctx, e)
	}
}

// around is the innermost middleware. It kills the process after a call had its effect, or before a
// model is asked.
func (c *crash) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		at := c.trace.at(e.Frame, e.ID.Seq)
		if e.ID.Index > 1 || !c.where.hits(at) || c.hit.Swap(true) {
			return next(ctx, e)
		}
		if e.Kind == machine.EffectTool {
			_, _ = next(ctx, e) // its result is lost
		}
		synctest.Wait() // for concurrent calls
		c.store.dead.Store(true)
		c.trace.crashed(at)
		c.cancel(errDead)
		return nil, errDead
	}
}

// resume continues the last run in another process.
func (s *story) resume(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	l := s.life
	switch {
	case l == nil:
		d.Fatalf(t, "there is no run to resume")
	case l.status != "" && l.status != machine.StatusWaiting:
		d.Fatalf(t, "the last run has ended")
	}
	how := orchestrator.Resumption{Run: storyID}
	config := s.config(l.root)
	run := storyRun{config: config.Config, notes: s.notes}
	s.notes = nil
	for _, arg := range d.CmdArgs {
		switch {
		case run.flag(t, arg, l.trace):
		case arg.Key == "unknown":
			var what string
			arg.Scan(t, 0, &what)
			how.Unknown = machine.Unknown(what)
		default:
			setLimit(t, d, &how.Limits, arg)
		}
	}
	replies, err := l.replies(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	how.Replies = replies
	if config.refused != "" {
		return config.refused
	}
	if s.replies != nil {
		l.model, s.script = scripted.New(s.replies...), slices.Concat(s.script, s.replies)
		s.replies = nil
	}
	l.status, l.store = "", l.store.heir(t)
	l.trace.root.text.Reset()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(l.at)) // each bubble has a clock of its own
		s.play(t, &run, "not resumed", func(ctx context.Context, o *orchestrator.Orchestrator) iter.Seq2[machine.Event, error] {
			how.Stop, how.Notes = run.task.Stop, run.task.Notes
			return o.Resume(ctx, how)
		})
	})
	return l.trace.root.text.String()
}

// replies reads the input of the command resume.
func (l *life) replies(input string) ([]machine.Reply, error) {
	var list []machine.Reply
	for line := range strings.Lines(input) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		about, text, _ := strings.Cut(rest, " ")
		if verb == "" {
			continue
		}
		r := machine.Reply{WaitID: l.waits[about]}
		switch verb {
		case "approve":
			r.Approve = true
		case "edit":
			if text == "" {
				return nil, fmt.Errorf("edit %s says no arguments", about)
			}
			r.Approve, r.Arguments = true, text
		case "refuse":
			r.Reason = text
		case "answer":
			r.Text = unquote(text)
		default:
			return nil, fmt.Errorf("a reply has no line %q: the lines are approve, edit, refuse and answer", verb)
		}
		if r.WaitID == "" {
			return nil, fmt.Errorf("the run has asked nothing about %q", about)
		}
		list = append(list, r)
	}
	return list, nil
}

// crashed writes that the process died in a step, after the steps that have no answer.
func (tr *trace) crashed(at place) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.waiting()
	tr.root.line(0, "crashed in %s", at)
}

// resumed writes the frames that are open, and prepares the pages of agents and the calls that
// continue.
func (tr *trace) resumed(open []machine.OpenFrame) {
	tr.open, tr.left = tr.left, nil // but those that ended in vain
	tr.root.line(0, "resumed")
	for _, f := range open {
		at := tr.in(f.Frame)
		p := tr.pages[at.agent]
		if f.CallID != "" {
			p.text.Reset()
			by := tr.step(parent(f.Frame), tr.agents[f.Frame].by)
			by.agents = append(by.agents, p)
		}
		state := ""
		if f.State != "" {
			state = ": " + string(f.State)
		}
		tr.root.line(strings.Count(f.Frame, ".")+1, "%s%s %s%s", p.name, at.frame, f.Strategy, state)
	}
}

// nameOf returns the name of a question in scripts: that of its call, or of its step.
func (tr *trace) nameOf(w *machine.Wait) string {
	at := tr.at(w.Frame, w.Seq)
	switch {
	case w.CallID == "":
		return at.String()
	case at.agent != "":
		return at.agent + "/" + w.CallID
	default:
		return w.CallID
	}
}
