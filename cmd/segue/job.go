package main

import (
	"context"
	"errors"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// job is a run to make, whoever the model is.
type job struct {
	client     llmclient.Client
	strategies strategy.Set
	tools      []tools.Tool
	files      *workFolder          // that tools are for; nil if there is none
	approve    approvals            // of tool calls
	agents     map[string]approvals // of those of agents, by their strategies
	task       orchestrator.Task
}

// orchestrator returns what makes the run, with p at the terminal; nil is nobody. The judge is to
// hear the events of the run.
func (j job) orchestrator(p *person) (*orchestrator.Orchestrator, *judge, error) {
	cfg := orchestrator.Config{Client: j.client, Strategies: j.strategies, Tools: j.tools}
	by := newJudge(j.approve, j.agents)
	policy := by.policy
	if p != nil {
		cfg.Reply = p.reply
		policy = p.unlessAllowed(policy)
	}
	cfg.Approve = &orchestrator.ApprovalConfig{
		Default: j.files.protect(policy), // around whatever else is said: protected files are asked about each time
		Expires: -1,                      // somebody at a terminal may take as long as it takes
	}
	o, err := orchestrator.New(cfg)
	return o, by, err
}

// perform makes the run: progress to s, what out asks for to standard output, the end as an error
// with its exit code.
func (c *cli) perform(ctx context.Context, j job, out output, s *screen) error {
	ctx, stop, release := interrupts(ctx, s.say)
	defer release()
	var p *person
	if c.interactive {
		p = newPerson(s, j.files, c.stdin, stop)
	}
	o, by, err := j.orchestrator(p)
	if err != nil {
		return err
	}
	defer s.clear()
	j.task.Stop = stop
	to := printer{w: c.stdout, form: out.kind(), terminal: isTerminal(c.stdout)}
	for e, err := range o.Stream(ctx, j.task) {
		if e.Kind == "" {
			return err // the task could not be started
		}
		by.hear(e)
		if p != nil {
			p.hear(e)
		}
		s.event(e)
		if err := to.beside(s, e); err != nil {
			return err
		}
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			if end.Status == orchestrator.StatusDone && end.Output.Result == nil {
				s.say("the model gave no answer")
			}
			s.waits(end.Waits)
			return outcome(end, err, j.files)
		}
	}
	return failed(errors.New("the run ended without saying how"))
}
