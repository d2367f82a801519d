package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// suspends is a tool that suspends its call twice, and knows each time where it was.
func suspends(def tools.Definition) tools.Tool {
	return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		r, ok := tools.Resumed(ctx)
		if !ok {
			return "", tools.Suspend(ctx, json.RawMessage(`"first"`), tools.Question{Text: "Which?", Options: []string{"this", "that"}}, tools.Question{Text: "Sure?"})
		}
		switch string(r.State) {
		case `"first"`:
			if len(r.Answers) != 2 || r.Answers[0].Text != "this" || r.Answers[1].Text != "yes" {
				return "", errors.New("not the answers to its questions")
			}
			return "", tools.Suspend(ctx, json.RawMessage(`"second"`), tools.Question{Text: "Still?"})
		case `"second"`:
			return "as you say: " + r.Answers[0].Text, nil
		default:
			return "", errors.New("not its state")
		}
	})
}

// TestCrash_suspendedCalls cuts off runs whose tools suspend calls with a state of their own,
// beside other calls.
func TestCrash_suspendedCalls(t *testing.T) {
	for name, def := range map[string]tools.Definition{
		"unsafe": {Name: "ship"}, "idempotent": {Name: "ship", Idempotent: true}, "sequential": {Name: "ship", Sequential: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := of(strategy.Set{"main": worker}, append(every, suspends(def)),
				scripted.Calls(call("c1", "pay"), call("c2", "ship"), call("c3", "book")), scripted.Text("done"))
			c.Pairs = prove.CasesOr(1)
			crash.Test(t, c.Every(prove.DepthOr(43, 1)))
		})
	}
}
