package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
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

func forgetCommand(c *cli.CLI) *cobra.Command {
	return storeCommand{Command: &cobra.Command{
		Use:   "forget [flags] RUN",
		Short: "Erase a run, with all that was made from it",
		Long: `Forget erases a run with its forks, the messages that were posted to it, and all traces of these in the file. It lists what it
cannot reach. It erases nothing as long as a process works on the run; segue stop ends the run. RUN is the id of a run, or the beginning
of it.`,
	}, output: textOrObject, damaged: true, do: func(ctx context.Context, at *kept, _ []string) (found, error) {
		gone, err := checkpoint.Forget(ctx, at.Store, at.key())
		if held, ok := errors.AsType[*checkpoint.Error](err); ok && !held.Until.IsZero() {
			return found{}, cli.Failed(fmt.Errorf("nothing is erased: a process works on run %s, or has a moment ago; end that with: %s", plaintext.Visible(held.Key.Run), at.Command("stop", held.Key.Run)))
		}
		if err != nil && (len(gone.Runs) == 0 || !errors.Is(err, checkpoint.ErrCorrupt)) {
			return found{}, cli.Failed(err)
		}
		beyond := append(gone.Beyond, "files that tools wrote, and what terminals and shells remember")
		r := &forgetRecord{namesOf(gone.Runs), gone.Records, gone.Messages, namesOf(gone.Origins), beyond}
		return found{r, r.text()}, beside(at.RunStore, err)
	}}.command(c)
}

// namesOf returns the ids of runs.
func namesOf(keys []checkpoint.Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Run
	}
	return names
}

// text says what was erased, and what was not.
func (r *forgetRecord) text() string {
	with := ""
	if r.Records > 0 {
		with = " with " + plaintext.Counted(r.Records, "record")
	}
	text := fmt.Sprintf("erased %s%s: %s\n", plaintext.Counted(len(r.Runs), "run"), with, plaintext.OneLine(strings.Join(r.Runs, ", ")))
	if len(r.Origins) > 0 {
		text += "still there, with what they have in common with it: " + plaintext.OneLine(strings.Join(r.Origins, ", ")) + "\n"
	}
	return text + "not reached:\n  " + strings.Join(r.Beyond, "\n  ") + "\n"
}
