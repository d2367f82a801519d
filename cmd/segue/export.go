package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/orchestrator"
)

func (c *cli) exportCommand() *cobra.Command {
	var store storeFlag
	var file string
	cmd := &cobra.Command{
		Use:   "export [flags] RUN",
		Short: "Write a run as one JSON file",
		Long: `Export writes all that is kept of a run as JSON: prompts, replies, arguments and results of tools, and what is secret in them.
segue forget does not reach the file. RUN is the id of a run, or the beginning of it.`,
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
			err = st.post(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
				return c.toFile(file, func(w io.Writer) error { return o.Export(ctx, head.Key, w) })
			})
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "to", "", "write to this `FILE`, which must not be there (default standard output)")
	store.offer(cmd)
	cmd.ValidArgsFunction = c.completeRuns(&store)
	return cmd
}

// toFile writes a file that only the user can read, or standard output. What could not be written
// whole is removed.
func (c *cli) toFile(name string, do func(io.Writer) error) error {
	if name == "" {
		return do(c.stdout)
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
