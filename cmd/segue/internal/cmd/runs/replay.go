package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
)

func replayCommand(c *cli.CLI) *cobra.Command {
	f := &run.Flags{}
	s := storeCommand{Command: &cobra.Command{
		Use:   "replay [flags] RUN",
		Short: "Show again what happened in a run: no model, no tools",
		Long: `Replay makes the events of a run again from what is kept of it, and shows them as segue run does, its output included. No model
is asked, no tool is called, nothing is changed. It uses the strategies that the run was begun with. What came in pieces, such
as an answer while it was written, is not kept. RUN is the id of a run, or the beginning of it.`,
	}, reads: f, do: func(ctx context.Context, at *kept, _ []string) (found, error) {
		screen := c.Screen(f.Out)
		err := run.Tell(c, at.o.Replay(ctx, at.key()), at.job, nil, f.Out, screen)
		if errors.Is(err, run.ErrNoEnd) { // it has not ended
			screen.ShowProgress("the run has not ended")
			err = nil
		}
		return found{}, err
	}}
	f.Out.Flags(s.Command)
	return s.command(c)
}
