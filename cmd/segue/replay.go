package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/orchestrator"
)

// offerReading adds the flags of commands that read a run with the strategies that it was begun
// with.
func (f *runFlags) offerReading(cmd *cobra.Command, c *cli) {
	f.strategy, f.approve, f.reads = oneOf(strategies.Words()...), oneOf(config.ApprovalWords...), true
	cmd.Flags().StringVar(&f.config, "config", "", "the configuration (default that of the run)")
	f.store.offer(cmd)
	f.given = cmd.Flags().Changed
	cmd.ValidArgsFunction = c.completeRuns(&f.store)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
}

// reading opens the run that a command reads, and makes an orchestrator that asks no model. The job
// must be closed.
func (c *cli) reading(ctx context.Context, f *runFlags, run string, s *terminal.Screen) (j job, o *orchestrator.Orchestrator, err error) {
	j.runs, err = c.openRuns(ctx, &f.store)
	if err != nil {
		return j, nil, err
	}
	head, err := j.runs.find(ctx, run)
	if err != nil {
		return j, nil, err
	}
	made, err := c.jobAgain(ctx, f, j.runs, head.Key, s)
	if err != nil {
		return j, nil, err
	}
	made.task.Run = head.Key.Run
	o, err = made.orchestrator(nil)
	return made, o, err
}

func (c *cli) replayCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "replay [flags] RUN",
		Short: "Show again what happened in a run: no model, no tools",
		Long: `Replay makes the events of a run again from what is kept of it, and shows them as segue run does, its output included. No model
is asked, no tool is called, nothing is changed. It uses the strategies that the run was begun with. What came in pieces, such
as an answer while it was written, is not kept. RUN is the id of a run, or the beginning of it.`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := c.screen(f.out)
			j, o, err := c.reading(cmd.Context(), f, args[0], s)
			defer func() { j.close() }()
			if err != nil {
				return err
			}
			err = c.tell(o.Replay(cmd.Context(), j.key()), j, nil, f.out, s)
			if errors.Is(err, errNoEnd) { // it has not ended
				s.ShowProgress("the run has not ended")
				return nil
			}
			return err
		},
	}
	f.offerReading(cmd, c)
	f.out.flags(cmd)
	return cmd
}
