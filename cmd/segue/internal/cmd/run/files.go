package run

import (
	"context"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/delegation"
)

// inputWith returns the input of a run that has files with its task. Files that are no texts are
// messages before it; in a conversation they follow what was said.
func (j Job) inputWith(ctx context.Context, goal string, files []attachment.File) (delegation.Input, error) {
	in := delegation.Input{Goal: attachment.WithTexts(goal, files)}
	parts := attachment.Parts(files)
	if parts == nil || j.Task.Session == "" {
		in.Messages = parts
		return in, nil
	}
	o, err := j.Orchestrator(nil)
	if err != nil {
		return in, err
	}
	history, err := o.History(ctx, "", j.Task.Session)
	if err != nil {
		return in, cli.Failed(err)
	}
	in.Messages = slices.Concat(history, parts)
	return in, nil
}
