package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

func addCommand(c *cli.CLI) *cobra.Command {
	store := &cli.StoreFlag{}
	cmd := &cobra.Command{
		Use:   "add [flags] FILE RUN",
		Short: "Add a case that is made from a run that is kept",
		Long: `Add appends a case to a FILE in JSON Lines, and writes it to standard output: the task and the history of a run, and as what is
expected the calls of tools that it made, in their order, and its answer. Edit it: leave out what another good run would do otherwise.
RUN is the id of a run, or the beginning of it; the case is called as the run. Files that the run had are not in the case.`,
		Example: `  segue eval add cases.jsonl 019a5c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("add takes a FILE and a RUN; see segue eval add --help")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return c.CompleteRuns(store)(cmd, args[1:], begin)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return add(cmd.Context(), c, store, args[0], args[1]) },
	}
	store.Offer(cmd)
	return cmd
}

// add executes segue eval add.
func add(ctx context.Context, c *cli.CLI, store *cli.StoreFlag, file, name string) error {
	st, err := c.OpenRuns(ctx, store)
	if err != nil {
		return err
	}
	defer st.Release()
	head, err := st.Find(ctx, name)
	if err != nil {
		return err
	}
	view, err := runview.Read(ctx, st, head)
	if err != nil {
		return cli.Failed(err)
	}
	made := caseOf(&head, view)
	had, err := readLines(file, eval.ReadCases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.ContainsFunc(had, func(c eval.Case) bool { return c.Name == made.Name }) {
		return fmt.Errorf("%s has a case %s already", plaintext.Visible(file), made.Name)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		err = errors.Join(appendCase(f, made), f.Close())
	}
	if err != nil {
		return cli.Failed(err)
	}
	return cli.Encode(c.Stdout, made)
}

// appendCase appends a case as a line of its own.
func appendCase(f *os.File, c eval.Case) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		_, _ = f.ReadAt(last, info.Size()-1) // then an empty line is the worst
	}
	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

// caseOf returns the case that is made from a run.
func caseOf(head *checkpoint.Head, view *runview.View) eval.Case {
	in := view.Started.Input
	made := eval.Case{Name: head.Key.Run, Goal: in.Goal, History: in.Messages}
	asked := map[string]messages.ToolCall{}
	for _, e := range view.Entries {
		answered, _ := e.What.(machine.Answered)
		switch a := answered.Answer.(type) {
		case nextstep.APIResponse:
			for _, call := range a.Response.Message.Calls() {
				asked[call.ID] = call
			}
		case nextstep.ToolResult:
			call := asked[a.Output.CallID]
			if a.Call != nil {
				call = *a.Call // a middleware changed it
			}
			expected := eval.Call{Tool: a.Output.ToolName}
			if json.Unmarshal([]byte(call.Arguments), &expected.Arguments) != nil {
				expected.Arguments = nil // it is no object: they are free
			}
			made.Calls = append(made.Calls, expected)
		}
	}
	made.Ordered = len(made.Calls) > 1
	if head.Header.Status == checkpoint.StatusDone && view.LastText != "" {
		made.Answer = &eval.Answer{Equals: &view.LastText}
	}
	return made
}
