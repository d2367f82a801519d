package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// pruneFlags are the flags of segue prune.
type pruneFlags struct {
	store cli.StoreFlag
	form  cli.Choice
	older string
	open  bool
	dry   bool
}

// pruneRecord is what segue prune did, in the form json.
type pruneRecord struct {
	Deleted int      `json:"deleted"` // how many runs were deleted; with --dry-run none
	Runs    []string `json:"runs"`    // their ids, or those of the runs that would be deleted
	DryRun  bool     `json:"dry_run"`
}

func pruneCommand(c *cli.CLI) *cobra.Command {
	f := &pruneFlags{form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "prune --older AGE",
		Short: "Delete old runs, and what the file has left of them",
		Long: `Prune deletes the runs that ended longer ago than AGE, such as 12h, 30d or 8w, and all traces of them in the file. With
--unfinished it also deletes runs that have not ended and have had no step for so long: runs that wait, were interrupted, or could
not go on. It deletes no run that a process works on, or that an answer was posted to.

Even without prune, segue run deletes runs 30 days after their end; store.keep in your own segue.yaml says another age.`,
		Example: `  segue prune --older 7d
  segue prune --older 90d --unfinished --dry-run`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), c, f) },
	}
	cmd.Flags().StringVar(&f.older, "older", "", "delete runs of this `AGE` and older")
	cmd.Flags().BoolVar(&f.open, "unfinished", false, "delete runs that have not ended as well")
	cmd.Flags().BoolVarP(&f.dry, "dry-run", "n", false, "delete nothing, and say what would be deleted")
	f.form.Offer(cmd, "output", "a text to read, or a JSON object")
	f.store.Offer(cmd)
	return cmd
}

// runPrune executes segue prune.
func runPrune(ctx context.Context, c *cli.CLI, f *pruneFlags) error {
	if f.older == "" {
		return errors.New("say from which age on runs are deleted, such as --older 30d")
	}
	age, err := age.Parse(f.older)
	if err != nil {
		return fmt.Errorf("--older %s: %w", plaintext.Visible(f.older), err)
	}
	record := pruneRecord{Runs: []string{}, DryRun: f.dry}
	st, err := c.OpenRuns(ctx, &f.store)
	if errors.Is(err, cli.ErrNoRuns) {
		return c.Print(f.form.Value, record, record.text())
	}
	if err != nil {
		return err
	}
	defer st.Release()
	age = max(age, time.Nanosecond) // 0 would delete nothing
	r := checkpoint.Retention{Ended: age, Keep: func(h checkpoint.Head) bool {
		record.Runs = append(record.Runs, h.Key.Run)
		return f.dry
	}}
	if f.open {
		r.Waiting, r.Parked, r.Abandoned = age, age, age
	}
	if record.Deleted, err = checkpoint.Prune(ctx, st.Store, r); record.Deleted > 0 {
		err = errors.Join(err, st.Vacuum(ctx))
	}
	if err != nil {
		return cli.Failed(fmt.Errorf("%s deleted: %w", plaintext.Counted(record.Deleted, "run"), err))
	}
	return c.Print(f.form.Value, record, record.text())
}

// text says what was deleted.
func (r *pruneRecord) text() string {
	if !r.DryRun {
		return plaintext.Counted(r.Deleted, "run") + " deleted\n"
	}
	var text strings.Builder
	for _, run := range r.Runs {
		text.WriteString(plaintext.Visible(run) + "\n")
	}
	return text.String() + plaintext.Counted(len(r.Runs), "run") + " would be deleted\n"
}
