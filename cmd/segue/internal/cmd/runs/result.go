package runs

import (
	"context"
	"fmt"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// keptIn returns the large result that a record names; nil if it names none.
func keptIn(rec machine.Record) *messages.Kept {
	a, ok := rec.(machine.Answered)
	if !ok {
		return nil
	}
	if result, ok := a.Answer.(nextstep.ToolResult); ok && result.Output.Kept.ID != "" {
		return &result.Output.Kept
	}
	return nil
}

// showResult writes a large result of a run. The id may be the beginning of one.
func showResult(ctx context.Context, c *cli.CLI, at *kept, id string) error {
	values, err := at.Values(ctx, at.key())
	if err != nil {
		return cli.Failed(err)
	}
	var found []checkpoint.Value
	for _, v := range values {
		if v.ID == id {
			found = []checkpoint.Value{v}
			break
		}
		if strings.HasPrefix(v.ID, id) {
			found = append(found, v)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("run %s keeps no large result %s; it keeps %s", plaintext.Visible(at.key().Run), plaintext.Visible(id), plaintext.Counted(len(values), "large result"))
	case 1:
	default:
		return fmt.Errorf("run %s keeps %d large results whose id begins with %s: give more of it", plaintext.Visible(at.key().Run), len(found), plaintext.Visible(id))
	}
	data, _, err := at.ReadValue(ctx, at.key(), found[0].ID, 0, int(found[0].Size))
	if err != nil {
		return cli.Failed(err)
	}
	return cli.Send(c.Stdout, strings.TrimSuffix(plaintext.Escaped(string(data)), "\n")+"\n")
}
