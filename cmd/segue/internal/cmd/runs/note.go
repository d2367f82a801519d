package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/orchestrator"
)

// noteRecord is what segue note did, in the form json.
type noteRecord struct {
	Run    string `json:"run"`
	Text   string `json:"text"`
	AtWork bool   `json:"at_work"` // a process works on the run, and takes the note in a moment
}

func noteCommand(c *cli.CLI) *cobra.Command {
	return storeCommand{Command: &cobra.Command{
		Use:   "note [flags] RUN TEXT",
		Short: "Say something to a run while it is at work",
		Long: `Note gives a text to a run, as a message of the user: the model sees it with its next request, and a model that has just
answered is asked again. If a process works on the run, it takes the note within a second or so; otherwise segue resume takes it.
The events of the run say who has heard it. At the terminal of the run itself, Tab begins a note. RUN is the id of a run, or the beginning of it.`,
		Example: `  segue note 019a5c "Leave the tests alone"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("note takes a RUN and a TEXT; put a text of several words in quotes; see segue note --help")
			}
			return nil
		},
	}, output: textOrObject, statuses: run.OpenStatuses, do: func(ctx context.Context, at *kept, args []string) (found, error) {
		if at.head.Header.Status.Ended() {
			return found{}, cli.Failed(fmt.Errorf("the run has ended (%s): nobody would hear the note", cli.StatusOf(&at.head, time.Now())))
		}
		if err := at.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
			return o.Note(ctx, at.key(), args[1])
		}); err != nil {
			return found{}, cli.Failed(err)
		}
		r := noteRecord{at.key().Run, args[1], cli.AtWork(&at.head, time.Now())}
		text := "noted; the run hears it when it goes on, with: " + at.again("resume") + "\n"
		if r.AtWork {
			text = "noted; the process that works on the run takes it in a moment\n"
		}
		return found{r, text}, nil
	}}.command(c)
}
