package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"

	"github.com/segue-go/segue/machine"
)

// added is a case that was added, in the form json.
type added struct {
	File string    `json:"file"`
	Case eval.Case `json:"case"`
}

func addCommand(c *cli.CLI) *cobra.Command {
	store, form := &cli.StoreFlag{}, cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "add [flags] FILE.jsonl RUN",
		Short: "Add a case that is made from a run that is kept",
		Long: `Add appends a case to a file in JSON Lines: the task and the history of a run, and as what is expected the calls of tools that it
made, in their order, and its answer. Edit it: leave out what another good run would do otherwise. RUN is the id of a run, or the
beginning of it; the case is called as the run. Files that were in the folder of the run are not in the case.`,
		Example: `  segue eval add cases.jsonl 019a5c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("eval add takes a FILE in JSON Lines and a RUN; see segue eval add --help")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return c.CompleteRuns(store)(cmd, args[1:], begin)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			one, err := add(cmd.Context(), c, store, args[0], args[1])
			if err != nil {
				return err
			}
			text, err := json.Marshal(one)
			if err != nil {
				return err
			}
			return c.Print(form.Value, added{args[0], one}, "added to "+args[0]+":\n"+string(text)+"\n")
		},
	}
	store.Offer(cmd)
	form.Offer(cmd, "output", "a text to read, or a JSON object")
	return cmd
}

// add executes segue eval add.
func add(ctx context.Context, c *cli.CLI, store *cli.StoreFlag, file, name string) (one eval.Case, err error) {
	st, err := c.OpenRuns(ctx, store)
	if err != nil {
		return one, err
	}
	defer st.Release()
	head, err := st.Find(ctx, name)
	if err != nil {
		return one, err
	}
	view, err := runview.Read(ctx, st, head)
	if err != nil {
		return one, cli.Failed(err)
	}
	one = caseOf(&head, view)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return one, fmt.Errorf("cannot read the cases: %w", err)
	}
	had, err := eval.ReadCases(bytes.NewReader(text))
	if err != nil {
		return one, fmt.Errorf("%s: %w", file, err)
	}
	if slices.ContainsFunc(had, func(c eval.Case) bool { return c.Name == one.Name }) {
		return one, fmt.Errorf("%s has a case %s already", plaintext.Visible(file), one.Name)
	}
	line, err := json.Marshal(one)
	if err != nil {
		return one, err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = append([]byte("\n"), line...)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		err = cli.Failed(fmt.Errorf("cannot write the case: %w", err))
	}
	return one, err
}

// caseOf returns the case that is made from a run.
func caseOf(head *checkpoint.Head, view *runview.View) eval.Case {
	in := view.Started.Input
	one := eval.Case{Name: head.Key.Run, Goal: in.Goal, History: in.Messages}
	var asked []messages.ToolCall
	made := map[string]*messages.ToolCall{} // by their ids: as they were made, nil as they were asked for
	for _, e := range view.Entries {
		answered, _ := e.What.(machine.Answered)
		switch a := answered.Answer.(type) {
		case nextstep.APIResponse:
			asked = append(asked, a.Response.Message.Calls()...)
		case nextstep.ToolResult:
			made[a.Output.CallID] = a.Call
		}
	}
	for _, call := range asked {
		changed, done := made[call.ID]
		if !done {
			continue
		}
		if changed != nil {
			call = *changed
		}
		expected := eval.Call{Tool: call.Name}
		if json.Unmarshal([]byte(call.Arguments), &expected.Arguments) != nil {
			expected.Arguments = nil // it is no object: they are free
		}
		one.Calls = append(one.Calls, expected)
	}
	one.Ordered = len(one.Calls) > 1
	if text := strings.TrimSpace(view.LastText); text != "" && head.Header.Status == checkpoint.StatusDone {
		one.Answer = &eval.Answer{Equals: &text}
	}
	return one
}
