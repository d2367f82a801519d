package crash

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Case is a run to cut off. Config and Task are required.
type Case struct {
	// Config returns what each process works with, made anew for each: what lives in it dies with
	// the process. Client is asked in the first run alone, in which one branch works after the
	// other; so a script has its replies in that order. Tools are called in every run. What they
	// answer follows from their arguments, their idempotency key aside.
	//
	// Store, Reply and Lease are the kit's; Middleware and Remote must be empty. The run must not
	// reach a limit. A policy for approvals must not look at the Seq of a request, nor at its
	// Frame.
	Config func() orchestrator.Config

	Task orchestrator.Task // Run is "run" if it is ""; Stop is left out

	// Person answers what the run waits for, the same each time. Nil approves every call, answers a
	// question by its first option, or "yes", and has calls made again that may have had their
	// effect.
	Person func(machine.Wait) machine.Reply

	Reset func()       // is called before each run; nil: nothing has to be reset
	Check func() error // is called after each run in which nobody was asked about a call that may have had its effect; nil: nothing to check

	Pairs int    // how many runs are cut off twice, at most; 0: 300
	Seed  uint64 // which of them, where there are more

	reader *tools.Definition // of the tool that reads large results; nil: there is none

	broken func(checkpoint.Store) checkpoint.Store // what tests make of the store
	senses senses                                  // what tests make of what the kit sees
	off    law                                     // what is not checked, in tests of the laws
	every  int                                     // which boundaries are tried, in tests that have little time: the first of so many
}

// mostProblems is how many problems are looked for.
const mostProblems = 10

// Test fails t unless the run ends as it should wherever it is cut off; see the package. What was
// tried is logged.
func Test(t *testing.T, c Case) {
	t.Helper()
	r := Try(t, c)
	if len(r.Problems) > 0 {
		t.Errorf("crash: %s", &r)
		return
	}
	t.Logf("crash: %s", &r)
}

// Try is [Test] for whoever wants to look at the report. It fails t only if a run hangs, or if the
// Case cannot be tried.
func Try(t *testing.T, c Case) Report {
	t.Helper()
	c.Task.Run, c.Task.Stop = cmp.Or(c.Task.Run, "run"), nil
	e := explorer{t: t, c: &c, most: cmp.Or(c.Pairs, 300), script: new(script)}
	e.report.Seed = c.Seed
	if err := c.check(); err != nil {
		t.Fatalf("crash: %v", err)
	}
	cfg, err := c.Config(), error(nil)
	if c.reader, err = readerOf(&cfg); err != nil {
		t.Fatalf("crash: %v", err)
	}
	if e.ask(); len(e.report.Problems) > 0 {
		return e.report
	}
	whole := e.play(plan{})
	for _, kind := range whole.kinds {
		e.report.tried(kind).Boundaries++
	}
	if e.report.Boundaries = len(whole.passed[0]); len(e.report.Problems) > 0 {
		return e.report // it is another run already
	}
	e.cut(whole, false)
	e.freeze(whole)
	if whole.waited {
		e.cut(e.play(plan{apart: true}), true)
	}
	e.cutTwice()
	return e.report
}

// check says why a case cannot be tried.
func (c *Case) check() error {
	if c.Config == nil {
		return errors.New("Case.Config is nil: it has to return a Config for each process")
	}
	cfg := c.Config()
	switch {
	case cfg.Store != nil:
		return errors.New("Case.Config has a Store: the kit has one of its own")
	case len(cfg.Middleware) > 0:
		return errors.New("Case.Config has Middleware: the kit has its own")
	case len(cfg.Remote) > 0:
		return errors.New("Case.Config has a Remote, which cannot be cut off")
	}
	return nil
}

// reply has a person answer.
func (c *Case) reply(w machine.Wait) machine.Reply {
	if c.Person != nil {
		return c.Person(w)
	}
	r := machine.Reply{Approve: true}
	if w.Kind != machine.WaitApproval && w.Kind != machine.WaitUnknown {
		if r.Text = "yes"; len(w.Options) > 0 {
			r.Text = w.Options[0]
		}
	}
	return r
}

// explorer cuts a run off, everywhere.
type explorer struct {
	t      *testing.T
	c      *Case
	most   int
	script *script
	want   expected
	pairs  []plan // the runs that are cut off twice
	report Report
}

// expected is what the run comes to that is not cut off.
type expected struct {
	status   machine.Status
	output   string
	kept     map[string]string // large results, by id
	happened history
}

// ask makes the first run, which is not cut off, and in which the model is asked. What it comes to
// is what the others must come to.
func (e *explorer) ask() {
	e.t.Helper()
	e.reset()
	w := newWorld(e.c, e.script, plan{first: true})
	synctest.Test(e.t, func(t *testing.T) {
		ctx := context.Background()
		end := w.play(ctx)
		if end.refused != nil {
			t.Fatalf("crash: the run cannot be made: %v", end.refused)
		}
		for _, problem := range w.check(ctx, &end, nil) {
			e.report.Problems = append(e.report.Problems, Problem{Where: "the first run", What: problem})
		}
		m := w.journal.machine
		e.want = expected{status: m.Status(), output: textOf(m.Output()), kept: w.kept(ctx), happened: w.journal.happened}
		e.report.Status, e.report.Output = e.want.status, m.Output()
	})
}

func (e *explorer) reset() {
	if e.c.Reset != nil {
		e.c.Reset()
	}
}

// play makes a run, and keeps what is wrong with it.
func (e *explorer) play(p plan) *world {
	e.t.Helper()
	e.reset()
	w := newWorld(e.c, e.script, p)
	synctest.Test(e.t, func(*testing.T) {
		ctx := context.Background()
		end := w.play(ctx)
		w.wake()
		for _, problem := range w.check(ctx, &end, &e.want) {
			e.report.Problems = append(e.report.Problems, Problem{Where: w.title(), What: problem})
		}
	})
	return w
}

// cut cuts the run off at each boundary. What the process that goes on finds is often the same; the
// second cuts are made once for each.
func (e *explorer) cut(whole *world, apart bool) {
	e.t.Helper()
	known := map[string]bool{}
	for at := 1; at <= len(whole.passed[0]) && len(e.report.Problems) < mostProblems; at += max(1, e.c.every) {
		kind := whole.kinds[at-1]
		w := e.play(plan{cuts: []int{at}, kind: kind, apart: apart})
		e.report.tried(kind).Cuts++
		e.report.Cuts++
		if w.unknown {
			e.play(plan{cuts: []int{at}, apart: apart, denies: true})
			e.report.Denied++
		}
		found := w.begunAt + strings.Join(w.passed[1], "\n")
		if known[found] {
			continue
		}
		known[found] = true
		for second := range w.passed[1] {
			e.pairs = append(e.pairs, plan{cuts: []int{at, second + 1}, kind: kind, apart: apart})
		}
	}
}

// freeze freezes the process at each boundary, until another one has ended the run.
func (e *explorer) freeze(whole *world) {
	e.t.Helper()
	for at := 1; at <= len(whole.passed[0]) && len(e.report.Problems) < mostProblems; at += max(1, e.c.every) {
		e.play(plan{cuts: []int{at}, freezes: true})
		e.report.tried(whole.kinds[at-1]).Frozen++
		e.report.Frozen++
	}
}

// cutTwice cuts runs off that go on, all of them or some.
func (e *explorer) cutTwice() {
	e.t.Helper()
	e.report.AllPairs = len(e.pairs)
	if len(e.pairs) > e.most {
		r := rand.New(rand.NewPCG(e.c.Seed, 1))
		r.Shuffle(len(e.pairs), func(i, j int) { e.pairs[i], e.pairs[j] = e.pairs[j], e.pairs[i] })
		e.pairs = slices.Clone(e.pairs[:e.most])
	}
	for _, p := range e.pairs {
		if len(e.report.Problems) >= mostProblems {
			return
		}
		e.play(p)
		e.report.tried(p.kind).Pairs++
		e.report.Pairs++
	}
}
