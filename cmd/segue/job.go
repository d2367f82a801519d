package main

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
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approval"
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

// job describes a run, with any model.
type job struct {
	client     llmclient.Client
	strategies strategy.Set
	tools      []tools.Tool
	files      *workfolder.Folder                 // the folder of the tools for files; nil if there is none
	large      orchestrator.LargeResults          // what is kept of large results
	approve    config.ApprovalPolicies            // policies for tool calls
	agents     map[string]config.ApprovalPolicies // policies for calls of agents, by the names of their strategies
	task       orchestrator.Task
	models     []string                                                   // the providers' names of the models that may be asked
	runs       *runStore                                                  // where the run is kept; nil if it is not
	fed        bool                                                       // text from outside came with the task, from standard input
	resume     *orchestrator.Resumption                                   // the run to go on with, instead of the task; nil if there is none
	mcp        mcpTools                                                   // the tools of MCP servers among the tools
	reply      func(context.Context, machine.Wait) (machine.Reply, error) // answers what the run waits for if nobody is at a terminal; nil: it waits
	heard      func(machine.Event)                                        // is called for each event before it is shown; nil: nothing is
}

// close closes what the job has open.
func (j *job) close() {
	if j.files != nil {
		_ = j.files.Close()
	}
	j.runs.close()
}

// lease is how long a run is left alone after its process was last heard of.
const lease = 10 * time.Second

// orchestrator returns the orchestrator of the run. asker is nil if nobody can be asked.
func (j job) orchestrator(asker *approval.Asker) (*orchestrator.Orchestrator, error) {
	cfg := orchestrator.Config{Client: j.client, Strategies: j.strategies, Tools: j.tools, Version: programVersion(), Lease: lease, LargeResults: j.large, Reply: j.reply}
	if j.runs != nil {
		cfg.Store = j.runs.Store
	}
	policy := j.policy()
	if asker != nil {
		cfg.Reply = asker.Reply
		policy = asker.UnlessAllowed(policy)
	}
	policy = j.files.Protect(policy) // wraps all other policies: the user is asked each time about protected files
	cfg.Approve = &orchestrator.ApprovalConfig{
		Default: policy,
		Tools:   j.asksAnyway(policy),
		Expires: -1, // an approval at a terminal does not expire
	}
	return orchestrator.New(cfg)
}

// policy returns the policy that judges the calls of the run, before files are protected.
func (j job) policy() machine.ApprovalPolicy {
	policy := j.files.ByPlace(config.NewApprover(j.approve, j.agents).Policy)
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

// perform makes the run, or goes on with it. It writes progress to s and the output to standard
// output, and returns how the run ended as an error with an exit code.
func (c *cli) perform(ctx context.Context, j job, out output, s *terminal.Screen) error {
	var asker *approval.Asker
	var notes *approval.Notes
	if c.interactive {
		asker = approval.NewAsker(s, j.files, c.keyboard())
		asker.EditWith(c.getenv, c.stderr, j.tools)
		asker.Explain(j.mcp.about)
		notes = asker.TakeNotes(c.keyboard(), c.stderr)
	}
	ctx, said, release := interrupts(ctx, j.runs != nil, notes.Restore, func() { s.Warn(j.runs.interrupting()) })
	defer release()
	o, err := j.orchestrator(asker)
	if err != nil {
		return err
	}
	j.takes(notes.Begin(ctx))
	defer func() { c.ahead = notes.Ahead() }()
	defer notes.End()
	err = c.tell(inOrder(j.events(ctx, o, s), said, notes.End), j, asker, out, s)
	if out.verbose {
		s.Show(c.mcp.said()...)
	}
	if err != nil && hungUp(ctx) {
		return endedBySignal(ctx) // what could not be written is no failure of the run
	}
	return err
}

// takes has the run take notes from a channel.
func (j *job) takes(notes <-chan string) {
	j.task.Notes = notes
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

// tell shows the events of a run, writes its output, and returns how it ended as an error with an
// exit code.
func (c *cli) tell(events iter.Seq2[machine.Event, error], j job, asker *approval.Asker, out output, s *terminal.Screen) (err error) {
	var run string
	defer s.Clear()
	defer func() {
		if defect := recover(); defect != nil {
			err = defectError(defect, debug.Stack(), run, j, out, s)
		}
	}()
	to := printer{w: c.stdout, form: out.kind(), terminal: terminal.IsTerminal(c.stdout), live: c.live(out)}
	for e, err := range events {
		if e.Kind == "" {
			return &notBegunError{err}
		}
		run = e.Run
		if asker != nil {
			asker.Observe(e)
		}
		_ = to.before(s, e) // a terminal that was closed takes nothing; what it lacks is kept
		s.ShowEvent(e)
		written := to.beside(s, e)
		end, ended := e.Detail.(machine.RunFinished)
		if !ended && written != nil {
			return written
		}
		if ended {
			s.ShowWaits(end.Waits)
			on := j.runs.ways(e.Run)
			on.asked, on.anyway = asker != nil, j.asksAnyway(nil)
			for _, offer := range on.offers(end.Status) {
				s.ShowProgress(offer)
			}
			j.keepPartial(e.Run, to.cutOff(end), s)
			return cmp.Or(written, outcome(end, err, j.files, on))
		}
	}
	return errNoEnd
}

// notBegunError says that a run could not be started, or read: nothing has happened.
type notBegunError struct{ err error }

// Error returns the text of the cause.
func (e *notBegunError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *notBegunError) Unwrap() error { return e.err }

// defectError returns the error of a command that broke down while it showed a run. The run was cut
// off there, as by the end of the process.
func defectError(defect any, stack []byte, run string, j job, out output, s *terminal.Screen) error {
	if out.verbose {
		for line := range strings.Lines(string(stack)) {
			s.ShowProgress(plaintext.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	err := fmt.Errorf("this is a defect of segue: %v; with --verbose it says where", defect)
	if on := j.runs.ways(run); run != "" && on.resume != "" {
		err = fmt.Errorf("%w; go on with: %s", err, on.resume)
	}
	return failed(err)
}

// maxPartial is how much of a partial answer is kept.
const maxPartial = 60 << 10 // with its beginning it is smaller than machine.MaxNote

// keepPartial adds the partial answer of an interrupted run to the run, as a remark: the reply is
// asked for again when the run goes on, and nobody may have read what was written.
func (j job) keepPartial(run, text string, s *terminal.Screen) {
	if j.runs == nil || strings.TrimSpace(text) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	note := "an answer broke off here: " + plaintext.Head(text, maxPartial)
	if err := j.runs.post(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		return o.Remark(ctx, checkpoint.Key{Run: run}, note)
	}); err != nil {
		s.Warn("the partial answer is not kept: " + plainwords.Line(err))
	}
}

// errNoEnd says that the last event of a run is missing.
var errNoEnd = failed(errors.New("the run ended without saying how"))

// events runs the task, or goes on with a run.
func (j job) events(ctx context.Context, o *orchestrator.Orchestrator, s *terminal.Screen) iter.Seq2[machine.Event, error] {
	if j.resume != nil {
		return j.runs.takeUp(ctx, o, *j.resume, s)
	}
	return hearing(o.Stream(ctx, j.task), j.heard)
}

// key returns the key of the run that the job is about.
func (j job) key() checkpoint.Key { return checkpoint.Key{Run: j.task.Run} }
