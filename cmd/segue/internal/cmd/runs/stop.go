package runs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/orchestrator"
)

// stopRecord is what segue stop did, in the form json.
type stopRecord struct {
	Run    string `json:"run"`
	Status string `json:"status"` // as it was
	Ended  bool   `json:"ended"`  // it had ended before: nothing was done
	AtWork bool   `json:"at_work"`
}

func stopCommand(c *cli.CLI) *cobra.Command {
	var reason string
	now := false
	s := storeCommand{Command: &cobra.Command{
		Use:   "stop [flags] RUN",
		Short: "End a run for good, from any process",
		Long: `Stop ends a run: after the step in progress, or at once with --now. The run cannot go on then. If a process works on it,
that process ends it within a second or so; otherwise the run ends when segue resume takes it up.
RUN is the id of a run, or the beginning of it.`,
	}, output: textOrObject, statuses: run.OpenStatuses, do: func(ctx context.Context, at *kept, _ []string) (found, error) {
		if err := at.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
			return o.Stop(ctx, at.key(), reason, now)
		}); err != nil {
			return found{}, cli.Failed(err)
		}
		status, atWork := cli.StatusOf(&at.head, time.Now()), cli.AtWork(&at.head, time.Now())
		r := stopRecord{at.key().Run, status, at.head.Header.Status.Ended(), atWork}
		switch {
		case r.Ended:
			return found{r, "the run had ended already (" + r.Status + ")\n"}, nil
		case r.AtWork:
			return found{r, "the process that works on the run ends it in a moment\n"}, nil
		default:
			return found{r, "nobody works on the run: it ends when it is taken up, with: " + at.again("resume") + "\n"}, nil
		}
	}}
	s.Flags().BoolVar(&now, "now", false, "do not wait for the step in progress")
	s.Flags().StringVar(&reason, "reason", "", "why; it is kept with the run")
	return s.command(c)
}
