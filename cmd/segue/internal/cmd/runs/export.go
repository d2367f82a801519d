package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// exportRecord is what segue export --to wrote, in the form json.
type exportRecord struct {
	Run     string `json:"run"`
	File    string `json:"file"`
	Records int    `json:"records"` // at least so many; a run at work may have got more
}

func exportCommand(c *cli.CLI) *cobra.Command {
	var file string
	s := storeCommand{Command: &cobra.Command{
		Use:   "export [flags] RUN",
		Short: "Write a run as one JSON file",
		Long: `Export writes all that is kept of a run as one JSON object: prompts, replies, arguments and results of tools, and what is secret
in them. segue import reads it. segue forget does not reach it. RUN is the id of a run, or the beginning of it.

With --to the run is written to a file; with --output json as well, a JSON object on standard output says which.`,
		Example: `  segue export --to run.json 019a5c
  segue export 019a5c | gzip > run.json.gz`,
	}, output: "with --to: nothing, or a JSON object that says what was written", do: func(ctx context.Context, at *kept, _ []string) (found, error) {
		err := at.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
			return toFile(c, file, func(w io.Writer) error { return runs.Export(ctx, o, at.key(), w) })
		})
		switch {
		case err != nil:
			return found{}, cli.Failed(err)
		case file != "" && at.json:
			return found{record: exportRecord{at.key().Run, file, at.head.Last}}, nil
		default:
			return found{}, nil
		}
	}}
	s.Flags().StringVar(&file, "to", "", "write to this `FILE`, which must not be there (default standard output)")
	_ = s.MarkFlagFilename("to", "json") // the only error is an unknown flag
	return s.command(c)
}

// toFile writes a file that only the user can read, or standard output. What could not be written
// whole is removed.
func toFile(c *cli.CLI, name string, do func(io.Writer) error) error {
	if name == "" {
		return do(c.Stdout)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and is not replaced: name another file with --to", plaintext.Visible(name))
	case err != nil:
		return fmt.Errorf("cannot write the run: %w", err)
	}
	err = do(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(name) // err says why
	}
	return err
}
