package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// forgetRecord is what segue forget did, in the form json.
type forgetRecord struct {
	Runs     []string `json:"runs"`     // the erased runs: the named one, then the runs that were made from it
	Records  int      `json:"records"`  // how many records the erased runs had
	Messages int      `json:"messages"` // how many messages were posted to these runs, and not taken
	Origins  []string `json:"origins"`  // runs that the named run was made from: they are still there
	Beyond   []string `json:"beyond"`   // places that may hold the same content, and are not reached
}

func (c *cli) forgetCommand() *cobra.Command {
	var store storeFlag
	form := oneOf(formText, formJSON)
	cmd := &cobra.Command{
		Use:   "forget [flags] RUN",
		Short: "Erase a run, with all that was made from it",
		Long: `Forget erases a run with its forks, the messages that were posted to it, and all traces of these in the file. It lists what it
cannot reach. It erases nothing as long as a process works on the run; segue stop ends the run. RUN is the id of a run, or the beginning
of it.`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			st, err := c.openRuns(ctx, &store)
			if err != nil {
				return err
			}
			defer st.close()
			head, err := st.find(ctx, args[0])
			if errors.Is(err, checkpoint.ErrCorrupt) { // by its whole id it can be erased nevertheless
				head.Key, err = checkpoint.Key{Run: args[0]}, nil
			}
			if err != nil {
				return err
			}
			gone, err := checkpoint.Forget(ctx, st.Store, head.Key)
			if held, ok := errors.AsType[*checkpoint.Error](err); ok && !held.Until.IsZero() {
				return failed(fmt.Errorf("nothing is erased: a process works on run %s, or has a moment ago; end that with: %s", plaintext.Visible(held.Key.Run), st.command("stop", held.Key.Run)))
			}
			if err != nil && (len(gone.Runs) == 0 || !errors.Is(err, checkpoint.ErrCorrupt)) {
				return failed(err)
			}
			beyond := append(gone.Beyond, "files that tools wrote, and what terminals and shells remember")
			shown := c.showForgotten(&forgetRecord{namesOf(gone.Runs), gone.Records, gone.Messages, namesOf(gone.Origins), beyond}, form.value)
			return cmp.Or(shown, st.beside(err))
		},
	}
	form.offer(cmd, "output", "a text to read, or a JSON object")
	store.offer(cmd)
	cmd.ValidArgsFunction = c.completeRuns(&store)
	return cmd
}

// namesOf returns the ids of runs.
func namesOf(keys []checkpoint.Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Run
	}
	return names
}

// showForgotten says what was erased, and what was not.
func (c *cli) showForgotten(r *forgetRecord, form string) error {
	if form == formJSON {
		return encode(c.stdout, r)
	}
	with := ""
	if r.Records > 0 {
		with = " with " + plaintext.Counted(r.Records, "record")
	}
	text := fmt.Sprintf("erased %s%s: %s\n", plaintext.Counted(len(r.Runs), "run"), with, plaintext.OneLine(strings.Join(r.Runs, ", ")))
	if len(r.Origins) > 0 {
		text += "still there, with what they have in common with it: " + plaintext.OneLine(strings.Join(r.Origins, ", ")) + "\n"
	}
	return write(c.stdout, text+"not reached:\n  "+strings.Join(r.Beyond, "\n  ")+"\n")
}
