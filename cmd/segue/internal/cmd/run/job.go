package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/approval"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Job describes a run, with any model.
type Job struct {
	Client     llmclient.Client
	Strategies strategy.Set
	Tools      []tools.Tool
	Files      *workfolder.Folder        // the folder of the tools for files; nil if there is none
	large      orchestrator.LargeResults // what is kept of large results
	Approve    machine.ApprovalPolicy    // for tool calls
	Task       orchestrator.Task
	Models     []string                                                   // the providers' names of the models that may be asked
	Runs       *cli.RunStore                                              // where the run is kept; nil if it is not
	fed        bool                                                       // text from outside came with the task, from standard input
	resume     *orchestrator.Resumption                                   // the run to go on with, instead of the task; nil if there is none
	MCP        MCPTools                                                   // the tools of MCP servers among the tools
	Reply      func(context.Context, machine.Wait) (machine.Reply, error) // answers what the run waits for if nobody is at a terminal; nil: it waits
	Heard      func(machine.Event)                                        // is called for each event before it is shown; nil: nothing is
}

// Close closes what the job has open.
func (j *Job) Close() {
	j.CloseFiles()
	j.Runs.Release()
}

// CloseFiles closes the folder of the job; the store stays open.
func (j *Job) CloseFiles() {
	if j.Files != nil {
		_ = j.Files.Close()
	}
}

// Orchestrator returns the orchestrator of the run. asker is nil if nobody can be asked.
func (j Job) Orchestrator(asker *approval.Asker) (*orchestrator.Orchestrator, error) {
	return orchestrator.New(j.Config(asker))
}

// Config returns what the orchestrator is made with.
func (j Job) Config(asker *approval.Asker) orchestrator.Config {
	cfg := orchestrator.Config{Client: j.Client, Strategies: j.Strategies, Tools: j.Tools, Version: cli.ProgramVersion(), Lease: cli.Lease, LargeResults: j.large, Reply: j.Reply}
	if j.Runs != nil {
		cfg.Store = j.Runs.Store
	}
	policy := j.Policy()
	if asker != nil {
		cfg.Reply = asker.Reply
		policy = asker.UnlessAllowed(policy)
	}
	policy = j.Files.Protect(policy) // wraps all other policies: the user is asked each time about protected files
	cfg.Approve = &orchestrator.ApprovalConfig{
		Default: policy,
		Tools:   j.AsksAnyway(policy),
		Expires: -1, // an approval at a terminal does not expire
	}
	return cfg
}

// Policy returns the policy that judges the calls of the run, before files are protected.
func (j Job) Policy() machine.ApprovalPolicy {
	policy := j.Files.ByPlace(j.Approve)
	if j.fed {
		return afterOutside(policy)
	}
	return policy
}

// afterOutside returns a policy that judges each call as one after text from outside has been read.
func afterOutside(policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	return func(r machine.ApprovalRequest) machine.Verdict {
		r.Untrusted = true
		return policy(r)
	}
}

// Perform makes the run, or goes on with it. It writes progress to s and the output to standard
// output, and returns how the run ended as an error with an exit code.
func Perform(ctx context.Context, c *cli.CLI, j Job, out cli.Output, s *terminal.Screen) error {
	var asker *approval.Asker
	var notes *approval.Notes
	if c.Interactive {
		asker = approval.NewAsker(s, j.Files, c.Keyboard())
		asker.EditWith(c.Getenv, c.Stderr, j.Tools)
		asker.Explain(j.MCP.About)
		notes = asker.TakeNotes(c.Keyboard(), c.Stderr)
	}
	ctx, said, release := cli.Interrupts(ctx, j.Runs != nil, notes.Restore, func() { s.Warn(interrupting(j.Runs)) })
	defer release()
	o, err := j.Orchestrator(asker)
	if err != nil {
		return err
	}
	j.takes(notes.Begin(ctx))
	defer func() { c.Ahead = append(c.Ahead, notes.Ahead()...) }()
	defer notes.End()
	err = Tell(c, inOrder(j.events(ctx, o, s), said, notes.End), j, asker, out, s)
	if out.Verbose {
		s.Show(c.MCP.Said()...)
	}
	if err != nil && cli.HungUp(ctx) {
		return cli.EndedBySignal(ctx) // what could not be written is no failure of the run
	}
	return err
}

// takes has the run take notes from a channel.
func (j *Job) takes(notes <-chan string) {
	j.Task.Notes = notes
	if j.resume != nil {
		how := *j.resume
		how.Notes = notes
		j.resume = &how
	}
}

// inOrder passes events on, and the last one after what comes before it has returned.
func inOrder(events iter.Seq2[machine.Event, error], before ...func()) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		for e, err := range events {
			if e.Kind == machine.EventRunFinished {
				for _, do := range before {
					do()
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Tell shows the events of a run, writes its output, and returns how it ended as an error with an
// exit code.
func Tell(c *cli.CLI, events iter.Seq2[machine.Event, error], j Job, asker *approval.Asker, out cli.Output, s *terminal.Screen) (err error) {
	var run string
	defer s.Clear()
	defer func() {
		if defect := recover(); defect != nil {
			err = defectError(defect, debug.Stack(), run, j, out, s)
		}
	}()
	to := Printer{W: c.Stdout, Form: out.Kind(), Terminal: terminal.IsTerminal(c.Stdout), Live: live(c, out)}
	for e, err := range events {
		if e.Kind == "" {
			return &notBegunError{err}
		}
		run = e.Run
		if asker != nil {
			asker.Observe(e)
		}
		_ = to.Before(s, e) // a terminal that was closed takes nothing; what it lacks is kept
		s.ShowEvent(e)
		written := to.Beside(s, e)
		end, ended := e.Detail.(machine.RunFinished)
		if !ended && written != nil {
			return written
		}
		if ended {
			s.ShowWaits(end.Waits)
			on := WaysOf(j.Runs, e.Run)
			on.Asked, on.Anyway = asker != nil, j.AsksAnyway(nil)
			for _, offer := range on.offers(end.Status) {
				s.ShowProgress(offer)
			}
			j.keepPartial(e.Run, to.cutOff(end), s)
			return cmp.Or(written, Outcome(end, err, j.Files, on))
		}
	}
	return ErrNoEnd
}

// defectError returns the error of a command that broke down while it showed a run. The run was cut
// off there, as by the end of the process.
func defectError(defect any, stack []byte, run string, j Job, out cli.Output, s *terminal.Screen) error {
	if out.Verbose {
		for line := range strings.Lines(string(stack)) {
			s.ShowProgress(plaintext.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	err := fmt.Errorf("this is a defect of segue: %v; with --verbose it says where", defect)
	if on := WaysOf(j.Runs, run); run != "" && on.Resume != "" {
		err = fmt.Errorf("%w; go on with: %s", err, on.Resume)
	}
	return cli.Failed(err)
}

// maxPartial is how much of a partial answer is kept.
const maxPartial = 60 << 10 // with its beginning it is smaller than machine.MaxNote

// keepPartial adds the partial answer of an interrupted run to the run, as a remark: the reply is
// asked for again when the run goes on, and nobody may have read what was written.
func (j Job) keepPartial(run, text string, s *terminal.Screen) {
	if j.Runs == nil || strings.TrimSpace(text) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	note := "an answer broke off here: " + plaintext.Head(text, maxPartial)
	if err := j.Runs.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		return o.Remark(ctx, checkpoint.Key{Run: run}, note)
	}); err != nil {
		s.Warn("the partial answer is not kept: " + plainwords.Line(err))
	}
}

// ErrNoEnd says that the last event of a run is missing.
var ErrNoEnd = cli.Failed(errors.New("the run ended without saying how"))

// events runs the task, or goes on with a run.
func (j Job) events(ctx context.Context, o *orchestrator.Orchestrator, s *terminal.Screen) iter.Seq2[machine.Event, error] {
	if j.resume != nil {
		return takeUp(ctx, j.Runs, o, *j.resume, s)
	}
	return hearing(o.Stream(ctx, j.Task), j.Heard)
}

// Key returns the key of the run that the job is about.
func (j Job) Key() checkpoint.Key { return checkpoint.Key{Run: j.Task.Run} }

// hearing calls heard for each event before it goes on.
func hearing(events iter.Seq2[machine.Event, error], heard func(machine.Event)) iter.Seq2[machine.Event, error] {
	if heard == nil {
		return events
	}
	return func(yield func(machine.Event, error) bool) {
		for e, err := range events {
			if heard(e); !yield(e, err) {
				return
			}
		}
	}
}
