package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/orchestrator"
)

// storeCommand is a command about one run that is kept, which its first argument names.
type storeCommand struct {
	*cobra.Command
	output   string              // what --output is about; "": there is no such flag
	reads    *run.Flags          // the run is read with the strategies that it was begun with; nil: by its records
	statuses []checkpoint.Status // of the runs that are offered; nil: all
	damaged  bool                // a run whose head is damaged is found by its whole id

	// do does it. What it returns is written, with an error as well, which is returned then.
	do func(ctx context.Context, at *kept, args []string) (found, error)
}

// textOrObject is what --output of most commands is about.
const textOrObject = "a text to read, or a JSON object"

// kept is a run that is kept, in its store, while a command is about it.
type kept struct {
	*cli.RunStore
	head checkpoint.Head
	json bool // an object is asked for

	job run.Job                    // of a run that is read
	o   *orchestrator.Orchestrator // of the job
}

// key returns the key of the run.
func (k *kept) key() checkpoint.Key { return k.head.Key }

// again returns a command line about the run.
func (k *kept) again(name string) string { return k.Command(name, k.head.Key.Run) }

// found is what a command found, or did: as an object, and as a text. The zero found is nothing.
type found struct {
	record any
	text   string
}

// command returns the command, with the flags and completions that all of them have.
func (s storeCommand) command(c *cli.CLI) *cobra.Command {
	store, form := &cli.StoreFlag{}, cli.OneOf(cli.FormText, cli.FormJSON)
	if s.reads != nil {
		s.reads.OfferReading(s.Command, c)
		store = &s.reads.Store
	} else {
		store.Offer(s.Command)
	}
	if s.output != "" {
		form.Offer(s.Command, "output", s.output)
	}
	if s.Args == nil {
		s.Args = cli.OneRun
	}
	s.ValidArgsFunction = c.CompleteRuns(store, s.statuses...)
	s.RunE = func(cmd *cobra.Command, args []string) error {
		what, err := s.execute(cmd.Context(), c, store, form.Value == cli.FormJSON, args)
		if what.record == nil {
			return err
		}
		if failed := c.Print(form.Value, what.record, what.text); failed != nil {
			return failed
		}
		return err
	}
	return s.Command
}

// execute opens the store, finds the run, and does what the command does.
func (s storeCommand) execute(ctx context.Context, c *cli.CLI, store *cli.StoreFlag, json bool, args []string) (found, error) {
	st, err := c.OpenRuns(ctx, store)
	if err != nil {
		return found{}, err
	}
	defer st.Release()
	at := &kept{RunStore: st, json: json}
	at.head, err = st.Find(ctx, args[0])
	if s.damaged && errors.Is(err, checkpoint.ErrCorrupt) {
		at.head.Key, err = checkpoint.Key{Run: args[0]}, nil
	}
	if err != nil {
		return found{}, err
	}
	if s.reads != nil {
		if at.job, err = run.JobAgain(ctx, c, s.reads, st, at.head.Key, c.Screen(s.reads.Out)); err != nil {
			return found{}, err
		}
		defer at.job.CloseFiles()
		at.job.Task.Run = at.head.Key.Run
		if at.o, err = at.job.Orchestrator(nil); err != nil {
			return found{}, err
		}
	}
	return s.do(ctx, at, args)
}
