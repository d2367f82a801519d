package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/orchestrator"
)

// stopRecord is what segue stop did, in the form json.
type stopRecord struct {
	Run    string `json:"run"`
	Status string `json:"status"` // as it was
	Ended  bool   `json:"ended"`  // it had ended before: nothing was done
	AtWork bool   `json:"at_work"`
}

func (c *cli) stopCommand() *cobra.Command {
	var store storeFlag
	var reason string
	now, form := false, oneOf(formText, formJSON)
	cmd := &cobra.Command{
		Use:   "stop [flags] RUN",
		Short: "End a run for good, from any process",
		Long: `Stop ends a run: after the step in progress, or at once with --now. The run cannot go on then. If a process works on it,
that process ends it within a second or so; otherwise the run ends when segue resume takes it up.
RUN is the id of a run, or the beginning of it.`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			st, err := c.openRuns(ctx, &store)
			if err != nil {
				return err
			}
			defer st.close()
			head, err := st.find(ctx, args[0])
			if err != nil {
				return err
			}
			if err := st.post(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
				return o.Stop(ctx, head.Key, reason, now)
			}); err != nil {
				return failed(err)
			}
			at := time.Now()
			return c.showStop(&stopRecord{head.Key.Run, statusOf(&head, at), head.Header.Status.Ended(), atWork(&head, at)}, form.value, st)
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for the step in progress")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept with the run")
	form.offer(cmd, "output", "a text to read, or a JSON object")
	store.offer(cmd)
	cmd.ValidArgsFunction = c.completeRuns(&store, checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusParked)
	return cmd
}

// showStop says what comes of a stop.
func (c *cli) showStop(r *stopRecord, form string, st *runStore) error {
	switch {
	case form == formJSON:
		return encode(c.stdout, r)
	case r.Ended:
		return write(c.stdout, "the run had ended already ("+r.Status+")\n")
	case r.AtWork:
		return write(c.stdout, "the process that works on the run ends it in a moment\n")
	default:
		return write(c.stdout, "nobody works on the run: it ends when it is taken up, with: "+st.command("resume", r.Run)+"\n")
	}
}
