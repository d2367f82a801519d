package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/orchestrator/runs"
)

// diffRecord is what segue diff found, in the form json.
type diffRecord struct {
	Run      string `json:"run"`
	Same     bool   `json:"same"`
	Worded   bool   `json:"worded"` // the same is asked for in other words
	Record   int    `json:"record,omitempty"`
	Step     int    `json:"step,omitempty"`
	Frame    string `json:"frame,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	Now      string `json:"now,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

func diffCommand(c *cli.CLI) *cobra.Command {
	f := &run.Flags{}
	all := false
	cmd := storeCommand{Command: &cobra.Command{
		Use:   "diff [flags] RUN|--all",
		Short: "Say where a run would decide otherwise today",
		Long: `Diff compares a run with the strategies, prompts and tools of today: those of --config, or of the configuration that the run was
begun with. It shows the first place where they would ask for something else. No model is asked. The exit code is 1 if there
is such a place. RUN is the id of a run, or the beginning of it.

With --all it compares every run that is kept, one after the other, shows the first such place of each, and counts them. A run
that cannot be compared, because its configuration or its folder is not there any more, is named. The exit code is 1 then, too.`,
		Example: `  segue diff --config changed.yaml 019a5c
  segue diff --all --config changed.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) == 0) && len(args) <= 1 {
				return nil
			}
			return errors.New("diff takes one RUN, or --all; see segue diff --help")
		},
	}, reads: f, output: textOrObject, do: diffRun}.command(c)
	cmd.Flags().BoolVar(&all, "all", false, "compare every run that is kept")
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all {
			return diffAll(cmd.Context(), c, f, cmd.Flag("output").Value.String())
		}
		return one(cmd, args)
	}
	return cmd
}

// errDiffers is the exit code of a difference; it was shown.
var errDiffers = cli.Failed(errors.New("the run would decide otherwise"))

// diffRun executes segue diff for one run.
func diffRun(ctx context.Context, at *kept, _ []string) (found, error) {
	d, err := runs.Diff(ctx, at.o, at.key())
	if err != nil {
		return found{}, cli.Failed(err)
	}
	if d != nil {
		err = errDiffers
	}
	r := newDiffRecord(at.key().Run, d)
	return found{r, r.text()}, err
}

func newDiffRecord(run string, d *runs.Difference) diffRecord {
	if d == nil {
		return diffRecord{Run: run, Same: true}
	}
	return diffRecord{
		Run: run, Worded: d.Worded, Record: d.Record, Step: d.Seq, Frame: d.Frame,
		Recorded: d.Recorded.String(), Now: d.Now.String(), Problem: d.Problem,
	}
}

// text shows a difference in some lines.
func (r *diffRecord) text() string {
	if r.Same {
		return "the same is asked for\n"
	}
	how := "something else is asked for"
	if r.Worded {
		how = "the same is asked for in other words"
	}
	text := fmt.Sprintf("record %d, step %d of [%s]: %s\n- %s\n+ %s\n", r.Record, r.Step, r.Frame, how, plaintext.OneLine(r.Recorded), plaintext.OneLine(r.Now))
	if r.Problem != "" {
		text += "  " + plaintext.OneLine(r.Problem) + "\n"
	}
	return text
}
