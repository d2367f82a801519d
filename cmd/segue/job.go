package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approval"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/llmclient"
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
	approve    config.ApprovalPolicies            // policies for tool calls
	agents     map[string]config.ApprovalPolicies // policies for calls of agents, by the names of their strategies
	task       orchestrator.Task
	runs       *runStore                               // where the run is kept; nil if it is not
	wrap       func(checkpoint.Store) checkpoint.Store // around the store of the runs; nil: nothing is
	fed        bool                                    // text from outside came with the task, from standard input
	resume     *orchestrator.Resumption                // the run to go on with, instead of the task; nil if there is none
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
	cfg := orchestrator.Config{Client: j.client, Strategies: j.strategies, Tools: j.tools, Version: programVersion(), Lease: lease}
	if j.runs != nil {
		cfg.Store = j.runs.Store
		if j.wrap != nil {
			cfg.Store = j.wrap(j.runs.Store)
		}
	}
	policy := config.NewApprover(j.approve, j.agents).Policy
	if j.fed {
		policy = afterOutside(policy)
	}
	if asker != nil {
		cfg.Reply = asker.Reply
		policy = asker.UnlessAllowed(policy)
	}
	cfg.Approve = &orchestrator.ApprovalConfig{
		Default: j.files.Protect(policy), // wraps all other policies: the user is asked each time about protected files
		Expires: -1,                      // an approval at a terminal does not expire
	}
	return orchestrator.New(cfg)
}

// afterOutside returns a policy that judges each call as one after text from outside has been read.
func afterOutside(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		r.Untrusted = true
		return policy(r)
	}
}

// perform makes the run, or goes on with it. It writes progress to s and the output to standard
// output, and returns how the run ended as an error with an exit code.
func (c *cli) perform(ctx context.Context, j job, out output, s *terminal.Screen) error {
	ctx, stop, release := interrupts(ctx, j.runs != nil, s.Warn)
	defer release()
	var asker *approval.Asker
	if c.interactive {
		asker = approval.NewAsker(s, j.files, c.keyboard(), stop)
	}
	o, err := j.orchestrator(asker)
	if err != nil {
		return err
	}
	return c.tell(j.events(ctx, o, stop, s), j, asker, out, s)
}

// tell shows the events of a run, writes its output, and returns how it ended as an error with an
// exit code.
func (c *cli) tell(events iter.Seq2[orchestrator.Event, error], j job, asker *approval.Asker, out output, s *terminal.Screen) error {
	defer s.Clear()
	to := printer{w: c.stdout, form: out.kind(), terminal: terminal.IsTerminal(c.stdout)}
	for e, err := range events {
		if e.Kind == "" {
			return &notBegunError{err}
		}
		if asker != nil {
			asker.Observe(e)
		}
		s.ShowEvent(e)
		if err := to.beside(s, e); err != nil {
			return err
		}
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			if end.Status == orchestrator.StatusDone && end.Output.Result == nil {
				s.Warn("the model gave no answer")
			}
			s.ShowWaits(end.Waits)
			on := j.runs.ways(e.Run)
			on.asked = asker != nil
			return outcome(end, err, j.files, on)
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

// errNoEnd says that the last event of a run is missing.
var errNoEnd = failed(errors.New("the run ended without saying how"))

// events runs the task, or goes on with a run.
func (j job) events(ctx context.Context, o *orchestrator.Orchestrator, stop <-chan struct{}, s *terminal.Screen) iter.Seq2[orchestrator.Event, error] {
	if j.resume != nil {
		j.resume.Stop = stop
		return j.runs.takeUp(ctx, o, *j.resume, s)
	}
	j.task.Stop = stop
	return o.Stream(ctx, j.task)
}

// key returns the key of the run that the job is about.
func (j job) key() checkpoint.Key { return checkpoint.Key{Run: j.task.Run} }
