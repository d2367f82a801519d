package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/approval"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// changes reports whether the answer changes the arguments of a call.
func (f *answerFlags) changes() bool { return f.edit || f.arguments != "" }

// withYes adds the yes that a change of arguments implies.
func (f *answerFlags) withYes(args []string) ([]string, error) {
	if !f.changes() {
		return args, nil
	}
	switch last := strings.ToLower(args[len(args)-1]); {
	case len(args) > 1 && slices.Contains([]string{"n", "no"}, last), f.reason != "":
		return nil, errors.New("--edit and --arguments are for a yes")
	case len(args) > 1 && slices.Contains([]string{"y", "yes"}, last):
		return args, nil
	default:
		return append(slices.Clip(args), "yes"), nil
	}
}

// changeCall puts the changed arguments of a call into the reply that approves it.
func changeCall(ctx context.Context, c *cli.CLI, f *answerFlags, w machine.Wait, view *runview.View, reply *machine.Reply) (err error) {
	switch {
	case !f.changes():
		return nil
	case w.Kind != machine.WaitApproval:
		return errors.New("--edit and --arguments are for the approval of a call")
	case !f.edit:
		if reply.Arguments, err = approval.Changed(view.Started.Tools, w.Tool, f.arguments); err != nil {
			return fmt.Errorf("--arguments cannot be used: %w", err)
		}
		return nil
	case !c.Interactive:
		return errors.New("--edit needs a terminal; give the arguments with --arguments")
	default:
		reply.Arguments, err = editCall(ctx, c, w, view)
		return err
	}
}

var errUnanswered = cli.Failed(errors.New("nothing was answered"))

// editCall has the user change a call in the editor, and approve it so.
func editCall(ctx context.Context, c *cli.CLI, w machine.Wait, view *runview.View) (string, error) {
	s := c.Screen(cli.Output{})
	editor := approval.Editor{
		Command: approval.EditorOf(c.Getenv), Dumb: c.Getenv("TERM") == "dumb", Tools: view.Started.Tools,
		In: c.Keyboard(), Out: c.Stderr, Screen: s, Keys: terminal.NewKeyboard(c.Keyboard()),
	}
	for {
		changed, err := editor.Edit(ctx, w)
		question := "make the changed call: y yes, n no > "
		var above []terminal.Line
		switch {
		case err != nil:
			question, above = "edit it again: y yes, n no > ", []terminal.Line{terminal.Warn.Line("Not changed: " + err.Error())}
		case changed == "":
			return "", cli.Failed(errors.New("nothing was changed, and nothing was answered"))
		default:
			w.Arguments = changed
			above = terminal.DescribeWhole(w)
		}
		yes, asked := c.Confirm(ctx, s, question, above)
		switch {
		case asked != nil:
			return "", asked
		case !yes:
			return "", errUnanswered
		case err == nil:
			return changed, nil
		}
	}
}
