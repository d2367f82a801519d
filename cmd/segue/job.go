package main

import (
	"context"
	"errors"

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
}

// orchestrator returns the orchestrator of the run. asker is nil if nobody can be asked. The caller
// must pass the events of the run to the approver.
func (j job) orchestrator(asker *approval.Asker) (*orchestrator.Orchestrator, *config.Approver, error) {
	cfg := orchestrator.Config{Client: j.client, Strategies: j.strategies, Tools: j.tools}
	approver := config.NewApprover(j.approve, j.agents)
	policy := approver.Policy
	if asker != nil {
		cfg.Reply = asker.Reply
		policy = asker.UnlessAllowed(policy)
	}
	cfg.Approve = &orchestrator.ApprovalConfig{
		Default: j.files.Protect(policy), // wraps all other policies: the user is asked each time about protected files
		Expires: -1,                      // an approval at a terminal does not expire
	}
	o, err := orchestrator.New(cfg)
	return o, approver, err
}

// perform makes the run. It writes progress to s and the output to standard output, and returns how
// the run ended as an error with an exit code.
func (c *cli) perform(ctx context.Context, j job, out output, s *terminal.Screen) error {
	ctx, stop, release := interrupts(ctx, s.Warn)
	defer release()
	var asker *approval.Asker
	if c.interactive {
		asker = approval.NewAsker(s, j.files, c.stdin, stop)
	}
	o, approver, err := j.orchestrator(asker)
	if err != nil {
		return err
	}
	defer s.Clear()
	j.task.Stop = stop
	to := printer{w: c.stdout, form: out.kind(), terminal: terminal.IsTerminal(c.stdout)}
	for e, err := range o.Stream(ctx, j.task) {
		if e.Kind == "" {
			return err // the task could not be started
		}
		approver.Observe(e)
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
			return outcome(end, err, j.files)
		}
	}
	return failed(errors.New("the run ended without saying how"))
}
