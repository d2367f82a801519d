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
	task       orchestrator.Task
}

// perform makes the run: progress to s, what out asks for to standard output, the end as an error with its exit code.
func (c *cli) perform(ctx context.Context, j job, out output, s *screen) error {
	o, err := orchestrator.New(orchestrator.Config{Client: j.client, Strategies: j.strategies, Tools: j.tools})
	if err != nil {
		return err
	}
	ctx, stop, release := interrupts(ctx, s.say)
	defer release()
	defer s.clear()
	j.task.Stop = stop
	p := printer{w: c.stdout, form: out.kind(), terminal: isTerminal(c.stdout)}
	for e, err := range o.Stream(ctx, j.task) {
		if e.Kind == "" {
			return err // the task could not be started
		}
		s.event(e)
		if p.terminal && p.writes(e) {
			s.clear()
		}
		if err := p.event(e); err != nil {
			return err
		}
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			if end.Status == orchestrator.StatusDone && end.Output.Result == nil {
				s.say("the model gave no answer")
			}
			return outcome(end.Status, err)
		}
	}
	return failed(errors.New("the run ended without saying how"))
}
